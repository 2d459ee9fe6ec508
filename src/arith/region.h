// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "arith/context.h"
#include "ir/stmt.h"

namespace tilewright::arith {

/// The smallest known box that holds `region` for all values of `vars` (bound in `context`): the
/// result does not mention them. Falls back to the whole dimension where nothing better is known.
ir::Region widen(const ir::Region& region, const std::vector<ir::Var>& vars,
                 const Context& context);
/// A box that holds both. They are of one buffer and rank.
ir::Region unite(const ir::Region& a, const ir::Region& b, const Context& context);
/// Proves that no element is in both; false means "not proved". Both are read with the same values
/// of the variables: who compares two iterations gives one of them variables of its own.
bool disjoint(const ir::Region& a, const ir::Region& b, const Context& context);
/// Proves that every element of `inner` is in `outer`.
bool covers(const ir::Region& outer, const ir::Region& inner, const Context& context);

/// How block bindings depend on the loops around. Every binding is a sum Σ stride·digit + constant,
/// where a digit is a loop, or a quotient or remainder of one (`f / 14`, `f / 14 % 4`); strides may
/// be symbolic. When each stride exceeds what the smaller ones reach, and the digits tell every
/// loop's value, no two iterations have the same bindings.
struct IterMap {
  bool injective = false;
  std::string reason;  // names the binding and loop when not injective
};
IterMap iter_map(const std::vector<ir::Expr>& bindings, const std::vector<ir::Var>& loops,
                 const Context& context);

}  // namespace tilewright::arith
