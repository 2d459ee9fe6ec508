// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "lower/access.h"
#include "lower/lanes.h"
#include "lower/passes/passes.h"
#include "support/str.h"

namespace tilewright::lower {

using namespace ir;

namespace {

int64_t size_of(const Stmt& s) {
  int64_t n = s.as<Seq>() ? 0 : 1;
  for_each_child(s, [](const Expr&) {}, [&](const Stmt& c) { n += size_of(c); });
  return n;
}

/// One virtual-thread loop: all its iterations as one stream.
class Interleaver {
 public:
  Interleaver(const For& loop, int64_t threads) : own_(allocated_in(loop.body)) {
    for (int64_t t = 0; t < threads; ++t) names_.push_back({{loop.var, loop.min + t}});
    varying_.insert(loop.var);
    do {
      grew_ = false;
      find_varying(loop.body, false);
    } while (grew_);
  }

  Stmt run(const Stmt& s) {
    return visit(s, [&](const auto& node) { return stream(node); });
  }

 private:
  size_t threads() const { return names_.size(); }

  bool depends(const Expr& e) const {
    bool found = false;
    walk(
        e, [&](const VarNode& v) { found = found || varying_.contains(Var::of(v)); },
        [&](const Load& l) { found = found || copies_.contains(l.buffer); });
    return found;
  }
  bool depends(const std::vector<Expr>& exprs) const {
    return std::ranges::any_of(exprs, [&](const Expr& e) { return depends(e); });
  }

  /// Finds the lets and own buffers that differ between threads.
  void find_varying(const Stmt& s, bool under) {
    const auto touch = [&](const Buffer& b, bool differs) {
      if ((under || differs) && own_.contains(b) && !copies_.contains(b)) {
        copies_[b] = with_thread_dimension(b);
        grew_ = true;
      }
    };
    if (const Let* let = s.as<Let>()) {
      if (depends(let->value) && varying_.insert(let->var).second) grew_ = true;
    } else if (const If* branch = s.as<If>()) {
      under = under || depends(branch->cond);
    } else if (const While* loop = s.as<While>()) {
      under = under || depends(loop->cond);
    } else if (const For* loop = s.as<For>()) {
      under = under || depends(loop->min) || depends(loop->extent);
    }
    if (s.as<Seq>() == nullptr) touch_writes(s, touch);
    for_each_child(s, [](const Expr&) {}, [&](const Stmt& c) { find_varying(c, under); });
  }

  template <class Touch>
  void touch_writes(const Stmt& s, const Touch& touch) {
    if (const Store* st = s.as<Store>()) {
      touch(st->buffer, depends(st->indices) || depends(st->value) || depends_if(st->mask));
    } else if (const Update* u = s.as<Update>()) {
      bool differs = depends(u->values);
      for (const Target& t : u->targets) differs = differs || depends(t.indices);
      for (const Target& t : u->targets) touch(t.buffer, differs);
    } else if (const Atomic* a = s.as<Atomic>()) {
      touch(a->buffer, true);
      if (a->old) touch(a->old, true);
    } else if (const InstrCall* c = s.as<InstrCall>()) {
      bool differs = false;
      for (const Region& r : c->operands) {
        differs = differs || copies_.contains(r.buffer);
        for (const Range& range : r.ranges) differs = differs || depends(range.min);
      }
      for (size_t i = 0; i < c->operands.size(); ++i)
        if (c->instr->operands[i].access != ir::Access::In) touch(c->operands[i].buffer, differs);
    }
  }
  bool depends_if(const Expr& e) const { return e && depends(e); }

  Buffer with_thread_dimension(const Buffer& b) const {
    const Expr count = static_cast<int64_t>(threads());
    std::vector<Expr> shape = b->shape;
    shape.insert(shape.begin(), count);
    Layout layout = b->layout;
    if (layout) {
      auto wider = std::make_shared<LayoutNode>(*layout);
      const Var thread("vthread");
      wider->indices.insert(wider->indices.begin(), thread);
      wider->dims.insert(wider->dims.begin(), {PhysKind::Address, thread, count});
      layout = Layout(std::move(wider));
    }
    return make_buffer(b->name, b->elem, std::move(shape), b->scope, layout, b->alignment, b->span);
  }

  /// `s` as thread t runs it.
  Stmt of_thread(const Stmt& s, size_t t) const {
    Stmt out = substitute(s, names_[t]);
    for (const auto& [from, to] : copies_) {
      out = redirect(out, from, to, [&](const std::vector<Expr>& indices) {
        std::vector<Expr> all{static_cast<int64_t>(t)};
        all.insert(all.end(), indices.begin(), indices.end());
        return all;
      });
    }
    return out;
  }
  Stmt each_thread(const Stmt& s) const {
    std::vector<Stmt> out;
    for (size_t t = 0; t < threads(); ++t) out.push_back(of_thread(s, t));
    return seq(std::move(out), s->span);
  }

  /// A statement without parts. What is the same in every thread and stays with them runs once.
  Stmt stream(const StmtNode& node) { return each_thread(Stmt::of(node)); }
  Stmt stream(const Store& s) {
    return own_.contains(s.buffer) && !copies_.contains(s.buffer) ? Stmt::of(s)
                                                                  : each_thread(Stmt::of(s));
  }
  Stmt stream(const Barrier& b) { return Stmt::of(b); }

  Stmt stream(const Seq& s) {
    std::vector<Stmt> out;
    for (const Stmt& c : s.stmts) out.push_back(run(c));
    return seq(std::move(out), s.span);
  }
  Stmt stream(const For& loop) {
    if (depends(loop.min) || depends(loop.extent)) return each_thread(Stmt::of(loop));
    return with(loop, [&](For& out) { out.body = run(loop.body); });
  }
  Stmt stream(const While& loop) {
    if (depends(loop.cond)) return each_thread(Stmt::of(loop));
    return with(loop, [&](While& out) { out.body = run(loop.body); });
  }
  Stmt stream(const If& s) {
    if (depends(s.cond)) return each_thread(Stmt::of(s));
    return with(s, [&](If& out) {
      out.yes = run(s.yes);
      if (s.no) out.no = run(s.no);
    });
  }
  Stmt stream(const Alloc& a) {
    const auto copy = copies_.find(a.buffer);
    return make_stmt<Alloc>(a.span, copy == copies_.end() ? a.buffer : copy->second, run(a.body));
  }
  Stmt stream(const ChannelScope& c) {
    return with(c, [&](ChannelScope& out) { out.body = run(c.body); });
  }
  Stmt stream(const Let& let) {
    if (!varying_.contains(let.var)) return with(let, [&](Let& out) { out.body = run(let.body); });
    std::vector<std::pair<Var, Expr>> lets;
    for (size_t t = 0; t < threads(); ++t) {
      const Stmt probe = of_thread(make_stmt<Let>(let.span, let.var, let.value, nothing()), t);
      lets.emplace_back(Var(let.var.name(), let.var.type(), let.span), probe.as<Let>()->value);
    }
    for (size_t t = 0; t < threads(); ++t) names_[t][let.var] = lets[t].first;
    Stmt body = run(let.body);
    for (size_t t = threads(); t-- > 0;)
      body = make_stmt<Let>(let.span, lets[t].first, lets[t].second, body);
    return body;
  }

  std::unordered_set<Buffer> own_;
  BufferMap copies_;                 // own buffers that differ between threads
  std::unordered_set<Var> varying_;  // the loop's variable, and lets that differ
  std::vector<VarMap> names_;        // per thread: values of what varies
  bool grew_ = false;
};

}  // namespace

/// Writes out the iterations of each virtual-thread loop as one stream, interleaved statement by
/// statement; what an iteration keeps to itself gets a leading dimension of one place per
/// iteration.
///   before   vthread for v in 0..2 { alloc t: f32[4]   for k in 0..n { t[0] = a[v, k]  b[v, k] =
///   t[0] } } after    alloc t: f32[2, 4]   for k in 0..n { t[0, 0] = a[0, k]  t[1, 0] = a[1, k]
///                                                 b[0, k] = t[0, 0]  b[1, k] = t[1, 0] }
/// A loop or branch that depends on the thread is written once for each. A buffer whose contents
/// are the same in every thread stays one and is filled once. Needs:  no blocks; constant extents.
/// Leaves: no vthread loop in the function.
LoopFunc lower_vthread(const LoopFunc& func, PassContext& context) {
  require_no_blocks(func, "lower_vthread");
  return func.with_body(rewrite(func.body, [&](const For& loop, auto& self) -> Stmt {
    if (loop.loop != ForKind::VThread) return self.children(loop);
    const std::optional<int64_t> threads = const_int(loop.extent);
    if (!threads) {
      throw Error(
          {.code = "lower.vthread.extent",
           .at = loop.span,
           .message = str("cannot interleave the virtual threads of `", loop.var.name(), "`"),
           .notes = {str("their number ", print(loop.extent), " is not a constant")},
           .help = "split the loop by a constant and make the inner part the vthread"});
    }
    const Stmt body = self(loop.body);
    if (*threads <= 0) return nothing();
    if (*threads > context.limits.max_unrolled / std::max<int64_t>(1, size_of(body))) {
      throw Error({.code = "lower.vthread.size",
                   .at = loop.span,
                   .message = str("interleaving the virtual threads of `", loop.var.name(),
                                  "` would write out more than ", context.limits.max_unrolled,
                                  " statements"),
                   .notes = {str("there are ", *threads, " of them")},
                   .help = "split the loop and make a smaller inner part the vthread"});
    }
    const Stmt plain = with(loop, [&](For& out) { out.body = body; });
    return Interleaver(*plain.as<For>(), *threads).run(body);
  }));
}

}  // namespace tilewright::lower
