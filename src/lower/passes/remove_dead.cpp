// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/rewrite.h"
#include "lower/passes/passes.h"

namespace tilewright::lower {

using namespace ir;

namespace {

/// The buffers whose contents may matter to someone.
std::unordered_set<Buffer> read_buffers(const LoopFunc& func) {
  std::unordered_set<Buffer> read;
  for (const Param& p : func.params) read.insert(p.buffer);
  walk(
      func.body, [&](const Load& l) { read.insert(l.buffer); },
      [&](const Atomic& a) { read.insert(a.buffer); },
      [&](const InstrCall& c) {
        for (const Region& r : c.operands) read.insert(r.buffer);
      },
      [&](const Async& a) {  // the bytes it delivers are those that it writes
        walk(
            a.body, [&](const Store& s) { read.insert(s.buffer); },
            [&](const Update& u) {
              for (const Target& t : u.targets) read.insert(t.buffer);
            });
      });
  for (size_t known = 0; known != read.size();) {  // one target decides what another becomes
    known = read.size();
    walk(func.body, [&](const Update& u) {
      const auto is_read = [&](const Target& t) { return read.contains(t.buffer); };
      if (std::ranges::any_of(u.targets, is_read))
        for (const Target& t : u.targets) read.insert(t.buffer);
    });
  }
  return read;
}

/// The variables that something mentions, shapes of allocations included.
std::unordered_set<Var> used_vars(const Stmt& s) {
  std::unordered_set<Var> used;
  const auto see = [&](const Expr& e) {
    walk(e, [&](const VarNode& v) { used.insert(Var::of(v)); });
  };
  walk(
      s, [&](const VarNode& v) { used.insert(Var::of(v)); },
      [&](const Alloc& a) {
        for (const Expr& extent : a.buffer->shape) see(extent);
        if (!a.buffer->layout) return;
        for (const PhysDim& dim : a.buffer->layout->dims) see(dim.extent);
      });
  return used;
}

Stmt sweep(const Stmt& s, const std::unordered_set<Buffer>& read,
           const std::unordered_set<Var>& used) {
  const auto dead = [&](const Buffer& b) { return !read.contains(b); };
  return rewrite(
      s, [&](const Store& st, auto&) -> Stmt { return dead(st.buffer) ? nothing() : Stmt::of(st); },
      [&](const Update& u, auto&) -> Stmt {
        return dead(u.targets[0].buffer) ? nothing() : Stmt::of(u);
      },
      [&](const Prefetch& p, auto&) -> Stmt { return dead(p.buffer) ? nothing() : Stmt::of(p); },
      [&](const Alloc& a, auto& self) -> Stmt {
        const Stmt body = self(a.body);
        if (is_nothing(body) || dead(a.buffer)) return body;
        return body == a.body ? Stmt::of(a) : with(a, [&](Alloc& out) { out.body = body; });
      },
      [&](const Let& let, auto& self) -> Stmt {
        const Stmt body = self(let.body);
        if (is_nothing(body) || !used.contains(let.var)) return body;
        return body == let.body ? Stmt::of(let) : with(let, [&](Let& out) { out.body = body; });
      },
      [](const For& loop, auto& self) -> Stmt {
        const Stmt body = self(loop.body);
        if (is_nothing(body)) return body;
        return body == loop.body ? Stmt::of(loop) : with(loop, [&](For& out) { out.body = body; });
      },
      [](const If& branch, auto& self) -> Stmt {
        const Stmt yes = self(branch.yes);
        Stmt no = self(branch.no);
        if (no && is_nothing(no)) no = {};
        if (is_nothing(yes) && !no) return nothing();
        if (yes == branch.yes && no == branch.no) return Stmt::of(branch);
        return with(branch, [&](If& out) {
          out.yes = yes;
          out.no = no;
        });
      });
}

}  // namespace

/// Removes what nobody uses: stores to allocated buffers that are never read, lets, allocations,
/// loops and branches without effect.
///   before   alloc t: f32[4]   let n = i*4   t[0] = 1.0   y[i] = 2.0
///   after    y[i] = 2.0
/// Needs:  no blocks.
/// Leaves: no let, allocation or statement that can be seen to be unused.
LoopFunc remove_dead(const LoopFunc& func, PassContext&) {
  require_no_blocks(func, "remove_dead");
  LoopFunc out = func;
  for (;;) {  // a store that goes may be the last reader of another buffer
    const Stmt swept = sweep(out.body, read_buffers(out), used_vars(out.body));
    if (swept == out.body) return out;
    out.body = swept;
  }
}

}  // namespace tilewright::lower
