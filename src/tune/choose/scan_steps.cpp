// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/scan_steps.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "tune/choose/choose.h"
#include "tune/choose/prepack.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;

/// Is the loop that of a scan: blocks in loops, each with this loop as its only ordered iterator?
bool is_scan(const ir::For& loop) {
  if (loop.loop != ir::ForKind::Serial || !ir::is_const(loop.min, 0)) return false;
  bool all = true, any = false;
  ir::walk(loop.body, [&](const ir::Block& b) {
    int ordered = 0;
    for (const ir::BlockIter& it : b.iters) {
      if (it.kind != ir::IterKind::Ordered) continue;
      ++ordered;
      all = all && it.binding == loop.var;
    }
    all = all && ordered == 1 && !b.opaque && !b.predicate;
    any = true;
    return false;
  });
  return all && any;
}

/// The blocks without their iterator of time, whose place the symbol takes.
Stmt at_step(const Stmt& body, const ir::Var& step) {
  return ir::rewrite(body, [&](const ir::Block& b, auto&) -> Stmt {
    ir::VarMap now;
    for (const ir::BlockIter& it : b.iters)
      if (it.kind == ir::IterKind::Ordered) now[it.var] = step;
    return ir::with(b, [&](ir::Block& n) {
      std::erase_if(n.iters,
                    [](const ir::BlockIter& it) { return it.kind == ir::IterKind::Ordered; });
      n.body = ir::substitute(b.body, now);
      if (b.init) n.init = ir::substitute(b.init, now);
      for (auto* regions : {&n.reads, &n.writes})
        for (ir::Region& r : *regions) r = ir::substitute(r, now);
    });
  });
}

/// Drops the first dimension of these buffers.
Stmt without_time(const Stmt& s, const ir::BufferMap& smaller) {
  const auto rest = [](const auto& all) { return std::vector(all.begin() + 1, all.end()); };
  return ir::rewrite(
      s,
      [&](const ir::Load& l, auto& self) -> Expr {
        const auto found = smaller.find(l.buffer);
        if (found == smaller.end()) return self.children(l);
        std::vector<Expr> indices;
        for (const Expr& e : rest(l.indices)) indices.push_back(self(e));
        return ir::make<ir::Load>(l.span, found->second, indices);
      },
      [&](const ir::Store& st, auto& self) -> Stmt {
        const auto found = smaller.find(st.buffer);
        if (found == smaller.end()) return self.children(st);
        return ir::make_stmt<ir::Store>(st.span, found->second, rest(st.indices), self(st.value));
      },
      [&](const ir::Update& u, auto& self) -> Stmt {
        ir::Update out = u;
        for (ir::Target& t : out.targets)
          if (const auto found = smaller.find(t.buffer); found != smaller.end())
            t = {found->second, rest(t.indices)};
        for (Expr& v : out.values) v = self(v);
        return ir::make_stmt<ir::Update>(u.span, u.reducer, out.targets, out.values);
      },
      [&](const ir::Block& b, auto& self) -> Stmt {
        const Stmt now = self.children(b);
        return ir::with(*now.as<ir::Block>(), [&](ir::Block& n) {
          for (auto* regions : {&n.reads, &n.writes})
            for (ir::Region& r : *regions)
              if (const auto found = smaller.find(r.buffer); found != smaller.end())
                r = {found->second, rest(r.ranges), r.rank};
        });
      });
}

class Steps {
 public:
  Steps(const ir::LoopFunc& func, const ir::TargetSpec& spec,
        const std::vector<std::string>& constants)
      : func_(func), spec_(spec), constants_(constants) {}

  ir::LoopFunc run() {
    ir::LoopFunc out = func_;
    out.body = ir::rewrite(func_.body, [&](const ir::For& loop, auto& self) -> Stmt {
      return is_scan(loop) ? scheduled(loop) : self.children(loop);
    });
    if (!changed_) return func_;
    // What is gone from outside of the loops, and what they need from there now.
    out.body = ir::rewrite(out.body, [&](const ir::Alloc& a, auto& self) -> Stmt {
      return moved_.contains(a.buffer) ? self(a.body) : self.children(a);
    });
    prepare_.push_back(out.body);
    out.body = ir::seq(std::move(prepare_));
    for (const Buffer& b : packed_) out.body = ir::make_stmt<ir::Alloc>(func_.span, b, out.body);
    out.body = with_own_names(out.body);
    out.stage = ir::Stage::Scheduled;
    return out;
  }

 private:
  /// Buffers that only this loop touches, and only at its own step.
  ir::BufferMap own_buffers(const ir::For& loop, const Stmt& step, const ir::Var& t) const {
    ir::BufferMap out;
    std::unordered_map<Buffer, size_t> inside, everywhere;
    std::unordered_set<Buffer> carried;
    const auto count = [](const Stmt& s, std::unordered_map<Buffer, size_t>& uses) {
      ir::walk(s, [&](const ir::Block& b) {
        for (const Use& u : uses_of(b)) ++uses[u.buffer];
        return false;
      });
    };
    count(step, inside);
    count(func_.body, everywhere);
    ir::walk(step, [&](const ir::Block& b) {
      for (const Use& u : uses_of(b))
        if (u.indices.empty() || u.indices[0] != t) carried.insert(u.buffer);
      return false;
    });
    ir::walk(func_.body, [&](const ir::Alloc& a) {
      if (inside[a.buffer] == 0 || inside[a.buffer] != everywhere[a.buffer] ||
          carried.contains(a.buffer) || a.buffer->shape.empty() ||
          !ir::equal(a.buffer->shape[0], loop.extent))
        return;
      const Buffer& b = a.buffer;
      out[b] = ir::make_buffer(b->name, b->elem, {b->shape.begin() + 1, b->shape.end()}, b->scope,
                               b->layout, b->alignment, b->span);
    });
    return out;
  }

  ir::LoopFunc step_function(const Stmt& body, const ir::For& loop, const ir::Var& t,
                             const ir::BufferMap& own) const {
    std::unordered_set<Buffer> local, read, written;
    for (const auto& [whole, one] : own) local.insert(one);
    ir::walk(body, [&](const ir::Block& b) {
      for (const ir::Region& r : b.reads) read.insert(r.buffer);
      for (const ir::Region& r : b.writes) written.insert(r.buffer);
      return false;
    });
    ir::LoopFunc f{.name = func_.name, .symbols = func_.symbols, .params = {}, .body = body};
    const auto last = ir::const_int(loop.extent);
    f.symbols.push_back(
        {.var = t, .min = 0, .max = last ? std::max<int64_t>(*last - 1, 0) : int64_t{1} << 40});
    const auto add = [&](const Buffer& b) {
      if (local.contains(b) || (!read.contains(b) && !written.contains(b))) return;
      f.params.push_back({b, written.contains(b) ? ir::Access::InOut : ir::Access::In});
    };
    for (const ir::Param& p : func_.params) add(p.buffer);
    ir::walk(func_.body, [&](const ir::Alloc& a) { add(a.buffer); });
    ir::walk(func_.body, [&](const ir::Alloc& a) {
      if (const auto found = own.find(a.buffer); found != own.end())
        f.body = ir::make_stmt<ir::Alloc>(loop.span, found->second, f.body);
    });
    return f;
  }

  Stmt scheduled(const ir::For& loop) {
    const ir::Var t(loop.var.name());
    Stmt body = at_step(loop.body, t);
    const ir::BufferMap own = own_buffers(loop, body, t);
    body = without_time(body, own);
    schedule::Schedule s(step_function(body, loop, t, own), spec_.instructions);
    schedule_stages(s, spec_, constants_);
    const Prepacked parts = prepack(s.func(), constants_);
    if (!parts.packed.empty()) prepare_.push_back(parts.prepare.body);
    packed_.insert(packed_.end(), parts.packed.begin(), parts.packed.end());
    for (const auto& [whole, one] : own) moved_.insert(whole);
    changed_ = true;
    return ir::with(loop,
                    [&](ir::For& n) { n.body = ir::substitute(parts.run.body, t, loop.var); });
  }

  /// Two steps may have made blocks of one name.
  Stmt with_own_names(const Stmt& body) const {
    std::map<std::string, int> seen;
    return ir::rewrite(body, [&](const ir::Block& b, auto& self) -> Stmt {
      const Stmt now = self.children(b);
      const int before = seen[b.name]++;
      if (before == 0) return now;
      return ir::with(*now.as<ir::Block>(),
                      [&](ir::Block& n) { n.name = str(b.name, "_again", before); });
    });
  }

  const ir::LoopFunc& func_;
  const ir::TargetSpec& spec_;
  const std::vector<std::string>& constants_;
  std::vector<Stmt> prepare_;
  std::vector<Buffer> packed_;
  std::unordered_set<Buffer> moved_;
  bool changed_ = false;
};

}  // namespace

ir::LoopFunc with_scheduled_steps(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                                  const std::vector<std::string>& constants) {
  return Steps(func, spec, constants).run();
}

}  // namespace tilewright::tune
