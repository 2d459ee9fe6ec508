// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "ir/node.h"
#include "ir/type.h"
#include "support/str.h"

namespace tilewright::ir {

inline std::ostream& operator<<(std::ostream& out, Type type) { return out << print(type); }

/// A CheckError of these parts unless `ok`. They are written out only then: nodes are checked by
/// the million.
template <class... Parts>
void check_that(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    throw CheckError(str(parts...));
}

}  // namespace tilewright::ir
