// SPDX-License-Identifier: Apache-2.0
#include "lower/idle_iterations.h"

#include <algorithm>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "lower/access.h"
#include "lower/facts.h"

namespace tilewright::lower {

using namespace ir;

namespace {

/// Does every statement stand under a condition that is false?
bool does_nothing(const Stmt& s, const arith::Context& outside) {
  if (const For* f = s.as<For>()) {
    Facts facts(outside);
    return facts.inside(*f, [&] { return does_nothing(f->body, facts.here()); });
  }
  if (const If* branch = s.as<If>())
    return !branch->no && outside.can_prove(logical_not(branch->cond));
  if (const Seq* seq = s.as<Seq>())
    return std::ranges::all_of(seq->stmts, [&](const Stmt& c) { return does_nothing(c, outside); });
  return false;
}

/// How far an access goes in each dimension, free of what is bound around it; null: not known.
std::vector<arith::Context::Bounds> bounds_of(const Access& a, const arith::Context& here) {
  arith::Context context(here);
  enter(a.around, context);
  std::vector<Var> bound;
  for (const Around& scope : a.around)
    if (scope.var) bound.push_back(scope.var);
  std::vector<arith::Context::Bounds> out;
  for (const Range& r : a.box)
    out.push_back(r.min ? arith::Context::Bounds{context.eliminate(r.min, bound).lo,
                                                 context.eliminate(r.min + r.extent - 1, bound).hi}
                        : arith::Context::Bounds{});
  return out;
}

/// What is read of the buffers that a statement allocates, but by updates of the same element.
class Reads {
 public:
  Reads(const Stmt& body, const arith::Context& here) : here_(here) {
    for (const Buffer& b : allocated_in(body)) reads_[b];
    for (const Access& a : accesses_of(body))
      if (const auto own = reads_.find(a.buffer); own != reads_.end() && a.reads && !a.writes)
        own->second.push_back(bounds_of(a, here));
  }

  /// Does the statement only write elements that nothing reads?
  bool never_see(const Stmt& s) const {
    const std::vector<Access> all = accesses_of(s);
    return !all.empty() && std::ranges::all_of(all, [&](const Access& a) {
      return !a.writes || (reads_.contains(a.buffer) && is_unread(a));
    });
  }

 private:
  bool is_unread(const Access& write) const {
    const auto w = bounds_of(write, here_);
    return std::ranges::all_of(reads_.at(write.buffer), [&](const auto& r) {
      for (size_t d = 0; d < w.size(); ++d)
        if (r[d].hi && w[d].lo && here_.can_prove(r[d].hi < w[d].lo)) return true;
      return false;
    });
  }

  const arith::Context& here_;
  std::unordered_map<Buffer, std::vector<std::vector<arith::Context::Bounds>>> reads_;
};

/// The loops for which `idle` says so of what lies behind their first `rest` iterations, cut there.
template <class F>
Stmt cut_off(const Stmt& body, int64_t rest, F&& idle) {
  return rewrite(body, [&](const For& loop, auto& self) -> Stmt {
    const auto extent = const_int(loop.extent);
    if (loop.loop == ForKind::Unrolled && extent && *extent > rest && is_const(loop.min, 0)) {
      const Stmt behind = with(loop, [&](For& f) {
        f.min = Expr(rest);
        f.extent = Expr(*extent - rest);
      });
      if (idle(behind)) return with(loop, [&](For& f) { f.extent = Expr(rest); });
    }
    return self.children(loop);
  });
}

/// Does the statement hold anything but stores and updates?
bool only_assigns(const Stmt& s) {
  bool plain = true;
  const auto look = [&](const Stmt& at, auto& self) -> void {
    plain = plain && (at.as<For>() || at.as<Seq>() || at.as<If>() || at.as<Let>() ||
                      at.as<Store>() || at.as<Update>());
    for_each_child(at, [](const Expr&) {}, [&](const Stmt& c) { self(c, self); });
  };
  look(s, look);
  return plain;
}

}  // namespace

Stmt without_idle_iterations(const Stmt& body, int64_t rest, const arith::Context& here) {
  const Stmt fewer =
      cut_off(body, rest, [&](const Stmt& behind) { return does_nothing(behind, here); });
  const Reads reads(fewer, here);
  return cut_off(fewer, rest, [&](const Stmt& behind) {
    return only_assigns(behind) && reads.never_see(behind);
  });
}

}  // namespace tilewright::lower
