// SPDX-License-Identifier: Apache-2.0
#include "te/program.h"

#include <gtest/gtest.h>

#include "common/errors.h"
#include "te/te.h"

namespace tilewright::te {
namespace {

using enum ir::Elem;

std::string names(const std::vector<Stage>& stages) {
  std::string out;
  for (const Stage& s : stages) out += (out.empty() ? "" : " ") + s->name();
  return out;
}

class TeProgram : public testing::Test {
 protected:
  const Symbol n = symbol("n");
  const Tensor A = placeholder("A", F32, {n, 4});
  const Tensor h0 = placeholder("h0", F32, {4});
  const Axis k = reduce_axis(4, "k");
  Tensor row_sum(const std::string& name) const {
    return compute(name, {n}, [&](Var i) { return sum(A(i, k), k); });
  }
};

TEST_F(TeProgram, ListsStagesAfterWhatTheyRead) {
  const Tensor a = row_sum("a");
  const Tensor b = compute("b", {n}, [&](Var i) { return a(i) * 2; });
  const Tensor c = compute("c", {n}, [&](Var i) { return b(i) + a(i); });
  const Program p = program("f", {A}, {c, b}, {n});
  EXPECT_EQ(names(p.stages), "a b c");
  EXPECT_EQ(p.outputs, (std::vector<Tensor>{c, b}));
}

TEST_F(TeProgram, CopiesAnOutputThatIsAnInputOrListedTwice) {
  const Tensor a = row_sum("a");
  const Program p = program("f", {A}, {a, A, a}, {n});
  EXPECT_EQ(names(p.stages), "a A_copy a_copy");
}

TEST_F(TeProgram, RefusesAnInputThatIsNotListed) {
  const Diagnostic d = diagnostic_of([&] { program("f", {}, {row_sum("a")}, {n}); });
  EXPECT_EQ(d.code, "te.program.input");
  EXPECT_NE(d.message.find("`a` reads `A`, which is no input of `f`"), std::string::npos);
  EXPECT_EQ(diagnostic_of([&] { program("f", {A, A}, {row_sum("a")}, {n}); }).code,
            "te.program.input");
  EXPECT_EQ(diagnostic_of([&] { program("f", {row_sum("a")}, {A}, {n}); }).code,
            "te.program.input");
  EXPECT_EQ(diagnostic_of([&] { program("f", {A}, {}, {n}); }).code, "te.program.outputs");
}

TEST_F(TeProgram, RefusesSizesThatAreNoSymbols) {
  const Diagnostic d = diagnostic_of([&] { program("f", {A}, {row_sum("a")}); });
  EXPECT_EQ(d.code, "te.shape.symbol");
  EXPECT_NE(d.message.find("extent `n` of `A` mentions `n`"), std::string::npos) << d.message;
}

TEST_F(TeProgram, RefusesAnExtentThatIsNegativeForSomeSize) {
  const auto shorter = [&](const Symbol& size) {
    const Tensor x = placeholder("x", F32, {size});
    const Tensor y = compute("y", {size - 3}, [&](Var i) { return x(i); });
    return program("f", {x}, {y}, {size});
  };
  shorter(symbol("m", 3));
  shorter(symbol("m", 1, 64, 4));
  const Diagnostic d = diagnostic_of([&] { shorter(symbol("m", 1)); });
  EXPECT_EQ(d.code, "te.shape.negative");
  EXPECT_NE(d.message.find("extent `m - 3` of `y` is -2"), std::string::npos) << d.message;
}

TEST_F(TeProgram, RefusesMoreStagesThanCanBeWalked) {
  const auto chain = [&](int length) {
    Tensor t = h0;
    for (int i = 0; i < length; ++i) t = t + 1;
    return t;
  };
  program("f", {h0}, {chain(900)});
  EXPECT_EQ(diagnostic_of([&] { chain(100000); }).code, "te.program.size");
  const Diagnostic wide = diagnostic_of([&] { program("f", {h0}, {chain(500) + chain(500)}); });
  EXPECT_EQ(wide.code, "te.program.size");
  EXPECT_NE(wide.message.find("`f` has more than 900 stages"), std::string::npos) << wide.message;
}

TEST_F(TeProgram, RefusesSymbolsWithoutMeaning) {
  const auto with = [&](std::vector<ir::Symbol> symbols) {
    return diagnostic_of([&] { program("f", {A}, {row_sum("a")}, symbols); });
  };
  EXPECT_EQ(with({n, n}).code, "te.symbol.twice");
  const Diagnostic d = with({symbol("m", 8, 4)});
  EXPECT_EQ(d.code, "te.symbol.range");
  EXPECT_NE(d.message.find("`m` runs from 8 to 4"), std::string::npos) << d.message;
  EXPECT_EQ(with({symbol("m", 0, 4, 0)}).code, "te.symbol.range");
}

TEST_F(TeProgram, RefusesAForeignAxis) {
  const Tensor forgotten = compute("s", {n}, [&](Var i) { return A(i, k); });
  const Diagnostic d = diagnostic_of([&] { program("f", {A}, {forgotten}, {n}); });
  EXPECT_EQ(d.code, "te.axis.foreign");
  EXPECT_NE(d.message.find("`s` mentions `k`"), std::string::npos) << d.message;
  EXPECT_NE(d.help.find("reduce over `k`"), std::string::npos) << d.help;
}

TEST_F(TeProgram, AScanHoldsTheStagesOfItsStep) {
  const Tensor doubled = compute("doubled", {n, 4}, [&](Var t, Var i) { return A(t, i) * 2; });
  const Tensor h = scan("h", n, h0, [&](Var t, Tensor prev) {
    const Tensor total = compute("total", {}, [&] { return sum(prev(k), k); });
    const Tensor last = compute("last", {4}, [&](Var i) { return doubled(n - 1, i); });
    return compute("next", {4}, [&](Var i) { return total() + doubled(t, i) + last(i); });
  });
  const Program p = program("f", {A, h0}, {h}, {n});
  EXPECT_EQ(names(p.stages), "doubled last h");  // `last` is the same at all times
  EXPECT_EQ(names(h.stage()->as<Scan>()->body), "total next");
  EXPECT_EQ(h.rank(), 2);
}

TEST_F(TeProgram, RefusesWhatEscapesFromAScan) {
  std::vector<Tensor> inside;
  const Tensor h = scan("h", n, h0, [&](Var t, Tensor prev) {
    inside.push_back(compute("now", {4}, [&](Var i) { return A(t, i); }));
    inside.push_back(compute("old", {4}, [&](Var i) { return prev(i) * 2; }));
    return inside.back();
  });
  const Diagnostic time = diagnostic_of([&] { program("f", {A, h0}, {h, inside[0]}, {n}); });
  EXPECT_EQ(time.code, "te.axis.foreign");
  EXPECT_NE(time.message.find("`now` mentions `t`"), std::string::npos) << time.message;
  const Diagnostic state = diagnostic_of([&] { program("f", {A, h0}, {h, inside[1]}, {n}); });
  EXPECT_EQ(state.code, "te.program.input");
  EXPECT_NE(state.message.find("`old` reads `h0_prev`"), std::string::npos) << state.message;
}

TEST_F(TeProgram, RefusesAStateThatChangesItsShape) {
  const auto make = [&](const Shape& shape, ir::Elem elem) {
    return diagnostic_of([&] {
      scan("h", n, h0,
           [&](Var, Tensor) { return compute("next", shape, [&](Var) { return cast(elem, 0); }); });
    });
  };
  const Diagnostic d = make({5}, F32);
  EXPECT_EQ(d.code, "te.scan.state");
  EXPECT_NE(d.message.find("`next`"), std::string::npos) << d.message;
  EXPECT_EQ(make({4}, F16).code, "te.scan.state");
  const auto none = [](Var, const std::vector<Tensor>&) { return std::vector<Tensor>(); };
  EXPECT_EQ(diagnostic_of([&] { scan("h", n, std::vector<Tensor>{h0}, none); }).code,
            "te.scan.state");
  EXPECT_EQ(diagnostic_of([&] { scan("h", n, std::vector<Tensor>(), none); }).code,
            "te.scan.state");
}

}  // namespace
}  // namespace tilewright::te
