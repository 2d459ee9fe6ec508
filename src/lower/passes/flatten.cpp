// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "lower/lanes.h"
#include "lower/passes/passes.h"
#include "support/str.h"

namespace tilewright::lower {

using namespace ir;

namespace {

/// One buffer before and after, and how its indices become an address.
class Flat {
 public:
  explicit Flat(const Buffer& logical) : logical_(logical) {
    if (logical->layout)
      check_kinds();
    else if (logical->rank() <= 1)
      return;  // stays itself
    Expr size = 1;
    for (const Expr& extent : physical_extents()) size = product(size, extent);
    flat_ = make_buffer(logical->name, logical->elem, {size}, logical->scope, nullptr,
                        logical->alignment, logical->span);
  }

  const Buffer& buffer() const { return flat_ ? flat_ : logical_; }
  int64_t replicas() const { return logical_->layout ? logical_->layout->replicas : 1; }

  std::vector<Expr> address(const std::vector<Expr>& indices, int64_t replica) const {
    if (!flat_) return indices;
    const std::vector<Expr> extents = physical_extents();
    const std::vector<Expr> places = physical_indices(indices, replica);
    Expr at = 0;
    for (size_t d = 0; d < places.size(); ++d)
      at = lane_binary(BinaryOp::Add, lane_binary(BinaryOp::Mul, at, extents[d]), places[d]);
    return {at};
  }

  /// Sets every place to zero where some are padding that must read as zero; null otherwise.
  Stmt zero_fill() const {
    if (!flat_ || !logical_->layout || logical_->layout->padding != Padding::Zero) return {};
    Expr used = replicas();
    for (const Expr& extent : logical_->shape) used = used * extent;
    const auto places = const_int(flat_->shape[0]), filled = const_int(used);
    if (places && places == filled) return {};
    const Var p(str(logical_->name, "_pad"));
    return make_stmt<For>(
        logical_->span, p, Expr(0), flat_->shape[0],
        make_stmt<Store>(logical_->span, flat_, std::vector<Expr>{p}, imm(flat_->elem, 0)));
  }

 private:
  void check_kinds() const {
    for (const PhysDim& dim : logical_->layout->dims) {
      if (dim.kind == PhysKind::Address) continue;
      throw Error({.code = "lower.flatten.lane",
                   .at = logical_->span,
                   .message = str("`", logical_->name, "` cannot be laid out in memory"),
                   .notes = {"its layout spreads it over lanes or registers of several threads"},
                   .help = "keep only `address` dimensions in the layout, or lower for a machine "
                           "whose threads hold the pieces"});
    }
  }

  Expr product(const Expr& a, const Expr& b) const {
    const auto x = const_int(a), y = const_int(b);
    int64_t ignored = 0;
    if (x && y && __builtin_mul_overflow(*x, *y, &ignored)) {
      throw Error({.code = "lower.flatten.size",
                   .at = logical_->span,
                   .message = str("`", logical_->name, "` has more elements than an i64 can count"),
                   .help = "make the buffer smaller"});
    }
    return a * b;
  }

  std::vector<Expr> physical_extents() const {
    if (!logical_->layout) return logical_->shape;
    std::vector<Expr> out;
    for (const PhysDim& dim : logical_->layout->dims) out.push_back(dim.extent);
    return out;
  }

  std::vector<Expr> physical_indices(const std::vector<Expr>& indices, int64_t replica) const {
    if (!logical_->layout) return indices;
    const LayoutNode& layout = *logical_->layout;
    Widening w;
    for (size_t i = 0; i < indices.size(); ++i) {
      w.vectors[layout.indices[i]] = indices[i];
      w.lanes = std::max(w.lanes, indices[i].type().lanes);
    }
    if (layout.replica) w.vectors[layout.replica] = replica;
    std::vector<Expr> out;
    for (const PhysDim& dim : layout.dims) out.push_back(widen(dim.index, w));
    return out;
  }

  Buffer logical_, flat_;
};

class Flattener {
 public:
  LoopFunc run(const LoopFunc& func) {
    LoopFunc out = func;
    std::vector<Stmt> body;
    for (Param& param : out.params) {
      const Flat& flat = of(param.buffer);
      if (param.access == Access::Out)
        if (Stmt fill = flat.zero_fill()) body.push_back(fill);
      param.buffer = flat.buffer();
    }
    body.push_back(rewrite_body(func.body));
    out.body = seq(std::move(body));
    out.stage = Stage::Final;
    return out;
  }

 private:
  const Flat& of(const Buffer& b) {
    const auto known = flats_.find(b);
    return known != flats_.end() ? known->second : flats_.emplace(b, Flat(b)).first->second;
  }

  template <class Self>
  std::vector<Expr> address(const Buffer& b, const std::vector<Expr>& indices, Self& self,
                            int64_t replica = 0) {
    std::vector<Expr> inner;
    for (const Expr& index : indices) inner.push_back(self(index));
    return of(b).address(inner, replica);
  }

  Stmt rewrite_body(const Stmt& body) {
    return rewrite(
        body,
        [&](const Load& l, auto& self) -> Expr {
          return make<Load>(l.span, of(l.buffer).buffer(), address(l.buffer, l.indices, self),
                            self(l.mask), self(l.rank));
        },
        [&](const Store& s, auto& self) -> Stmt { return store(s, self); },
        [&](const Atomic& a, auto& self) -> Stmt {
          refuse_replicas(a.buffer, a.span, "an atomic");
          return with(a, [&](Atomic& out) {
            out.buffer = of(a.buffer).buffer();
            out.indices = address(a.buffer, a.indices, self);
            out.value = self(a.value);
            out.expected = self(a.expected);
          });
        },
        [&](const Prefetch& p, auto& self) -> Stmt {
          return with(p, [&](Prefetch& out) {
            out.buffer = of(p.buffer).buffer();
            out.indices = address(p.buffer, p.indices, self);
          });
        },
        [&](const Alloc& a, auto& self) -> Stmt {
          const Flat& flat = of(a.buffer);
          Stmt inside = self(a.body);
          if (Stmt fill = flat.zero_fill()) inside = seq({fill, inside});
          return make_stmt<Alloc>(a.span, flat.buffer(), inside);
        },
        [&](const InstrCall& c, auto& self) -> Stmt {
          return with(c, [&](InstrCall& out) {
            for (Region& r : out.operands) r = region(r, self);
          });
        });
  }

  /// From the first to the last element: where the operand begins, and how far apart its rows are.
  template <class Self>
  Region region(const Region& r, Self& self) {
    std::vector<Expr> first, last;
    for (const Range& range : r.ranges) {
      first.push_back(self(range.min));
      last.push_back(first.back() + self(range.extent) - 1);
    }
    const Flat& flat = of(r.buffer);
    if (r.ranges.empty()) return {flat.buffer(), {}, self(r.rank)};
    const Expr from = flat.address(first, 0)[0], to = flat.address(last, 0)[0];
    return {flat.buffer(), {{from, to - from + 1}}, self(r.rank)};
  }

  template <class Self>
  Stmt store(const Store& s, Self& self) {
    const Flat& flat = of(s.buffer);
    const Expr value = self(s.value), mask = self(s.mask), rank = self(s.rank);
    const auto one = [&](int64_t replica, const Expr& v) {
      return make_stmt<Store>(s.span, flat.buffer(), address(s.buffer, s.indices, self, replica), v,
                              mask, rank);
    };
    if (flat.replicas() == 1) return one(0, value);
    const Var copy(str(s.buffer->name, "_value"), value.type(), s.span);
    std::vector<Stmt> stores;
    for (int64_t r = 0; r < flat.replicas(); ++r) stores.push_back(one(r, copy));
    return make_stmt<Let>(s.span, copy, value, seq(std::move(stores), s.span));
  }

  void refuse_replicas(const Buffer& b, const Span& at, const char* what) {
    if (of(b).replicas() == 1) return;
    throw Error({.code = "lower.flatten.replica",
                 .at = at,
                 .message = str(what, " cannot work on `", b->name, "`"),
                 .notes = {str("its layout keeps ", of(b).replicas(), " copies of each element")},
                 .help = "use a layout without replicas"});
  }

  std::unordered_map<Buffer, Flat> flats_;
};

}  // namespace

/// Applies layout functions and row-major shapes: every buffer becomes one-dimensional (a scalar
/// stays one), every access gets an address counted in elements.
///   before   alloc t: f32[4, n]   t[i, j] = t[i, ramp(0, 1, 8)] …
///   after    alloc t: f32[4*n]    t[i*n + j] = t[ramp(i*n, 1, 8)] …
/// The region of an instruction call becomes the addresses from its first to its last element.
/// Needs:  no blocks, updates or vthread loops; layouts over `address` only.
/// Leaves: stage `final`.
LoopFunc flatten(const LoopFunc& func, PassContext&) {
  require_no_blocks(func, "flatten");
  require_no_updates(func, "flatten");
  require_no_loops(func, ForKind::VThread, "flatten", "lower_vthread");
  return Flattener().run(func);
}

}  // namespace tilewright::lower
