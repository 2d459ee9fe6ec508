// SPDX-License-Identifier: Apache-2.0
#include "schedule/slots.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "schedule/loop_checks.h"
#include "schedule/nests.h"
#include "support/str.h"

namespace tilewright::schedule {

using ir::Expr;
using ir::Stmt;

OpenBody open_body(const Stmt& body) {
  OpenBody out;
  const auto open = [&](const auto& self, const Stmt& s) -> void {
    if (const auto* alloc = s.as<ir::Alloc>()) {
      out.buffers.push_back(alloc->buffer);
      self(self, alloc->body);
    } else if (const auto* all = s.as<ir::Seq>()) {
      for (const Stmt& child : all->stmts) self(self, child);
    } else {
      out.stmts.push_back(s);
    }
  };
  open(open, body);
  return out;
}

Stmt allocated(const std::vector<ir::Buffer>& buffers, Stmt body) {
  for (size_t i = buffers.size(); i-- > 0;) body = ir::make_stmt<ir::Alloc>({}, buffers[i], body);
  return body;
}

void require_divisible(const Program& program, const ir::For& loop, std::string_view step) {
  const auto refuse = [&](const std::string& note, const std::string& help) {
    throw Error({.code = "schedule.overlap.body",
                 .message = str("cannot ", step, " `", loop.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  };
  require_serial(loop, step);
  require_outside_of_blocks(program, loop, step);
  require_no_sync(loop, step);
  if (ir::has_load(loop.min) || ir::has_load(loop.extent))
    refuse("its range is read from memory, which its body may change",
           "take the range as a parameter of the function");
  ir::walk(loop.body, [&](const ir::Alloc& a) {
    for (const Expr& extent : a.buffer->shape)
      if (uses(extent, loop.var))
        refuse(str("the shape of `", a.buffer->name, "` depends on it"),
               "allocate the buffer with a shape that all iterations share");
  });
}

Touches::Touches(const std::vector<Stmt>& stmts) {
  for (const Stmt& s : stmts)
    for (const Access& a : accesses_of(s)) {
      all.push_back(a.region.buffer);
      if (a.write) written.push_back(a.region.buffer);
    }
}
bool Touches::writes(const ir::Buffer& b) const {
  return std::find(written.begin(), written.end(), b) != written.end();
}
bool Touches::touches(const ir::Buffer& b) const {
  return std::find(all.begin(), all.end(), b) != all.end();
}

std::pair<Stmt, ir::Var> in_turn(const ir::Block& block, const ir::For& loop) {
  const Expr turn = loop.var - loop.min;
  for (const ir::BlockIter& it : block.iters)
    if (it.kind == ir::IterKind::Ordered && ir::equal(it.binding, turn))
      return {Stmt::of(block), it.var};
  const ir::Var var(str("v", loop.var.name()));
  const Stmt now = ir::with(block, [&](ir::Block& b) {
    b.iters.push_back({var, ir::IterKind::Ordered, loop.extent, turn});
  });
  return {now, var};
}

namespace {

/// What an iteration reads and writes of the buffer; without a buffer where that is not known.
ir::Region touched_in_all(const Stmt& body, const ir::Buffer& buffer,
                          const arith::Context& context) {
  bool lets = false;  // a let is no loop that a region can be widened over
  ir::walk(body, [&](const ir::Let&) { lets = true; });
  if (lets) return {};
  ir::Region all;
  for (const bool writes : {true, false}) {
    const ir::Region part = touched(body, buffer, writes, context);
    const bool none = std::all_of(part.ranges.begin(), part.ranges.end(),
                                  [](const ir::Range& r) { return ir::is_const(r.extent, 0); });
    if (none) continue;
    all = all.buffer ? arith::unite(all, part, context) : part;
  }
  return all;
}

}  // namespace

Slots::Slots(const Program& program, const ir::For& loop, const ir::Buffer& buffer, int64_t count,
             std::string_view step)
    : loop_(loop), old_(buffer), count_(count) {
  const auto varies = [&](const Expr& e) { return uses(e, loop.var); };
  if (std::any_of(old_->shape.begin(), old_->shape.end(), varies))
    throw Error({.code = "schedule.slots.shape",
                 .message = str("cannot ", step, " `", loop.var.name(), "`"),
                 .notes = {str("the shape of `", old_->name, "` depends on the loop")},
                 .help = "allocate it with a shape that all iterations share"});
  const arith::Context context = program.context_at(program.path_to(loop));
  const ir::Region part = touched_in_all(loop.body, old_, context);
  std::vector<Expr> shape = {count};
  Expr places = 1;
  for (size_t d = 0; d < old_->shape.size(); ++d) {
    const std::optional<int64_t> window =
        part.buffer ? ir::const_int(part.ranges[d].extent) : std::nullopt;
    const bool fold = !old_->layout && window && *window >= 1 &&
                      context.can_prove(Expr(*window) < old_->shape[d]) &&
                      fits_instructions(program, d, *window);
    windows_.push_back(fold ? Expr(*window) : Expr());
    shape.push_back(fold ? Expr(*window) : old_->shape[d]);
    places = places * (window ? Expr(*window) : old_->shape[d]);
  }
  Expr slot_bits = ir::bits(old_->elem);
  for (size_t d = 1; d < shape.size(); ++d) slot_bits = slot_bits * shape[d];
  if (ir::bits(old_->elem) < 8 && (old_->layout || !context.can_prove_equal(slot_bits % 8, 0)))
    throw Error({.code = "schedule.slots.bits",
                 .message = str("cannot ", step, " `", loop.var.name(), "`"),
                 .notes = {str("two slots of `", old_->name, "` would share a byte")},
                 .help = "give the buffer a size of whole bytes first"});
  bytes_ = context.simplify(ir::ceil_div(places * ir::bits(old_->elem), 8));
  ir::Layout layout = old_->layout;
  if (layout) {
    auto wider = std::make_shared<ir::LayoutNode>(*layout);
    const ir::Var slot("slot");
    wider->indices.insert(wider->indices.begin(), slot);
    wider->dims.insert(wider->dims.begin(), {ir::PhysKind::Address, slot, count});
    layout = ir::Layout(std::move(wider));
  }
  now_ = ir::make_buffer(old_->name, old_->elem, std::move(shape), old_->scope, layout,
                         old_->alignment, old_->span);
}

/// An instruction takes a whole range, which must not be cut in two by the remainder.
bool Slots::fits_instructions(const Program& program, size_t dim, int64_t window) const {
  bool fits = true;
  ir::walk(loop_.body, [&](const ir::InstrCall& call) {
    for (const ir::Region& r : call.operands) {
      if (r.buffer != old_ || ir::is_const(r.ranges[dim].extent, 1)) continue;
      const arith::Context context = program.context_at(program.path_to(call));
      fits = fits && context.can_prove(r.ranges[dim].min % window + r.ranges[dim].extent <= window);
    }
  });
  return fits;
}

std::vector<Expr> Slots::indices(const Expr& slot, const std::vector<Expr>& old) const {
  std::vector<Expr> out = {slot};
  for (size_t d = 0; d < old.size(); ++d)
    out.push_back(windows_[d] ? old[d] % windows_[d] : old[d]);
  return out;
}

void Slots::change(std::vector<ir::Region>& regions, const Expr& slot) const {
  for (ir::Region& r : regions) {
    if (r.buffer != old_) continue;
    std::vector<ir::Range> ranges = {{slot, 1}};
    for (size_t d = 0; d < r.ranges.size(); ++d) {
      const ir::Range& old = r.ranges[d];
      if (!windows_[d])
        ranges.push_back(old);
      else if (ir::is_const(old.extent, 1))
        ranges.push_back({old.min % windows_[d], 1});
      else
        ranges.push_back({0, windows_[d]});
    }
    r = {now_, std::move(ranges), r.rank};
  }
}

Stmt Slots::apply(const Stmt& s) const {
  Expr slot = (loop_.var - loop_.min) % count_;
  bool in_block = false;
  const auto target = [&](ir::Target& t) {
    if (t.buffer == old_) t = {now_, indices(slot, t.indices)};
  };
  return ir::rewrite(
      s,
      [&](const ir::Load& l, auto& self) -> Expr {
        const Expr inner = self.children(l);
        const auto* load = inner.as<ir::Load>();
        if (load->buffer != old_) return inner;
        return ir::make<ir::Load>(l.span, now_, indices(slot, load->indices), load->mask,
                                  load->rank);
      },
      [&](const ir::Store& store, auto& self) -> Stmt {
        const Stmt inner = self.children(store);
        if (store.buffer != old_) return inner;
        return ir::with(*inner.as<ir::Store>(), [&](ir::Store& n) {
          n.buffer = now_;
          n.indices = indices(slot, n.indices);
        });
      },
      [&](const ir::Update& update, auto& self) -> Stmt {
        const Stmt inner = self.children(update);
        return ir::with(*inner.as<ir::Update>(), [&](ir::Update& n) {
          for (ir::Target& t : n.targets) target(t);
        });
      },
      [&](const ir::Atomic& atomic, auto& self) -> Stmt {
        const Stmt inner = self.children(atomic);
        if (atomic.buffer != old_) return inner;
        return ir::with(*inner.as<ir::Atomic>(), [&](ir::Atomic& n) {
          n.buffer = now_;
          n.indices = indices(slot, n.indices);
        });
      },
      [&](const ir::Prefetch& prefetch, auto& self) -> Stmt {
        const Stmt inner = self.children(prefetch);
        if (prefetch.buffer != old_) return inner;
        return ir::with(*inner.as<ir::Prefetch>(), [&](ir::Prefetch& n) {
          n.buffer = now_;
          n.indices = indices(slot, n.indices);
        });
      },
      [&](const ir::InstrCall& call, auto&) -> Stmt {
        return ir::with(call, [&](ir::InstrCall& n) {
          for (ir::Region& r : n.operands) {
            if (r.buffer != old_) continue;
            std::vector<ir::Range> ranges = {{slot, 1}};
            for (size_t d = 0; d < r.ranges.size(); ++d)
              ranges.push_back({windows_[d] ? r.ranges[d].min % windows_[d] : r.ranges[d].min,
                                r.ranges[d].extent});
            r = {now_, std::move(ranges), r.rank};
          }
        });
      },
      [&](const ir::Block& block, auto& self) -> Stmt {
        const auto lists = [&](const std::vector<ir::Region>& regions) {
          return std::any_of(regions.begin(), regions.end(),
                             [&](const ir::Region& r) { return r.buffer == old_; });
        };
        if (!lists(block.reads) && !lists(block.writes)) return Stmt::of(block);
        const Expr outside = slot;
        const bool outermost = !in_block;
        Stmt now = Stmt::of(block);
        if (outermost) {
          const auto [turned, turn] = in_turn(block, loop_);
          now = turned;
          slot = turn % count_;
          in_block = true;
        }
        now = self.children(*now);
        now = ir::with(*now.as<ir::Block>(), [&](ir::Block& n) {
          change(n.reads, slot);
          change(n.writes, slot);
        });
        slot = outside;
        if (outermost) in_block = false;
        return now;
      });
}

}  // namespace tilewright::schedule
