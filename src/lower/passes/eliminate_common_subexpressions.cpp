// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "lower/passes/passes.h"
#include "lower/unique.h"

namespace tilewright::lower {

using namespace ir;

namespace {

struct SameExpr {
  size_t operator()(const Expr& e) const { return hash(e); }
  bool operator()(const Expr& a, const Expr& b) const { return equal(a, b); }
};

/// Which expressions are shared: all that read no memory, wherever they stand; or those that do,
/// for which one statement is the limit.
enum class Which { Pure, Loads };

/// Worth a name: an operation on something that is not constant. Ramps and broadcasts stay in
/// place, since back ends read the shape of an access from them.
bool is_candidate(const Expr& e, Which which) {
  if (e.as<Load>()) return which == Which::Loads;
  if (e.as<Ramp>() || e.as<Broadcast>() || e.as<Guard>() || e.as<VarNode>() || e.as<IntImm>())
    return false;
  bool loads = false, varies = false;
  walk(e, [&](const Load&) { loads = true; }, [&](const VarNode&) { varies = true; });
  return loads ? which == Which::Loads : which == Which::Pure && varies;
}

/// The expressions below a statement that are used more than once, and where to name them.
class Shared {
 public:
  Shared(const Stmt& root, Which which) : which_(which) {
    if (which == Which::Loads)
      for_each_child(root, [&](const Expr& e) { use(e); }, [](const Stmt&) {});
    else
      count(root);
    for (const Expr& e : std::views::reverse(order_))
      if (uses_.at(e).count > 1) widen_parts(e, uses_.at(e).scope);
    for (const Expr& e : order_) {
      const Use& u = uses_.at(e);
      if (u.count < 2) continue;
      names_.emplace(e, Var(e.as<Load>() ? e.as<Load>()->buffer->name : "t", e.type(), e->span));
      lets_[u.scope.empty() ? root.get() : u.scope.back()].push_back(e);
    }
  }

  Stmt apply(const Stmt& s) {
    if (names_.empty()) return s;
    Stmt out = rebuilt(s);
    const auto lets = lets_.find(s.get());
    if (lets == lets_.end()) return out;
    for (const Expr& e : std::views::reverse(lets->second))
      out = make_stmt<Let>(s->span, names_.at(e), parts_replaced(e), out);
    return out;
  }

 private:
  struct Use {
    int count = 0;
    std::vector<const StmtNode*> scope;  // statements around all uses, outside in
  };

  void count(const Stmt& s) {
    scope_.push_back(s.get());
    for_each_child(s, [&](const Expr& e) { use(e); }, [&](const Stmt& c) { count(c); });
    scope_.pop_back();
  }

  /// What stands below a shared expression counts once.
  void use(const Expr& e) {
    const bool candidate = is_candidate(e, which_);
    if (candidate) {
      const auto [found, first] = uses_.try_emplace(e, Use{1, scope_});
      if (!first) {
        ++found->second.count;
        narrow(found->second.scope, scope_);
        return;
      }
    }
    // A load under a guard may happen only where the guard allows it.
    if (const Guard* g = e.as<Guard>(); g && which_ == Which::Loads)
      use(g->cond);
    else
      for_each_child(e, [&](const Expr& c) { use(c); });
    if (candidate) order_.push_back(e);
  }

  /// A named expression's parts are used where it is named.
  void widen_parts(const Expr& e, const std::vector<const StmtNode*>& scope) {
    for_each_child(e, [&](const Expr& c) {
      if (const auto found = uses_.find(c); found != uses_.end())
        narrow(found->second.scope, scope);
      widen_parts(c, scope);
    });
  }

  static void narrow(std::vector<const StmtNode*>& scope,
                     const std::vector<const StmtNode*>& other) {
    scope.erase(std::ranges::mismatch(scope, other).in1, scope.end());
  }

  Stmt rebuilt(const Stmt& s) {
    if (const Let* let = s.as<Let>()) {
      const Expr value = replace(let->value);
      if (value.as<VarNode>()) {  // another name for what has one
        aliases_[let->var] = value;
        return apply(let->body);
      }
    }
    if (const Alloc* a = s.as<Alloc>())
      if (const Buffer b = substitute(a->buffer, aliases_); b != a->buffer) resized_[a->buffer] = b;
    return map_children(
        s, {[&](const Expr& e) { return replace(e); }, [&](const Stmt& c) { return apply(c); },
            [&](const Buffer& b) { return now(b); }});
  }

  Buffer now(const Buffer& b) const {
    const auto found = resized_.find(b);
    return found == resized_.end() ? b : found->second;
  }

  Expr replace(const Expr& e) const {
    if (const VarNode* v = e.as<VarNode>()) {
      const auto alias = aliases_.find(Var::of(*v));
      return alias == aliases_.end() ? e : alias->second;
    }
    if (is_candidate(e, which_))
      if (const auto name = names_.find(e); name != names_.end()) return name->second;
    return parts_replaced(e);
  }
  Expr parts_replaced(const Expr& e) const {
    if (e.as<Guard>() && which_ == Which::Loads) return e;
    return map_children(e,
                        {[&](const Expr& c) { return replace(c); }, [](const Stmt& s) { return s; },
                         [&](const Buffer& b) { return now(b); }});
  }

  Which which_;
  std::vector<const StmtNode*> scope_;
  std::unordered_map<Expr, Use, SameExpr, SameExpr> uses_;
  std::vector<Expr> order_;  // parts first
  std::unordered_map<Expr, Var, SameExpr, SameExpr> names_;
  std::unordered_map<const StmtNode*, std::vector<Expr>> lets_;
  VarMap aliases_;
  BufferMap resized_;  // shapes that mention an alias
};

}  // namespace

/// Computes once what is written several times: inside one statement also what it loads, between
/// statements what reads no memory.
///   before   y[i*n + 1] = x[i*n] * x[i*n]
///   after    let t = i*n
///            let x_1 = x[t]
///            y[t + 1] = x_1 * x_1
/// Needs:  no blocks.
/// Leaves: the same statements; new lets around them.
LoopFunc eliminate_common_subexpressions(const LoopFunc& func, PassContext&) {
  require_no_blocks(func, "eliminate_common_subexpressions");
  const auto within = [](const auto& leaf, auto&) -> Stmt {
    const Stmt s = Stmt::of(leaf);
    return Shared(s, Which::Loads).apply(s);
  };
  const Stmt body = rewrite(
      with_unique_vars(func.body), [&](const Store& s, auto& self) { return within(s, self); },
      [&](const Update& s, auto& self) { return within(s, self); });
  return func.with_body(Shared(body, Which::Pure).apply(body));
}

}  // namespace tilewright::lower
