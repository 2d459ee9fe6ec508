// SPDX-License-Identifier: Apache-2.0
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
  return read;
}

/// One target of an update may be dead while another is not.
bool updates(const Stmt& s, const Buffer& b) {
  bool found = false;
  walk(s, [&](const Update& u) {
    for (const Target& t : u.targets) found = found || t.buffer == b;
  });
  return found;
}

Stmt sweep(const Stmt& s, const std::unordered_set<Buffer>& read) {
  const auto dead = [&](const Buffer& b) { return !read.contains(b); };
  return rewrite(
      s, [&](const Store& st, auto&) -> Stmt { return dead(st.buffer) ? nothing() : Stmt::of(st); },
      [&](const Update& u, auto&) -> Stmt {
        for (const Target& t : u.targets)
          if (!dead(t.buffer)) return Stmt::of(u);
        return nothing();
      },
      [&](const Prefetch& p, auto&) -> Stmt { return dead(p.buffer) ? nothing() : Stmt::of(p); },
      [&](const Alloc& a, auto& self) -> Stmt {
        const Stmt body = self(a.body);
        if (is_nothing(body) || (dead(a.buffer) && !updates(body, a.buffer))) return body;
        return body == a.body ? Stmt::of(a) : with(a, [&](Alloc& out) { out.body = body; });
      },
      [](const Let& let, auto& self) -> Stmt {
        const Stmt body = self(let.body);
        if (is_nothing(body) || !uses(body, let.var)) return body;
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

/// Removes what nobody uses: stores to allocated buffers that are never read, lets, allocations, loops
/// and branches without effect.
///   before   alloc t: f32[4]   let n = i*4   t[0] = 1.0   y[i] = 2.0
///   after    y[i] = 2.0
/// Needs:  no blocks.
/// Leaves: no let, allocation or statement that can be seen to be unused.
LoopFunc remove_dead(const LoopFunc& func, PassContext&) {
  require_no_blocks(func, "remove_dead");
  LoopFunc out = func;
  for (;;) {  // a store that goes may be the last reader of another buffer
    const Stmt swept = sweep(out.body, read_buffers(out));
    if (swept == out.body) return out;
    out.body = swept;
  }
}

}  // namespace tilewright::lower
