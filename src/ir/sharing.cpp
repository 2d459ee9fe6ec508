// SPDX-License-Identifier: Apache-2.0
#include "ir/sharing.h"

#include <algorithm>

namespace tilewright::ir {

bool is_own(const BufferNode& buffer, const For& loop) {
  if (loop.loop != ForKind::Bound) return true;
  const bool thread = loop.axis >= ThreadAxis::ThreadX;
  switch (buffer.scope.kind) {
    case ScopeKind::Global:
    case ScopeKind::Constant: return false;
    case ScopeKind::Cluster: return loop.axis <= ThreadAxis::BlockZ;
    case ScopeKind::Shared:
    case ScopeKind::Named:
    case ScopeKind::Warp: return !thread;
    case ScopeKind::Register:
    case ScopeKind::Tile: break;
  }
  const bool over_lanes =
      buffer.layout && std::ranges::any_of(buffer.layout->dims, [](const PhysDim& d) {
        return d.kind == PhysKind::Lane;
      });
  return !thread || !over_lanes;
}

}  // namespace tilewright::ir
