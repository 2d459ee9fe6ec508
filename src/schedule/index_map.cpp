// SPDX-License-Identifier: Apache-2.0
#include "schedule/index_map.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;

/// x / c or x % c with a positive constant c.
const ir::Binary* by_constant(const Expr& e, ir::BinaryOp op) {
  const auto* b = e.as<ir::Binary>();
  if (!b || b->op != op) return nullptr;
  const std::optional<int64_t> c = ir::const_int(b->b);
  return c && *c > 0 ? b : nullptr;
}

}  // namespace

std::vector<Expr> IndexMap::at(const std::vector<Expr>& indices) const {
  ir::VarMap values;
  for (size_t i = 0; i < vars.size(); ++i) values[vars[i]] = indices[i];
  std::vector<Expr> out;
  for (const Expr& r : results) out.push_back(ir::substitute(r, values));
  return out;
}

std::vector<Digit> digits_of(const IndexMap& map, std::string_view step) {
  const auto refuse = [&](const std::string& note) {
    throw Error({.code = "schedule.index_map.digits",
                 .message = str("cannot ", step, " by this index map"),
                 .notes = {note},
                 .help = "cut indices into digits, as in (n, k) -> [n / 32, k, n % 32]"});
  };
  std::vector<Digit> out;
  for (const Expr& result : map.results) {
    Digit digit;
    Expr rest = result;
    if (const auto* m = by_constant(rest, ir::BinaryOp::Mod)) {
      digit.modulus = *ir::const_int(m->b);
      rest = m->a;
    }
    if (const auto* d = by_constant(rest, ir::BinaryOp::Div)) {
      digit.divisor = *ir::const_int(d->b);
      rest = d->a;
    }
    const auto var = std::find(map.vars.begin(), map.vars.end(), rest);
    if (var == map.vars.end()) refuse(str("`", print(result), "` is not a digit of one index"));
    digit.var = static_cast<size_t>(var - map.vars.begin());
    out.push_back(digit);
  }
  // From the lowest digit up, each begins where the one below ends; the highest has no end.
  for (size_t v = 0; v < map.vars.size(); ++v) {
    std::vector<Digit> own;
    for (const Digit& d : out)
      if (d.var == v) own.push_back(d);
    std::sort(own.begin(), own.end(),
              [](const Digit& a, const Digit& b) { return a.divisor < b.divisor; });
    int64_t next = 1;
    for (const Digit& d : own) {
      if (next == 0 || d.divisor != next)
        refuse(str("the digits of `", map.vars[v].name(), "` overlap or leave a gap"));
      if (d.modulus != 0 && __builtin_mul_overflow(next, d.modulus, &next))
        refuse("a digit is too large");
      if (d.modulus == 0) next = 0;
    }
    if (next != 0) refuse(str("the highest digit of `", map.vars[v].name(), "` is missing"));
  }
  return out;
}

std::vector<Expr> mapped_shape(const std::vector<Digit>& digits, const std::vector<Expr>& shape) {
  std::vector<Expr> out;
  for (const Digit& d : digits)
    out.push_back(d.modulus != 0 ? Expr(d.modulus) : ir::ceil_div(shape[d.var], d.divisor));
  return out;
}

std::vector<ir::Range> mapped_ranges(const std::vector<Digit>& digits,
                                     const std::vector<ir::Range>& ranges) {
  std::vector<ir::Range> out;
  for (const Digit& d : digits) {
    const ir::Range& r = ranges[d.var];
    const bool point = ir::is_const(r.extent, 1);
    const Expr low = r.min / d.divisor;
    if (point) {
      out.push_back({d.modulus != 0 ? low % d.modulus : low, 1});
    } else if (d.modulus != 0) {
      out.push_back({0, d.modulus});
    } else {
      const Expr high = (r.min + r.extent - 1) / d.divisor;
      out.push_back({low, high - low + 1});
    }
  }
  return out;
}

}  // namespace tilewright::schedule
