// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/sharing.h"
#include "lower/access.h"
#include "lower/facts.h"
#include "lower/passes/passes.h"
#include "lower/unique.h"
#include "support/str.h"

namespace tilewright::lower {

using namespace ir;

namespace {

/// An access of each thread of a block; lets are put in.
struct ThreadAccess {
  int id = 0;
  Access access;              // `around`: the scopes that are the same for all threads
  std::vector<Around> inner;  // those inside the statement
  std::vector<Var> passed;    // loops around it that have moved on since
};
/// The accesses since the last barrier.
using State = std::vector<ThreadAccess>;

/// The threads' common program, as far as a barrier may stand in it.
struct Node {
  enum class Kind { Unit, Scope, Loop, Branch, Seq, Barrier };
  Kind kind = Kind::Unit;
  Stmt stmt;
  std::vector<ThreadAccess> accesses;  // of a unit, or of a scope's value
  std::vector<Node> children;
  bool barrier_before = false;
};

bool is_thread_loop(const For& f) {
  return f.loop == ForKind::Bound && f.axis >= ThreadAxis::ThreadX;
}

void add(State& state, const ThreadAccess& a) {
  const auto same = [&](const ThreadAccess& known) {
    return known.id == a.id && known.passed == a.passed;
  };
  if (std::ranges::none_of(state, same)) state.push_back(a);
}

/// `a` when the loop over `var` has gone on: it happened in some iteration, or in an earlier one
/// than the one that runs now.
ThreadAccess moved_on(const ThreadAccess& a, const Var& var, bool still_running) {
  ThreadAccess out = a;
  std::vector<Around>& around = out.access.around;
  const auto own = std::ranges::find(around, var, &Around::var);
  if (own == around.end()) {
    if (!still_running)
      std::erase_if(around, [&](const Around& s) { return !s.var && uses(s.value, var); });
    return out;
  }
  const Var then(var.name());
  own->var = then;
  const auto rename = [&](Expr& e) {
    if (e) e = substitute(e, var, then);
  };
  for (std::vector<Around>* scopes : {&around, &out.inner})
    for (Around& s : *scopes)
      for (Expr* e : {&s.min, &s.extent, &s.value}) rename(*e);
  for (Range& r : out.access.box) {
    rename(r.min);
    rename(r.extent);
  }
  out.passed.push_back(var);
  if (still_running) around.push_back({{}, {}, {}, then < var});
  return out;
}

/// What the threads of a block run, from their outermost loop on.
class Threads {
 public:
  Threads(const Stmt& root, const arith::Context& outside) : outside_(outside) {
    for (const Access& a : accesses_of(root))
      if (a.writes) written_.insert(a.buffer);
    own_ = allocated_in(root);
    std::erase_if(own_, [&](const Buffer& b) { return !is_own(*b, *root.as<For>()); });
    root_ = build(root);
  }

  Stmt with_barriers() {
    inserting_ = true;
    State start;
    flow(root_, start);
    inserting_ = false;
    prune(root_);
    return emit(root_);
  }

 private:
  // The tree.

  Node build(const Stmt& s) {
    Node node{.stmt = s};
    if (const Seq* all = s.as<Seq>()) {
      node.kind = Node::Kind::Seq;
      for (const Stmt& c : all->stmts) node.children.push_back(build(c));
    } else if (const Barrier* b = s.as<Barrier>()) {
      if (b->reach >= BarrierReach::Block) node.kind = Node::Kind::Barrier;
    } else if (const Alloc* a = s.as<Alloc>()) {
      node.kind = Node::Kind::Scope;
      node.children.push_back(build(a->body));
    } else if (const Let* let = s.as<Let>()) {
      node.kind = Node::Kind::Scope;
      node.accesses = visible(make_stmt<Let>(let->span, let->var, let->value, nothing()));
      if (!uniform(let->value)) varying_.insert(let->var);
      const Expr value = substitute(let->value, lets_);
      lets_[let->var] = has_load(value) ? Expr(let->var) : value;
      node.children.push_back(build(let->body));
    } else if (const For* f = s.as<For>(); f && is_thread_loop(*f)) {
      node.kind = Node::Kind::Scope;
      threads_.push_back({f->var, f->min, f->extent, {}});
      varying_.insert(f->var);
      node.children.push_back(build(f->body));
    } else if (f && uniform(f->min) && uniform(f->extent)) {
      node.kind = Node::Kind::Loop;
      node.children.push_back(within({f->var, f->min, f->extent, {}}, f->body));
    } else if (const If* i = s.as<If>(); i && uniform(i->cond)) {
      node.kind = Node::Kind::Branch;
      node.children.push_back(within({{}, {}, {}, i->cond}, i->yes));
      if (i->no) node.children.push_back(within({{}, {}, {}, logical_not(i->cond)}, i->no));
    } else {
      node.accesses = visible(s);
      check_alone(node);
    }
    return node;
  }

  Node within(const Around& scope, const Stmt& body) {
    path_.push_back(
        {scope.var, put_lets(scope.min), put_lets(scope.extent), put_lets(scope.value)});
    Node node = build(body);
    path_.pop_back();
    return node;
  }

  /// Is it the same for all threads?
  bool uniform(const Expr& e) const {
    bool same = true;
    walk(
        put_lets(e), [&](const VarNode& v) { same = same && !varying_.contains(Var::of(v)); },
        [&](const Load& l) { same = same && !written_.contains(l.buffer); });
    return same;
  }

  Expr put_lets(const Expr& e) const { return e ? substitute(e, lets_) : e; }

  /// The accesses of `s` that matter to other threads.
  std::vector<ThreadAccess> visible(const Stmt& s) {
    std::vector<ThreadAccess> out;
    for (Access& a : accesses_of(s)) {
      const ScopeKind scope = a.buffer->scope.kind;
      if (own_.contains(a.buffer) || scope == ScopeKind::Register || scope == ScopeKind::Tile ||
          !written_.contains(a.buffer))
        continue;
      for (Range& r : a.box) r = {put_lets(r.min), put_lets(r.extent)};
      for (Around& around : a.around)
        for (Expr* e : {&around.min, &around.extent, &around.value}) *e = put_lets(*e);
      std::vector<Around> inner = std::exchange(a.around, path_);
      out.push_back({next_id_++, std::move(a), std::move(inner), {}});
    }
    return out;
  }

  /// No barrier can stand inside: its own accesses must not meet between threads.
  void check_alone(const Node& node) const {
    for (const ThreadAccess& a : node.accesses) {
      for (const ThreadAccess& b : node.accesses) {
        if (!meet(a, b)) continue;
        throw Error(
            {.code = "lower.barriers.inside",
             .at = a.access.stmt->span,
             .message = str("threads meet in `", a.access.buffer->name,
                            "` where no barrier can stand between them"),
             .notes = {"inside this statement one thread writes what another reads or writes"},
             .help = "split the statement through a register buffer, or make the condition "
                     "or loop around it the same for all threads"});
      }
    }
  }

  // Which accesses meet.

  /// May `a` in one thread and `b`, later, in another touch one element?
  bool meet(const ThreadAccess& a, const ThreadAccess& b) const {
    if (a.access.buffer != b.access.buffer || !(a.access.writes || b.access.writes)) return false;
    if (a.access.atomic && b.access.atomic) return false;
    for (size_t d = 0; d < threads_.size(); ++d)
      if (!apart(a, b, d, true) || !apart(a, b, d, false)) return true;
    return false;
  }

  /// Proves them disjoint for threads that differ in dimension d, a's number being lower or higher.
  bool apart(const ThreadAccess& a, const ThreadAccess& b, size_t d, bool a_lower) const {
    arith::Context c(outside_);
    VarMap of_a, of_b;
    for (size_t i = 0; i < threads_.size(); ++i) {
      const Around& t = threads_[i];
      const Var one(t.var.name()), other(t.var.name());
      c.bind(one, t.min, t.extent);
      of_a[t.var] = one;
      of_b[t.var] = other;
      if (i != d) {
        c.bind(other, t.min, t.extent);
        continue;
      }
      c.bind(other, Expr(1), t.extent - 1);  // the distance between them
      c.assume(one + other < t.min + t.extent);
      of_b[t.var] = one + other;
      if (!a_lower) std::swap(of_a[t.var], of_b[t.var]);
    }
    enter(b.access.around, c);
    for (const Around& scope : a.access.around) {
      const bool common =
          scope.var && std::ranges::count(b.access.around, scope.var, &Around::var) > 0;
      if (common) continue;
      if (!scope.var && c.can_prove(logical_not(scope.value))) return true;  // never both
      enter({scope}, c);
    }
    Renamer first(std::move(of_a), written_), second(std::move(of_b), written_);
    first.enter(a.inner, c);
    second.enter(b.inner, c);
    return boxes_disjoint(first(a.access.box), second(b.access.box), a.access.buffer->shape, c);
  }

  bool meet_any(const State& state, const std::vector<ThreadAccess>& now) const {
    return std::ranges::any_of(state, [&](const ThreadAccess& a) {
      return std::ranges::any_of(now, [&](const ThreadAccess& b) { return meet(a, b); });
    });
  }

  // Where barriers must stand.

  /// Moves `state` over the node; puts in the barriers that are needed, or finds that one is
  /// missing.
  void flow(Node& node, State& state) {
    if (node.barrier_before || node.kind == Node::Kind::Barrier) state.clear();
    if (meet_any(state, node.accesses)) {
      missing_ = true;
      if (inserting_) {
        node.barrier_before = true;
        state.clear();
      }
    }
    for (const ThreadAccess& a : node.accesses) add(state, a);
    if (node.kind == Node::Kind::Loop) {
      flow_loop(node, state);
    } else if (node.kind == Node::Kind::Branch) {
      State out = node.children.size() == 2 ? State{} : state;
      for (Node& child : node.children) {
        State branch = state;
        flow(child, branch);
        for (const ThreadAccess& a : branch) add(out, a);
      }
      state = std::move(out);
    } else {
      for (Node& child : node.children) flow(child, state);
    }
  }

  void flow_loop(Node& node, State& state) {
    const Var& var = node.stmt.as<For>()->var;
    Node& body = node.children[0];
    if (inserting_ && reach(state, body) == Reach::Meets) {
      node.barrier_before = true;  // one before the loop, not one in each iteration
      state.clear();
    }
    State end = state;
    flow(body, end);
    State again = state;
    for (const ThreadAccess& a : end) add(again, moved_on(a, var, true));
    flow(body, again);
    for (const ThreadAccess& a : again) add(state, moved_on(a, var, false));
  }

  enum class Reach { Through, Meets, Stopped };
  /// Does `state` meet something in the node before a barrier stops it?
  Reach reach(const State& state, const Node& node) const {
    if (node.barrier_before || node.kind == Node::Kind::Barrier) return Reach::Stopped;
    if (meet_any(state, node.accesses)) return Reach::Meets;
    size_t stopped = 0;
    for (const Node& child : node.children) {
      const Reach r = reach(state, child);
      if (r == Reach::Meets) return r;
      stopped += r == Reach::Stopped;
      if (r == Reach::Stopped && node.kind == Node::Kind::Seq) return r;
    }
    // A loop may run no iteration, a branch may not be taken.
    const bool always = node.kind == Node::Kind::Scope ||
                        (node.kind == Node::Kind::Branch && node.children.size() == 2);
    return always && stopped > 0 && stopped == node.children.size() ? Reach::Stopped
                                                                    : Reach::Through;
  }

  /// Takes out each barrier that the others make superfluous.
  void prune(Node& node) {
    if (node.barrier_before) {
      node.barrier_before = missing_ = false;
      State start;
      flow(root_, start);
      node.barrier_before = missing_;
    }
    for (Node& child : node.children) prune(child);
  }

  Stmt emit(const Node& node) const {
    size_t next = 0;
    Stmt out =
        node.children.empty()
            ? node.stmt
            : map_children(node.stmt, {[](const Expr& e) { return e; },
                                       [&](const Stmt&) { return emit(node.children[next++]); },
                                       [](const Buffer& b) { return b; }});
    if (!node.barrier_before) return out;
    return seq({make_stmt<Barrier>(node.stmt->span, BarrierReach::Block), out}, node.stmt->span);
  }

  const arith::Context& outside_;
  Node root_;
  std::unordered_set<Buffer> written_, own_;  // own: allocated inside and private to a thread
  std::vector<Around> threads_, path_;
  std::unordered_set<Var> varying_;
  VarMap lets_;
  int next_id_ = 0;
  bool inserting_ = false;
  bool missing_ = false;
};

bool has_channels(const Stmt& s) {
  bool found = false;
  walk(
      s, [&](const ChannelOp&) { found = true; }, [&](const Async&) { found = true; },
      [&](const Agents&) { found = true; });
  return found;
}

}  // namespace

/// Puts a barrier between accesses of different threads of a block that may touch one element, so
/// that the statements take effect for all threads in the order of the text.
///   before   bind(thread.x) for t in 0..32 { s[t] = a[t]   b[t] = s[31 - t] }
///   after    bind(thread.x) for t in 0..32 { s[t] = a[t]   barrier block   b[t] = s[31 - t] }
/// Follows loops round their back edges and both sides of branches; without any one of the barriers
/// some pair would meet. Blocks that communicate through channels are left as they are.
/// Needs:  no blocks; thread loops directly inside each other.
/// Leaves: the same statements; new barriers where control flow is the same for all threads.
LoopFunc insert_barriers(const LoopFunc& func, PassContext&) {
  require_no_blocks(func, "insert_barriers");
  Facts facts(func);
  return func.with_body(rewrite(
      with_unique_vars(func.body),
      [&](const For& loop, auto& self) -> Stmt {
        if (is_thread_loop(loop) && !has_channels(loop.body))
          return Threads(Stmt::of(loop), facts.here()).with_barriers();
        return facts.inside(loop, [&] { return self.children(loop); });
      },
      [&](const Let& let, auto& self) -> Stmt {
        return facts.inside(let, [&] { return self.children(let); });
      }));
}

}  // namespace tilewright::lower
