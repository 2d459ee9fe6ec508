// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "arith/known.h"
#include "arith/random_program.h"
#include "arith/region.h"

namespace tilewright::arith {
namespace {

using ir::Expr;

struct Loops : Known {
  IterMap map(const std::vector<std::string>& bindings, const std::vector<std::string>& loops) {
    std::vector<Expr> list;
    for (const std::string& b : bindings) list.push_back(expr(b));
    std::vector<ir::Var> vars;
    for (const std::string& l : loops) vars.push_back(var(l));
    return iter_map(list, vars, context);
  }
};

TEST(IterMap, SplitReorderAndFuseAreInjective) {
  Loops k;
  k.loop("io", "0", "8").loop("ii", "0", "4").loop("f", "0", "84").loop("one", "0", "1");
  EXPECT_TRUE(k.map({"io*4 + ii"}, {"io", "ii"}).injective);
  EXPECT_TRUE(k.map({"io", "ii"}, {"ii", "io"}).injective);
  EXPECT_TRUE(k.map({"f/12", "f/3%4", "f%3"}, {"f"}).injective);
  EXPECT_TRUE(k.map({"f/12*3 + f%3", "f/3%4"}, {"f"}).injective);
  EXPECT_TRUE(k.map({"31 - (io*4 + ii)"}, {"io", "ii"}).injective);
  EXPECT_TRUE(k.map({"io*4 + ii", "0"}, {"io", "ii", "one"}).injective);
  EXPECT_TRUE(k.map({"io*5 + ii"}, {"io", "ii"}).injective);  // with gaps
}

TEST(IterMap, SymbolicExtents) {
  Loops k;
  k.symbol("m", 1, 4096).symbol("n", 1, 4096).loop("i", "0", "m").loop("j", "0", "n");
  k.loop("f", "0", "m*n").loop("io", "0", "(n + 15)/16").loop("ii", "0", "16");
  EXPECT_TRUE(k.map({"i*n + j"}, {"i", "j"}).injective);
  EXPECT_TRUE(k.map({"f/n", "f%n"}, {"f"}).injective);
  EXPECT_TRUE(k.map({"io*16 + ii"}, {"io", "ii"}).injective);
  EXPECT_FALSE(k.map({"i*m + j"}, {"i", "j"}).injective);
}

TEST(IterMap, SaysWhyNot) {
  Loops k;
  k.loop("io", "0", "8").loop("ii", "0", "4").loop("k", "0", "16").loop("f", "0", "84");
  k.buffer("I", ir::Elem::I64, {8});
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(k.map({"io*3 + ii"}, {"io", "ii"}).reason, "stride 3 of loop `io`"));
  EXPECT_TRUE(has(k.map({"io*4 + ii"}, {"io", "ii", "k"}).reason, "loop `k`"));
  EXPECT_TRUE(has(k.map({"I[io]"}, {"io"}).reason, "`I[io]`"));
  EXPECT_TRUE(has(k.map({"f/12", "f%3"}, {"f"}).reason, "loop `f`"));
  EXPECT_TRUE(has(k.map({"io*io"}, {"io"}).reason, "`io * io`"));
}

TEST(IterMap, RandomMapsThatAreCalledInjectiveAre) {
  int injective = 0, found = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    std::mt19937_64 engine(seed);
    const auto number = [&](int64_t lo, int64_t hi) {
      return std::uniform_int_distribution<int64_t>(lo, hi)(engine);
    };
    Context context;
    std::vector<ir::Var> loops;
    std::vector<int64_t> extents;
    for (int64_t n = number(1, 3); n > 0; --n) {
      loops.emplace_back(std::string(1, static_cast<char>('a' + loops.size())));
      extents.push_back(number(1, 12));
      context.bind(loops.back(), 0, extents.back());
    }
    std::vector<Expr> bindings;
    for (int64_t n = number(1, 3); n > 0; --n) {
      Expr b = number(-2, 2);
      for (const ir::Var& v : loops) {
        Expr digit = v;
        if (number(0, 2) == 0) digit = digit / number(2, 4);
        if (number(0, 2) == 0) digit = digit % number(2, 6);
        if (number(0, 1)) b = b + digit * number(-1, 12);
      }
      bindings.push_back(b);
    }
    const IterMap map = iter_map(bindings, loops, context);
    std::set<std::vector<int64_t>> seen;
    bool distinct = true;
    std::vector<int64_t> at(loops.size(), 0);
    for (bool more = true; more;) {
      Values values;
      for (size_t i = 0; i < at.size(); ++i) values[loops[i].get()] = Value::of(at[i]);
      std::vector<int64_t> point;
      for (const Expr& b : bindings) point.push_back(evaluate_int(b, values));
      distinct = seen.insert(point).second && distinct;
      size_t i = 0;
      while (i < at.size() && ++at[i] == extents[i]) at[i++] = 0;
      more = i < at.size();
    }
    ASSERT_TRUE(!map.injective || distinct) << "seed " << seed << ": " << ir::print(bindings[0]);
    ASSERT_EQ(map.injective, map.reason.empty());
    injective += distinct;
    found += map.injective;
  }
  // The check is not complete (digits may be told apart across bindings), but not far from it.
  EXPECT_GT(found * 10, injective * 7) << found << " of " << injective;
}

}  // namespace
}  // namespace tilewright::arith
