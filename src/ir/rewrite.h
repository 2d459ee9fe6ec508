// SPDX-License-Identifier: Apache-2.0
// Walking and rewriting, derived from the nodes' lists of fields.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/func.h"
#include "ir/stmt.h"
#include "support/function_ref.h"

namespace tilewright::ir {

/// What is done to each direct child of a node.
struct ChildMap {
  FunctionRef<Expr(const Expr&)> expr;
  FunctionRef<Stmt(const Stmt&)> stmt;
  FunctionRef<Buffer(const Buffer&)> buffer;  // every mention, definitions included
};

/// The node with its direct children replaced; the same handle when none changed.
Expr map_children(const Expr& e, const ChildMap& map);
Stmt map_children(const Stmt& s, const ChildMap& map);

/// Calls the functions with each direct child.
void for_each_child(const Expr& e, FunctionRef<void(const Expr&)> expr);
void for_each_child(const Stmt& s, FunctionRef<void(const Expr&)> expr,
                    FunctionRef<void(const Stmt&)> stmt);

/// Applies the lambdas to every node of their type, outside in:
///   rewrite(body, [](const For& loop, auto& self) -> Stmt { … self.children(loop) … });
/// A lambda takes (const T&, auto& self) with T an expression or statement node, or (const
/// Buffer&), and states its return type. `self(x)` rewrites a part, `self.children(node)` the parts
/// of a node.
template <class... Fs>
class Rewriter : Fs... {
 public:
  explicit Rewriter(Fs... fs) : Fs(std::move(fs))... {}

  Expr operator()(const Expr& e) {
    if (!e) return e;
    return visit(e, [&]<class T>(const T& node) -> Expr {
      if constexpr (handles<T>())
        return call(node);
      else
        return map_children(e, child_map());
    });
  }
  Stmt operator()(const Stmt& s) {
    if (!s) return s;
    return visit(s, [&]<class T>(const T& node) -> Stmt {
      if constexpr (handles<T>())
        return call(node);
      else
        return map_children(s, child_map());
    });
  }
  Buffer operator()(const Buffer& b) {
    if constexpr ((std::is_invocable_v<Fs&, const Buffer&> || ...))
      return b ? pick_buffer(b) : b;
    else
      return b;
  }

  Expr children(const ExprNode& node) { return map_children(Expr::of(node), child_map()); }
  Stmt children(const StmtNode& node) { return map_children(Stmt::of(node), child_map()); }

 private:
  template <class F, class T>
  static constexpr bool takes() {
    return std::is_invocable_v<F&, const T&, Rewriter&>;
  }
  template <class T>
  static constexpr bool handles() {
    return (takes<Fs, T>() || ...);
  }
  template <class T>
  auto call(const T& node) {
    return call_first<T, Fs...>(node);
  }
  template <class T, class F, class... Rest>
  auto call_first(const T& node) {
    if constexpr (takes<F, T>())
      return static_cast<F&>(*this)(node, *this);
    else
      return call_first<T, Rest...>(node);
  }
  Buffer pick_buffer(const Buffer& b) { return pick_buffer_first<Fs...>(b); }
  template <class F, class... Rest>
  Buffer pick_buffer_first(const Buffer& b) {
    if constexpr (std::is_invocable_v<F&, const Buffer&>)
      return static_cast<F&>(*this)(b);
    else
      return pick_buffer_first<Rest...>(b);
  }

  // The adapters refer to this object, which outlives the call of map_children.
  struct OnExpr {
    Rewriter* self;
    Expr operator()(const Expr& e) const { return (*self)(e); }
  } on_expr_{this};
  struct OnStmt {
    Rewriter* self;
    Stmt operator()(const Stmt& s) const { return (*self)(s); }
  } on_stmt_{this};
  struct OnBuffer {
    Rewriter* self;
    Buffer operator()(const Buffer& b) const { return (*self)(b); }
  } on_buffer_{this};
  ChildMap child_map() { return {on_expr_, on_stmt_, on_buffer_}; }

  Rewriter(const Rewriter&) = delete;
};

template <class Ir, class... Fs>
Ir rewrite(const Ir& ir, Fs... fs) {
  Rewriter<Fs...> rewriter(std::move(fs)...);
  return rewriter(ir);
}

namespace detail {
template <class... Fs>
struct Walker : Fs... {
  explicit Walker(Fs... f) : Fs(std::move(f))... {}
  using Fs::operator()...;

  void expr(const Expr& e) {
    if (!e) return;
    visit(e, [&](const auto& node) {
      if (enter(node)) for_each_child(e, [&](const Expr& c) { expr(c); });
    });
  }
  void stmt(const Stmt& s) {
    if (!s) return;
    visit(s, [&](const auto& node) {
      if (enter(node))
        for_each_child(s, [&](const Expr& c) { expr(c); }, [&](const Stmt& c) { stmt(c); });
    });
  }
  template <class T>
  bool enter(const T& node) {
    if constexpr (std::is_invocable_v<Walker&, const T&>) {
      if constexpr (std::is_void_v<std::invoke_result_t<Walker&, const T&>>)
        (*this)(node);
      else
        return (*this)(node);
    }
    return true;
  }
};
}  // namespace detail

/// Calls the lambdas with every node of their type, outside in. A lambda that returns bool decides
/// whether the walk goes on into the node's children.
///   walk(body, [&](const Load& l) { loads.push_back(&l); });
template <class Ir, class... Fs>
void walk(const Ir& ir, Fs... fs) {
  detail::Walker<Fs...> walker(std::move(fs)...);
  if constexpr (std::is_base_of_v<Expr, Ir>)
    walker.expr(ir);
  else
    walker.stmt(ir);
}

using VarMap = std::unordered_map<Var, Expr>;
/// A statement's allocations whose shapes mention a mapped variable become buffers of their own.
Expr substitute(const Expr& e, const VarMap& map);
Stmt substitute(const Stmt& s, const VarMap& map);
inline Expr substitute(const Expr& e, const Var& var, const Expr& value) {
  return substitute(e, VarMap{{var, value}});
}
inline Stmt substitute(const Stmt& s, const Var& var, const Expr& value) {
  return substitute(s, VarMap{{var, value}});
}
Region substitute(const Region& region, const VarMap& map);
/// The buffer with its extents rewritten; itself when none changes.
Buffer substitute(const Buffer& buffer, const VarMap& map);

using BufferMap = std::unordered_map<Buffer, Buffer>;
/// Mentions another buffer in place of each mapped one: loads, stores, regions, allocations.
Stmt substitute_buffers(const Stmt& s, const BufferMap& map);

/// Does it mention `var`? The shapes of allocations count.
bool uses(const Expr& e, const Var& var);
bool uses(const Stmt& s, const Var& var);
/// Every variable mentioned (bound ones included).
std::unordered_set<Var> vars_of(const Expr& e);
/// Does `e` read memory?
bool has_load(const Expr& e);

}  // namespace tilewright::ir
