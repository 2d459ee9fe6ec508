// SPDX-License-Identifier: Apache-2.0
#include "arith/random_program.h"

#include "ir/print.h"
#include "support/str.h"

namespace tilewright::arith {

using ir::Expr;

namespace {

constexpr size_t kMaxValuations = 600;

/// Keeps a random part when there are too many.
void thin(std::vector<Values>& all, std::mt19937_64& engine) {
  if (all.size() <= kMaxValuations) return;
  std::shuffle(all.begin(), all.end(), engine);
  all.resize(kMaxValuations);
}

}  // namespace

RandomFacts::RandomFacts(uint64_t seed) : engine(seed) {
  const int count = static_cast<int>(number(1, 4));
  valuations = {Values()};
  for (int i = 0; i < count; ++i) {
    const ir::Var v(std::string(1, static_cast<char>('a' + i)));
    std::vector<Values> next;
    if (i > 0 && number(0, 1) == 0) {  // a loop with symbolic bounds
      const Expr min = number(0, 2) == 0 ? affine() : Expr(0);
      Expr extent =
          number(0, 1) == 0 ? Expr(vars[static_cast<size_t>(number(0, i - 1))]) : affine();
      if (number(0, 3) == 0) extent = (extent + number(1, 4)) / number(2, 5);
      context.bind(v, min, extent);
      description += str(v.name(), " in ", ir::print(min), " +: ", ir::print(extent), "; ");
      for (const Values& values : valuations) {
        const int64_t lo = evaluate_int(min, values), n = evaluate_int(extent, values);
        for (int64_t x = lo; x < lo + n && x < lo + 24; ++x) {
          next.push_back(values);
          next.back()[v.get()] = Value::of(x);
        }
      }
    } else {
      const int64_t lo = number(-6, 6), hi = lo + number(0, 9),
                    divisor = number(0, 2) == 0 ? number(2, 4) : 1;
      context.bind(v, Interval{lo, hi}, divisor);
      description += str(v.name(), " in ", lo, "..", hi, " div ", divisor, "; ");
      for (const Values& values : valuations) {
        for (int64_t x = lo; x <= hi; ++x) {
          if (x % divisor != 0) continue;
          next.push_back(values);
          next.back()[v.get()] = Value::of(x);
        }
      }
    }
    valuations = std::move(next);
    thin(valuations, engine);
    vars.push_back(v);
  }
  for (int64_t n = number(0, 2); n > 0; --n) {
    const Expr c = condition(1);
    context.assume(c);
    description += str("assume ", ir::print(c), "; ");
    std::erase_if(valuations, [&](const Values& v) { return evaluate_int(c, v) == 0; });
  }
}

Expr RandomFacts::affine() {
  Expr out = number(-5, 8);
  for (const ir::Var& v : vars)
    if (number(0, 1) == 0) out = v * number(-4, 6) + out;
  return out;
}

Expr RandomFacts::index(int depth) {
  if (depth == 0 || number(0, 9) == 0) {
    if (number(0, 3) == 0) return number(-9, 17);
    return vars[static_cast<size_t>(number(0, static_cast<int64_t>(vars.size()) - 1))];
  }
  const auto part = [&] { return index(depth - 1); };
  const auto small = [&]() -> Expr { return number(-1, 8); };
  switch (number(0, 13)) {
    case 0:
    case 1: return part() + part();
    case 2: return part() - part();
    case 3:
    case 4: return part() * small();
    case 5: return part() * part();
    case 6:
    case 7: return part() / small();
    case 8:
    case 9: return part() % small();
    case 10: return number(0, 1) ? part() / part() : part() % part();
    case 11: return ir::min(part(), part());
    case 12: return ir::max(part(), part());
    default:
      return number(0, 1) ? ir::select(condition(depth - 1), part(), part())
                          : ir::guard(condition(depth - 1), part(), part());
  }
}

Expr RandomFacts::condition(int depth) {
  const auto side = [&] {
    return depth > 1 || number(0, 1) ? index(std::min(depth, 2)) : affine();
  };
  if (depth > 1 && number(0, 3) == 0) {
    const Expr a = condition(depth - 1), b = condition(depth - 1);
    switch (number(0, 2)) {
      case 0: return ir::logical_and(a, b);
      case 1: return ir::logical_or(a, b);
      default: return ir::logical_not(a);
    }
  }
  switch (number(0, 5)) {
    case 0: return ir::eq(side(), side());
    case 1: return ir::ne(side(), side());
    case 2:
    case 3: return side() < side();
    default: return side() <= side();
  }
}

}  // namespace tilewright::arith
