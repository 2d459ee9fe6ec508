// SPDX-License-Identifier: Apache-2.0
#include "arith/operand.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/operand.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "support/str.h"

namespace tilewright::arith {
namespace {

using ir::Expr;

constexpr int64_t kMaxPoints = 1 << 14;  // of an operand whose places are looked at one by one

std::vector<Expr> place_of(const ir::BufferNode& buffer, const std::vector<Expr>& indices) {
  if (!buffer.layout) return indices;
  ir::VarMap at;
  for (size_t i = 0; i < indices.size(); ++i) at[buffer.layout->indices[i]] = indices[i];
  if (buffer.layout->replica) at[buffer.layout->replica] = 0;
  std::vector<Expr> out;
  for (const ir::PhysDim& dim : buffer.layout->dims) out.push_back(substitute(dim.index, at));
  return out;
}

/// The value of a layout's expression at constant indices.
int64_t value_at(const Expr& e, const ir::LayoutNode& layout, const std::vector<int64_t>& point) {
  if (const auto c = ir::const_int(e)) return *c;
  if (const auto* b = e.as<ir::Binary>())
    return ir::int_binary(b->op, ir::Elem::I64, value_at(b->a, layout, point),
                          value_at(b->b, layout, point));
  for (size_t i = 0; i < point.size(); ++i)
    if (e == layout.indices[i]) return point[i];
  return 0;  // the replica
}

/// One operand, and the places of its elements.
class Operand {
 public:
  Operand(const ir::Region& region, const ir::BufferNode& declared, std::vector<size_t> dims,
          FunctionRef<Expr(const std::vector<Expr>&)> address, const Context& context)
      : region_(region),
        declared_(declared),
        dims_(std::move(dims)),
        address_(address),
        context_(context) {}

  OperandPlace place() {
    const std::vector<Expr> origin(dims_.size(), 0);
    for (const int64_t p : place_at(std::vector<int64_t>(dims_.size(), 0)))
      if (p != 0)
        return refused("its first element does not stand at the first place of its own layout");
    int64_t points = 1;
    for (const Expr& extent : declared_.shape) {
      points *= ir::const_int(extent).value_or(0);
      if (points > kMaxPoints) return refused(str("it has more than ", kMaxPoints, " elements"));
    }
    const Expr first = context_.simplify(at(origin));
    OperandPlace out{first, 1, strides(first, points), {}};
    for (size_t d = 0; d < out.strides.size(); ++d) {
      if (!context_.can_prove(Expr(0) <= out.strides[d]))
        return refused(str("its physical dimension ", d, " may run backwards in `",
                           region_.buffer->name, "`"));
      out.span = out.span + Expr(reach_[d]) * out.strides[d];
    }
    out.span = context_.simplify(out.span);
    out.reason = why_not_even(first, out.strides, points);
    return out;
  }

 private:
  static OperandPlace refused(std::string reason) { return {{}, {}, {}, std::move(reason)}; }

  /// The address of the operand's element.
  Expr at(const std::vector<Expr>& indices) const {
    std::vector<Expr> logical;
    for (const ir::Range& r : region_.ranges) logical.push_back(r.min);
    for (size_t d = 0; d < dims_.size(); ++d) logical[dims_[d]] = logical[dims_[d]] + indices[d];
    return address_(logical);
  }

  std::vector<int64_t> point(int64_t n) const {
    std::vector<int64_t> out(dims_.size());
    for (size_t d = dims_.size(); d-- > 0;) {
      const int64_t extent = *ir::const_int(declared_.shape[d]);
      out[d] = n % extent;
      n /= extent;
    }
    return out;
  }
  std::vector<int64_t> place_at(const std::vector<int64_t>& point) const {
    if (!declared_.layout) return point;
    std::vector<int64_t> out;
    for (const ir::PhysDim& dim : declared_.layout->dims)
      out.push_back(value_at(dim.index, *declared_.layout, point));
    return out;
  }

  /// The distance between neighbours along each physical dimension: 0 where there are none.
  std::vector<Expr> strides(const Expr& first, int64_t points) {
    std::vector<Expr> out(declared_.physical_rank(), 0);
    reach_.assign(out.size(), 0);
    for (int64_t n = 0; n < points; ++n) {
      const std::vector<int64_t> index = point(n), place = place_at(index);
      int64_t moved = 0;
      size_t along = 0;
      for (size_t d = 0; d < place.size(); ++d) {
        reach_[d] = std::max(reach_[d], place[d]);
        if (place[d] != 0) along = d;
        moved += place[d];
      }
      if (moved == 1) out[along] = context_.simplify(at({index.begin(), index.end()}) - first);
    }
    return out;
  }

  /// Why some element is not where the strides say. One proof for all indices; where it fails point
  /// by point, and along each axis alone to name the one that bends.
  std::string why_not_even(const Expr& first, const std::vector<Expr>& strides,
                           int64_t points) const {
    std::vector<Expr> all;
    Context inside = context_;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const ir::Var v(str("operand_", d));
      inside.bind(v, 0, declared_.shape[d]);
      all.push_back(v);
    }
    const auto holds = [&](const std::vector<Expr>& index) {
      Expr wanted = first;
      const std::vector<Expr> place = place_of(declared_, index);
      for (size_t d = 0; d < place.size(); ++d) wanted = wanted + place[d] * strides[d];
      return inside.can_prove_equal(at(index), wanted);
    };
    if (holds(all)) return {};
    for (int64_t n = 0; n < points; ++n) {
      const std::vector<int64_t> at_n = point(n);
      const std::vector<Expr> index(at_n.begin(), at_n.end());
      if (holds(index)) continue;
      for (size_t d = 0; d < dims_.size(); ++d) {
        std::vector<Expr> along(dims_.size(), 0);
        along[d] = index[d];
        if (!holds(along))
          return str("along its axis ", d, " the elements of `", region_.buffer->name,
                     "` are not as far apart as its layout wants them");
      }
      return str("the elements of `", region_.buffer->name,
                 "` are not as far apart as its layout wants them");
    }
    return {};
  }

  const ir::Region& region_;
  const ir::BufferNode& declared_;
  std::vector<size_t> dims_;
  FunctionRef<Expr(const std::vector<Expr>&)> address_;
  const Context& context_;
  std::vector<int64_t> reach_;  // the last place along each physical dimension
};

}  // namespace

OperandPlace operand_place(const ir::Region& region, const ir::BufferNode& operand,
                           FunctionRef<Expr(const std::vector<Expr>&)> address,
                           const Context& context) {
  const auto dims = ir::operand_dims(region, operand);
  require(dims.has_value(), "an operand of an instruction has another shape than its region");
  return Operand(region, operand, *dims, address, context).place();
}

OperandPlace operand_place(const ir::Region& region, const ir::BufferNode& operand,
                           const Context& context) {
  const std::vector<Expr> extents = ir::physical_extents(*region.buffer);
  return operand_place(
      region, operand,
      [&](const std::vector<Expr>& indices) {
        const std::vector<Expr> place = place_of(*region.buffer, indices);
        Expr at = 0;
        for (size_t d = 0; d < place.size(); ++d) at = at * extents[d] + place[d];
        return at;
      },
      context);
}

}  // namespace tilewright::arith
