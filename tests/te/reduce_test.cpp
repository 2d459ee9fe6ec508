// SPDX-License-Identifier: Apache-2.0
#include "te/reduce.h"

#include <cmath>
#include <gtest/gtest.h>

#include "common/errors.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "te/math.h"

namespace tilewright::te {
namespace {

using enum ir::Elem;

class TeReduce : public testing::Test {
 protected:
  const Tensor A = placeholder("A", F32, {4, 6});
  const Tensor mask = placeholder("mask", Bool, {6});
  const Axis k = reduce_axis(6, "k"), r = reduce_axis(4, "r");
};

/// (m, s) stands for s * exp(m).
ir::Reducer log_sum_exp() {
  return reducer("lse", {F32, F32},
                 [](const Tuple& x, const Tuple& y) {
                   const Expr m = max(x[0], y[0]);
                   return Tuple{m, x[1] * exp(x[0] - m) + y[1] * exp(y[0] - m)};
                 },
                 {-INFINITY, 0});
}

TEST_F(TeReduce, BuiltInReducersFollowTheValue) {
  const auto of = [](const Expr& e) { return e.reductions()[0]->reducer; };
  EXPECT_EQ(of(sum(A(0, k), k)), ir::builtin_reducer(ir::BinaryOp::Add, F32));
  EXPECT_EQ(of(prod(cast(I32, A(0, k)), k)), ir::builtin_reducer(ir::BinaryOp::Mul, I32));
  EXPECT_EQ(of(max_over(A(0, k), k)), ir::builtin_reducer(ir::BinaryOp::Max, F32));
  EXPECT_EQ(of(min_over(A(r, k), {r, k})), ir::builtin_reducer(ir::BinaryOp::Min, F32));
  EXPECT_EQ(of(all(mask(k), k)), ir::builtin_reducer(ir::BinaryOp::And, Bool));
  EXPECT_EQ(of(any(A(0, k) > 0, k)), ir::builtin_reducer(ir::BinaryOp::Or, Bool));
}

TEST_F(TeReduce, AUsersReducer) {
  EXPECT_EQ(ir::print(log_sum_exp()),
            "reducer lse(x0: f32, x1: f32 | y0: f32, y1: f32)\n"
            "    = (max(x0, y0), x1 * exp(x0 - max(x0, y0)) + y1 * exp(y0 - max(x0, y0)))\n"
            "    identity (-inf, 0.0)\n");
  ir::verify(*log_sum_exp());
  const Tuple both = reduce(log_sum_exp(), {A(0, k), 1}, k);
  EXPECT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1].elem(), F32);
}

TEST_F(TeReduce, ARescaleLaw) {
  const ir::Reducer exp_sum = with_rescale(ir::builtin_reducer(ir::BinaryOp::Add, F32), {F32},
                                           [](const Tuple& s, const Tuple& from, const Tuple& to) {
                                             return Tuple{s[0] * exp(from[0] - to[0])};
                                           });
  ASSERT_EQ(exp_sum->rescale.size(), 1u);
  EXPECT_EQ(ir::print(exp_sum->rescale[0]), "p * exp(from - to)");
  EXPECT_EQ(ir::single_op(*exp_sum), ir::BinaryOp::Add);
  ir::verify(*exp_sum);
}

TEST_F(TeReduce, ArgmaxIsOneReducerPerType) {
  EXPECT_EQ(argmax_reducer(F32), argmax_reducer(F32));
  EXPECT_NE(argmax_reducer(F32), argmax_reducer(F64));
  ir::verify(*argmax_reducer(F16));
  ir::verify(*argmin_reducer(U8));
  EXPECT_EQ(diagnostic_of([] { argmax_reducer(Bool); }).code, "te.reducer.law");
}

TEST_F(TeReduce, RefusesWrongTypesAndCounts) {
  const Diagnostic d = diagnostic_of([&] { sum(mask(k), k); });
  EXPECT_EQ(d.code, "te.reduce.type");
  EXPECT_NE(d.message.find("`sum` of bool"), std::string::npos) << d.message;
  EXPECT_EQ(diagnostic_of([&] { all(A(0, k), k); }).code, "te.reduce.type");
  const Diagnostic count = diagnostic_of([&] { reduce(log_sum_exp(), {A(0, k)}, k); });
  EXPECT_EQ(count.code, "te.reduce.arity");
  EXPECT_NE(count.message.find("`lse` combines 2 values and is given 1"), std::string::npos);
  const Diagnostic type = diagnostic_of([&] { reduce(log_sum_exp(), {A(0, k), Expr(k)}, k); });
  EXPECT_EQ(type.code, "te.reduce.type");
  EXPECT_NE(type.message.find("value 1 of reducer `lse` is i64, not f32"), std::string::npos);
  EXPECT_EQ(diagnostic_of([&] { reduce(nullptr, {A(0, k)}, k); }).code, "te.reduce.reducer");
}

TEST_F(TeReduce, RefusesWrongAxes) {
  const Diagnostic d = diagnostic_of([&] { sum(A(r, k), {r, k, r}); });
  EXPECT_EQ(d.code, "te.reduce.axes");
  EXPECT_NE(d.message.find("axis `r` twice"), std::string::npos) << d.message;
  EXPECT_EQ(diagnostic_of([&] { sum(A(r, k), std::vector<Axis>()); }).code, "te.reduce.axes");
}

TEST_F(TeReduce, RefusesReducersThatAreNoFunctionOfTheirValues) {
  const auto make = [](const std::vector<ir::Elem>& elems, auto combine, const Tuple& identity) {
    return diagnostic_of([&] { reducer("bad", elems, combine, identity); });
  };
  const auto first = [](const Tuple& x, const Tuple&) { return Tuple{x[0]}; };
  const Diagnostic reads =
      make({F32}, [&](const Tuple& x, const Tuple&) { return Tuple{x[0] + A(0, 0)}; }, {0});
  EXPECT_EQ(reads.code, "te.reducer.law");
  EXPECT_NE(reads.message.find("`bad`: combine reads a tensor"), std::string::npos);
  const Diagnostic axis = make({I64}, [&](const Tuple&, const Tuple&) { return Tuple{k}; }, {0});
  EXPECT_NE(axis.message.find("mentions `k`"), std::string::npos) << axis.message;
  const Diagnostic types =
      make({F32}, [](const Tuple& x, const Tuple& y) { return Tuple{x[0] < y[0]}; }, {0});
  EXPECT_NE(types.message.find("value 0 of combine is bool, not f32"), std::string::npos);
  EXPECT_NE(make({F32}, first, {0, 1}).message.find("identity has 2 values"), std::string::npos);
  EXPECT_NE(make({}, first, {}).message.find("combines nothing"), std::string::npos);
  EXPECT_NE(make({I64}, first, {k}).message.find("identity mentions `k`"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::te
