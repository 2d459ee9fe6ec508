// SPDX-License-Identifier: Apache-2.0
#include "ops/byte_factors.h"

#include "ops/define.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

bool is_byte(Elem elem) { return elem == Elem::U8 || elem == Elem::I8; }

/// The bytes with a number added, in another type.
te::Tensor moved(const te::Tensor& t, int64_t by, Elem to) {
  if (by == 0) return t;
  return te::compute(str(t.name(), "_moved"), shape_of(t), [&](const std::vector<te::Var>& v) {
    return te::cast(to, te::cast(Elem::I32, t.at(indices_of(v))) + by);
  });
}

}  // namespace

std::optional<ByteFactors> byte_factors(const Call& call) {
  const Elem a = call.elem(0), b = call.elem(1);
  if (!is_byte(a) || !is_byte(b)) return std::nullopt;
  const int64_t a_more = a == Elem::I8 ? 128 : 0, b_more = b == Elem::U8 ? -128 : 0;
  return ByteFactors{.a = moved(call.in(0), a_more, Elem::U8),
                     .b = moved(call.in(1), b_more, Elem::I8),
                     .a_more = a_more,
                     .b_more = b_more,
                     .a_centered = is_all(call, 2, -a_more),
                     .b_centered = is_all(call, 3, -b_more)};
}

bool is_all(const Call& call, size_t i, int64_t number) {
  if (!call.has(i)) return number == 0;
  const ConstantNode* c = call.constant(i);
  if (!c) return false;
  for (int64_t k = 0; k < c->count(); ++k)
    if (int_at(*c, k) != number) return false;
  return true;
}

Dim in_whole(const Dim& extent, int64_t multiple) {
  const auto known = ir::const_int(extent);
  return known ? Dim((*known + multiple - 1) / multiple * multiple) : extent;
}

}  // namespace tilewright::ops
