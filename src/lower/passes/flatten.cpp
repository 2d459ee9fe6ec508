// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "arith/operand.h"
#include "ir/build.h"
#include "ir/operand.h"
#include "ir/rewrite.h"
#include "lower/facts.h"
#include "lower/lanes.h"
#include "lower/passes/passes.h"
#include "lower/physical.h"
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
    for (const Expr& extent : physical_extents(*logical)) size = product(size, extent);
    flat_ = make_buffer(logical->name, logical->elem, {size}, logical->scope, nullptr,
                        logical->alignment, logical->span);
  }

  const Buffer& buffer() const { return flat_ ? flat_ : logical_; }
  int64_t replicas() const { return logical_->layout ? logical_->layout->replicas : 1; }

  std::vector<Expr> address(const std::vector<Expr>& indices, int64_t replica) const {
    if (!flat_) return indices;
    const std::vector<Expr> extents = physical_extents(*logical_);
    const std::vector<Expr> places = physical_indices(*logical_, indices, replica);
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

  Buffer logical_, flat_;
};

class Flattener {
 public:
  explicit Flattener(const LoopFunc& func) : facts_(func) {}

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
        [&](const InstrCall& c, auto& self) -> Stmt { return call(c, self); },
        [&](const For& loop, auto& self) -> Stmt {
          return facts_.inside(loop, [&] { return self.children(loop); });
        },
        [&](const Let& let, auto& self) -> Stmt {
          return facts_.inside(let, [&] { return self.children(let); });
        },
        [&](const If& s, auto& self) -> Stmt {
          if (has_load(s.cond)) return self.children(s);
          const Stmt yes = facts_.where(s.cond, [&] { return self(s.yes); });
          const Stmt no = facts_.where(logical_not(s.cond), [&] { return self(s.no); });
          return with(s, [&](If& out) {
            out.yes = yes;
            out.no = no;
          });
        });
  }

  template <class Self>
  Stmt call(const InstrCall& c, Self& self) {
    std::vector<Region> operands;
    std::vector<std::vector<Expr>> strides;
    for (size_t i = 0; i < c.operands.size(); ++i) {
      const Region& r = c.operands[i];
      const Flat& flat = of(r.buffer);
      for (const Buffer& b : {r.buffer, c.instr->operands[i].buffer})
        refuse_replicas(b, c.span, str("instruction `", c.instr->name, "`"));
      std::vector<Range> ranges;
      std::vector<Expr>& steps =
          strides.emplace_back(c.instr->operands[i].buffer->physical_rank(), 0);
      if (flat.buffer()->rank() > 0) {
        const arith::OperandPlace place = placed(c, i, flat);
        ranges.push_back({self(place.first), self(place.span)});
        for (size_t d = 0; d < steps.size(); ++d) steps[d] = self(place.strides[d]);
      }
      operands.push_back({flat.buffer(), std::move(ranges), self(r.rank)});
    }
    return with(c, [&](InstrCall& out) {
      out.operands = std::move(operands);
      out.strides = std::move(strides);
    });
  }

  arith::OperandPlace placed(const InstrCall& c, size_t i, const Flat& flat) {
    const BufferNode& operand = *c.instr->operands[i].buffer;
    const Region& region = c.operands[i];
    arith::OperandPlace place = arith::operand_place(
        region, operand, [&](const std::vector<Expr>& at) { return flat.address(at, 0)[0]; },
        facts_.here());
    if (place.reason.empty()) return place;
    throw Error({.code = "lower.flatten.operand",
                 .at = c.span,
                 .message = str("operand `", operand.name, "` of instruction `", c.instr->name,
                                "` cannot lie in `", region.buffer->name, "`"),
                 .notes = {place.reason},
                 .help = str("give `", region.buffer->name,
                             "` a layout that agrees with the operand's, and hand over regions "
                             "that start at a whole piece of it")});
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

  void refuse_replicas(const Buffer& b, const Span& at, const std::string& what) {
    if (!b->layout || b->layout->replicas == 1) return;
    throw Error(
        {.code = "lower.flatten.replica",
         .at = at,
         .message = str(what, " cannot work on `", b->name, "`"),
         .notes = {str("its layout keeps ", b->layout->replicas, " copies of each element")},
         .help = "use a layout without replicas"});
  }

  std::unordered_map<Buffer, Flat> flats_;
  Facts facts_;
};

}  // namespace

/// Applies layout functions and row-major shapes: every buffer becomes one-dimensional (a scalar
/// stays one), every access gets an address counted in elements.
///   before   alloc t: f32[4, n]   t[i, j] = t[i, ramp(0, 1, 8)] …
///   after    alloc t: f32[4*n]    t[i*n + j] = t[ramp(i*n, 1, 8)] …
/// The region of an instruction call becomes the addresses from its first to its last element, with
/// strides for the physical dimensions of the operand:
///   before   call outer(C[i*2 +: 2, j*4 +: 4], …)
///   after    call outer(C[i*16 + j*4 +: 12], …) strides ([8, 1], …)
/// Needs:  no blocks, updates or vthread loops; layouts over `address` only.
/// Leaves: stage `final`.
LoopFunc flatten(const LoopFunc& func, PassContext&) {
  require_no_blocks(func, "flatten");
  require_no_updates(func, "flatten");
  require_no_loops(func, ForKind::VThread, "flatten", "lower_vthread");
  return Flattener(func).run(func);
}

}  // namespace tilewright::lower
