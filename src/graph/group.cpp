// SPDX-License-Identifier: Apache-2.0
#include "graph/group.h"

namespace tilewright::graph {

const OpDef& group_op() {
  static const OpDef def =
      define_op({.name = "group", .fusion = FusionKind::Opaque, .special = Special::Group});
  return def;
}

}  // namespace tilewright::graph
