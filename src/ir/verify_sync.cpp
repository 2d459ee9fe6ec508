// SPDX-License-Identifier: Apache-2.0
// Synchronisation may not depend on loaded data: then one execution decides races and deadlock for
// all interleavings (ir/README.md §5). Channel operations moreover happen once per agent, so that
// they may not depend on the thread either.
#include <unordered_map>

#include "ir/rewrite.h"
#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir::detail {
namespace {

/// What a value may depend on: one buffer it was loaded from, one thread variable.
struct Taint {
  const BufferNode* data = nullptr;
  const VarNode* thread = nullptr;

  Taint operator|(const Taint& other) const {
    return {data ? data : other.data, thread ? thread : other.thread};
  }
};

/// A scalar variable of one thread: what it holds follows from what is stored to it.
bool is_scalar_variable(const BufferNode& b) {
  return b.rank() == 0 && b.scope.kind == ScopeKind::Register;
}

class SyncCheck {
 public:
  /// Follows values through lets, loops and scalar variables until nothing changes, then checks.
  void run(const Stmt& body) {
    do {
      changed_ = false;
      stmt(body);
    } while (changed_);
    checking_ = true;
    stmt(body);
  }

 private:
  Taint of(const Expr& e) {
    Taint taint;
    if (!e) return taint;
    walk(
        e,
        [&](const VarNode& v) {
          const auto known = vars_.find(&v);
          if (known != vars_.end()) taint = taint | known->second;
        },
        [&](const Load& load) {
          const BufferNode* b = load.buffer.get();
          taint = taint | (is_scalar_variable(*b) ? scalars_[b] : Taint{.data = b});
        });
    return taint;
  }

  void set(const Var& var, const Taint& taint) { vars_[var.as<VarNode>()] = taint; }

  void store(const BufferNode& b, const Taint& taint) {
    if (!is_scalar_variable(b)) return;
    Taint& held = scalars_[&b];
    const Taint joined = held | taint | control_;
    changed_ = changed_ || joined.data != held.data || joined.thread != held.thread;
    held = joined;
  }

  void under(const Taint& condition, const Stmt& around, const Stmt& body) {
    if (!body) return;
    const Taint outer = control_;
    const Stmt outer_around = around_;
    control_ = control_ | condition;
    if (condition.data || condition.thread) around_ = around;
    stmt(body);
    control_ = outer;
    around_ = outer_around;
  }

  void stmt(const Stmt& s) {
    visit(s, [&](const auto& node) { enter(node, s); });
  }

  template <class T>
  void enter(const T&, const Stmt& s) {
    for_each_use(s, [&](const Use& use) {
      if (use.writes) store(*use.buffer, {.data = use.buffer});
    });
    for_each_child(s, [](const Expr&) {}, [&](const Stmt& child) { stmt(child); });
  }
  void enter(const Store& node, const Stmt&) {
    store(*node.buffer, of(node.value) | of(node.mask));
  }
  void enter(const Update& node, const Stmt&) {
    Taint values;
    for (const Expr& v : node.values) values = values | of(v);
    for (const Target& t : node.targets) store(*t.buffer, values);
  }
  void enter(const Let& node, const Stmt&) {
    set(node.var, of(node.value));
    stmt(node.body);
  }
  void enter(const For& node, const Stmt& s) {
    const Taint range = of(node.min) | of(node.extent);
    if (node.loop == ForKind::Bound) {
      if (checking_ && range.data)
        fail("ir.verify.bind_extent", node.span,
             str("the range of ", describe(s), " depends on data loaded from ",
                 quoted(range.data->name)),
             {"a kernel is launched before it can load"},
             "bind a loop whose extent follows from constants and symbols");
      set(node.var,
          {.data = nullptr, .thread = is_thread(node.axis) ? node.var.as<VarNode>() : nullptr});
    } else {
      set(node.var, range);
    }
    under(range, s, node.body);
  }
  void enter(const While& node, const Stmt& s) { under(of(node.cond), s, node.body); }
  void enter(const If& node, const Stmt& s) {
    under(of(node.cond), s, node.yes);
    under(of(node.cond), s, node.no);
  }
  void enter(const Block& node, const Stmt& s) {
    Taint domain;
    for (const BlockIter& it : node.iters) set(it.var, of(it.binding));
    if (node.predicate) domain = of(node.predicate);
    under(domain, s, node.init);
    under(domain, s, node.body);
  }
  void enter(const Agents& node, const Stmt&) {
    for (const Agent& a : node.agents) {
      set(a.thread, {.data = nullptr, .thread = a.thread.as<VarNode>()});
      stmt(a.body);
    }
  }
  void enter(const ChannelOp& node, const Stmt& s) {
    check(s, of(node.item) | of(node.bytes) | of(node.rank), true);
  }
  void enter(const Async& node, const Stmt& s) {
    // A body that names the thread is issued by each thread on its own.
    check(s, of(node.item) | of(node.bytes) | of(node.rank), !names_thread(node.body));
    stmt(node.body);
  }
  void enter(const Barrier&, const Stmt& s) { check(s, {}, false); }

  /// Does the body depend on the thread, by a variable or by memory of its own?
  bool names_thread(const Stmt& body) {
    bool found = false;
    walk(body, [&](const VarNode& v) {
      const auto known = vars_.find(&v);
      found = found || (known != vars_.end() && known->second.thread);
    });
    walk_paths(body, [&](const Stmt& s, const Path&) {
      for_each_use(s, [&](const Use& use) {
        const ScopeKind scope = use.buffer->scope.kind;
        const bool owned = scope == ScopeKind::Register || scope == ScopeKind::Tile;
        found = found || (owned && !has_lanes(*use.buffer));
      });
    });
    return found;
  }

  void check(const Stmt& s, const Taint& operands, bool uniform_control) {
    if (!checking_) return;
    const auto where = [&](const Taint& operand) {
      return operand.data || operand.thread
                 ? std::vector<std::string>{}
                 : std::vector<std::string>{str("it stands inside ", describe(around_))};
    };
    if (const BufferNode* data = (operands | control_).data)
      fail(
          "ir.verify.sync_data", s->span,
          str(describe(s), " depends on data loaded from ", quoted(data->name)),
          where({.data = operands.data}),
          "synchronise in control flow, and with item numbers, that follow from constants, symbols "
          "and loop variables only");
    const VarNode* thread = operands.thread   ? operands.thread
                            : uniform_control ? control_.thread
                                              : nullptr;
    if (thread)
      fail("ir.verify.sync_divergent", s->span,
           str(describe(s), " depends on the thread variable ", quoted(thread->name)),
           where({.thread = operands.thread}),
           "let all threads of the agent execute it with the same item: it happens once per agent");
  }

  std::unordered_map<const VarNode*, Taint> vars_;
  std::unordered_map<const BufferNode*, Taint> scalars_;
  Taint control_;
  Stmt around_;  // the innermost statement whose condition is tainted
  bool changed_ = false;
  bool checking_ = false;
};

}  // namespace

void verify_sync(const LoopFunc& func) { SyncCheck().run(func.body); }

}  // namespace tilewright::ir::detail
