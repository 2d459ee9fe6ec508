// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_set>

#include "ir/rewrite.h"

namespace tilewright::target::llvm {

/// Calls on_stmt with every statement of a body, outside in; it says whether to go on into the
/// statement.
template <class OnStmt>
void visit_statements(const ir::Stmt& body, OnStmt&& on_stmt) {
  if (!body || !on_stmt(body)) return;
  ir::for_each_child(
      body, [](const ir::Expr&) {},
      [&](const ir::Stmt& child) { visit_statements(child, on_stmt); });
}

/// Calls on_stmt with every statement and on_expr with every expression of a body, outside in. A
/// shared expression is seen once: as a tree it may be exponentially large. on_stmt says whether to
/// go on into the statement.
template <class OnStmt, class OnExpr>
void visit_once(const ir::Stmt& body, OnStmt&& on_stmt, OnExpr&& on_expr) {
  std::unordered_set<const ir::ExprNode*> seen;
  const auto expr = [&](const auto& self, const ir::Expr& e) -> void {
    if (!e || !seen.insert(e.get()).second) return;
    on_expr(e);
    ir::for_each_child(e, [&](const ir::Expr& child) { self(self, child); });
  };
  const auto stmt = [&](const auto& self, const ir::Stmt& s) -> void {
    if (!s || !on_stmt(s)) return;
    ir::for_each_child(
        s, [&](const ir::Expr& e) { expr(expr, e); },
        [&](const ir::Stmt& child) { self(self, child); });
  };
  stmt(stmt, body);
}

}  // namespace tilewright::target::llvm
