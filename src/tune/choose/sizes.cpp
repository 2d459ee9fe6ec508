// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/sizes.h"

#include <algorithm>

#include "arith/context.h"

namespace tilewright::tune {
namespace {

int64_t of_function(ir::MathFn fn) {
  switch (fn) {
    case ir::MathFn::Fma: return 1;
    case ir::MathFn::Floor:
    case ir::MathFn::Ceil:
    case ir::MathFn::Round:
    case ir::MathFn::Trunc:
    case ir::MathFn::IsNan:
    case ir::MathFn::IsInf:
    case ir::MathFn::CopySign: return 2;
    case ir::MathFn::Sqrt:
    case ir::MathFn::Rsqrt: return 8;
    default: return 20;
  }
}

}  // namespace

Sizes::Sizes(const ir::LoopFunc& func) {
  for (const ir::Symbol& s : func.symbols) {
    int64_t value = s.likely.empty() ? std::clamp<int64_t>(128, s.min, s.max) : s.likely.front();
    if (s.divisor > 1) value = std::max(s.min, value / s.divisor * s.divisor);
    typical_[s.var] = value;
  }
}

int64_t Sizes::of(const ir::Expr& extent) const {
  if (const auto n = ir::const_int(extent)) return std::max<int64_t>(*n, 0);
  const auto n = ir::const_int(arith::Context().simplify(ir::substitute(extent, typical_)));
  return n ? std::max<int64_t>(*n, 0) : kUnknown;
}

int64_t operations(const ir::Expr& value) {
  int64_t n = 0;
  ir::walk(
      value, [](const ir::Load&) { return false; },
      [&](const ir::Binary& b) {
        if (b.a.type() == ir::kIndex && b.type == ir::kIndex) return false;
        n += b.op == ir::BinaryOp::Div || b.op == ir::BinaryOp::Mod ? 4 : 1;
        return true;
      },
      [&](const ir::Unary&) { ++n; }, [&](const ir::Cast&) { ++n; },
      [&](const ir::Select&) { ++n; }, [&](const ir::Guard&) { ++n; },
      [&](const ir::Call& c) { n += of_function(c.fn); });
  return n;
}

}  // namespace tilewright::tune
