// SPDX-License-Identifier: Apache-2.0
// Random expressions of every element type, with extreme values.
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "arith/context.h"
#include "arith/evaluate.h"
#include "ir/print.h"
#include "ir/scalar.h"

namespace tilewright::arith {
namespace {

using ir::BinaryOp;
using ir::Elem;
using ir::Expr;

class Generator {
 public:
  explicit Generator(uint64_t seed) : engine_(seed) {}

  int64_t number(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(engine_);
  }
  Elem elem() {
    constexpr Elem kElems[] = {Elem::Bool, Elem::I4,  Elem::U4,     Elem::I8,
                               Elem::U8,   Elem::I32, Elem::U32,    Elem::I64,
                               Elem::U64,  Elem::F32, Elem::F8E4M3, Elem::F64};
    return kElems[number(0, 11)];
  }

  Expr expr(Elem elem, int depth) {
    if (depth == 0) return leaf(elem);
    const auto part = [&] { return expr(elem, depth - 1); };
    switch (number(0, 6)) {
      case 0: return leaf(elem);
      case 1: {
        const Expr cond = expr(Elem::Bool, depth - 1);
        return number(0, 1) ? ir::select(cond, part(), part()) : ir::guard(cond, part(), part());
      }
      case 2: return ir::make<ir::Cast>({}, elem, expr(this->elem(), depth - 1));
      default: break;
    }
    if (elem == Elem::Bool) {
      if (number(0, 3) == 0) return ir::logical_not(part());
      if (number(0, 2) == 0)
        return number(0, 1) ? ir::logical_and(part(), part()) : ir::logical_or(part(), part());
      const Elem of = this->elem();
      const BinaryOp ops[] = {BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le};
      const BinaryOp op = ops[number(0, of == Elem::Bool ? 1 : 3)];
      return ir::binary(op, expr(of, depth - 1), expr(of, depth - 1));
    }
    if (number(0, 4) == 0)
      return ir::unary(number(0, 1) ? ir::UnaryOp::Neg : ir::UnaryOp::Abs, part());
    const bool is_float = ir::is_float(elem);
    const BinaryOp ops[] = {BinaryOp::Add,    BinaryOp::Sub,   BinaryOp::Mul, BinaryOp::Div,
                            BinaryOp::Min,    BinaryOp::Max,   BinaryOp::Mod, BinaryOp::BitAnd,
                            BinaryOp::BitXor, BinaryOp::BitOr, BinaryOp::Shl, BinaryOp::Shr};
    return ir::binary(ops[number(0, is_float ? 5 : 11)], part(), part());
  }

  Values values() {
    Values out;
    for (const ir::Var& v : vars_) {
      const Elem elem = v.type().elem;
      const auto bits = static_cast<int64_t>(engine_());
      if (ir::is_float(elem)) {
        const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 3.0};
        out[v.get()] =
            Value::of_float(number(0, 1) ? ir::round_to(elem, special[number(0, 7)])
                                         : ir::float_from_bits(elem, static_cast<uint64_t>(bits)));
      } else {
        const int64_t special[] = {
            0, 1, -1, 2, ir::int_min(elem), static_cast<int64_t>(ir::int_max(elem))};
        out[v.get()] = Value::of(ir::wrap_int(elem, number(0, 1) ? special[number(0, 5)] : bits));
      }
    }
    return out;
  }

 private:
  Expr leaf(Elem elem) {
    if (number(0, 3) == 0) {
      if (ir::is_float(elem)) return ir::float_imm(elem, static_cast<double>(number(-4, 4)) / 2);
      return ir::int_imm(elem, ir::wrap_int(elem, number(-2, 9)));
    }
    std::vector<ir::Var> fitting;
    for (const ir::Var& v : vars_)
      if (v.type().elem == elem) fitting.push_back(v);
    if (fitting.size() < 2) {
      vars_.emplace_back("v" + std::to_string(vars_.size()), ir::Type{elem, 1});
      return vars_.back();
    }
    return fitting[static_cast<size_t>(number(0, 1))];
  }

  std::mt19937_64 engine_;
  std::vector<ir::Var> vars_;
};

TEST(RandomTypes, SimplifyKeepsTheValue) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    Generator g(seed);
    const Expr e = g.expr(g.elem(), 4);
    const Context context;
    const Expr simple = context.simplify(e);
    ASSERT_EQ(simple.type(), e.type());
    changed += simple != e;
    for (int i = 0; i < 40; ++i) {
      const Values v = g.values();
      const Value before = evaluate(e, v), after = evaluate(simple, v);
      ASSERT_TRUE(same(before, after))
          << "seed " << seed << ": " << ir::print(e) << "\n  " << ir::print(simple);
    }
  }
  EXPECT_GT(changed, 1500);
}

}  // namespace
}  // namespace tilewright::arith
