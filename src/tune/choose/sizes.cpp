// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/sizes.h"

#include <algorithm>

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

Sizes::Sizes(const ir::LoopFunc& func) : context_(func) {
  for (const ir::Symbol& s : func.symbols) {
    const int64_t value = s.likely.empty() ? 128 : s.likely.front();
    // Odd parts of it, so that tails count.
    int64_t sizes[] = {value, value * 3 / 5 | 1, value / 3 | 1};
    for (size_t i = 1; i < s.likely.size() && i < std::size(sizes); ++i) sizes[i] = s.likely[i];
    for (size_t i = 0; i < typical_.size(); ++i)
      typical_[i][s.var] = std::clamp(sizes[i] / s.divisor * s.divisor, s.min, s.max);
  }
}

int64_t Sizes::of(const ir::Expr& extent, const ir::VarMap& symbols) {
  if (const auto n = ir::const_int(extent)) return std::max<int64_t>(*n, 0);
  const auto n = ir::const_int(arith::Context().simplify(ir::substitute(extent, symbols)));
  return n ? std::max<int64_t>(*n, 0) : kUnknown;
}

std::vector<int64_t> Sizes::samples(const ir::Expr& extent) const {
  if (ir::const_int(extent)) return {of(extent)};
  std::vector<int64_t> out;
  for (const ir::VarMap& symbols : typical_) out.push_back(of(extent, symbols));
  return out;
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
