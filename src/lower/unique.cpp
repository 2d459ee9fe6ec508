// SPDX-License-Identifier: Apache-2.0
#include "lower/unique.h"

#include "ir/rewrite.h"

namespace tilewright::lower {

using namespace ir;

Stmt with_unique_vars(const Stmt& s) {
  std::unordered_set<Var> seen;
  const auto fresh = [](const Var& v) { return Var(v.name(), v.type(), v->span); };
  return rewrite(
      s,
      [&](const For& loop, auto& self) -> Stmt {
        if (seen.insert(loop.var).second) return self.children(loop);
        const Var var = fresh(loop.var);
        return self(with(loop, [&](For& out) {
          out.var = var;
          out.body = substitute(loop.body, loop.var, var);
        }));
      },
      [&](const Let& let, auto& self) -> Stmt {
        if (seen.insert(let.var).second) return self.children(let);
        const Var var = fresh(let.var);
        return self(with(let, [&](Let& out) {
          out.var = var;
          out.body = substitute(let.body, let.var, var);
        }));
      });
}

}  // namespace tilewright::lower
