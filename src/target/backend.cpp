// SPDX-License-Identifier: Apache-2.0
#include "target/backend.h"

namespace tilewright::target {

std::string_view name(Numerics numerics) {
  constexpr std::string_view kNames[] = {"ieee", "reassociated", "real-equal"};
  return kNames[static_cast<int>(numerics)];
}

}  // namespace tilewright::target
