// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/rewrite.h"
#include "ir/verify.h"
#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir {

void verify(const ReducerNode& r) {
  const auto check = [&](const std::vector<Expr>& tuple, std::string_view what,
                         std::initializer_list<const std::vector<Var>*> may) {
    for (const Expr& e : tuple) {
      walk(
          e,
          [&](const VarNode& v) {
            const bool known = std::any_of(may.begin(), may.end(), [&](const auto* vars) {
              return std::count(vars->begin(), vars->end(), Var::of(v)) > 0;
            });
            if (!known)
              detail::fail("ir.verify.reducer", v.span,
                           str("the ", what, " of reducer `", r.name, "` mentions `", v.name, "`"),
                           {}, "mention only the values that the reducer combines");
          },
          [&](const Load& l) {
            detail::fail(
                "ir.verify.reducer", l.span,
                str("the ", what, " of reducer `", r.name, "` reads buffer `", l.buffer->name, "`"),
                {}, "combine values only: load before the update");
          });
    }
  };
  const auto same = [&](const auto& tuple, std::string_view what) {
    bool ok = tuple.size() == r.lhs.size();
    for (size_t i = 0; ok && i < tuple.size(); ++i) ok = tuple[i].type() == r.lhs[i].type();
    if (!ok)
      detail::fail("ir.verify.reducer", r.lhs.empty() ? Span{} : r.lhs[0]->span,
                   str("the ", what, " of reducer `", r.name,
                       "` has other types than the values it combines"),
                   {},
                   "give both sides, the result and the identity the same types in the same order");
  };
  same(r.rhs, "right side");
  same(r.combine, "result");
  same(r.identity, "identity");
  if (!r.rescale.empty()) {
    same(r.partial, "rescaled value");
    same(r.rescale, "rescaled result");
  }
  check(r.combine, "result", {&r.lhs, &r.rhs});
  check(r.identity, "identity", {});
  check(r.rescale, "rescale law", {&r.partial, &r.from, &r.to});
}

}  // namespace tilewright::ir
