// SPDX-License-Identifier: Apache-2.0
#include "module/module.h"

namespace tilewright {

uint32_t Names::add(std::string_view text) {
  const auto [place, fresh] =
      offsets_.try_emplace(std::string(text), static_cast<uint32_t>(bytes_.size()));
  if (fresh) {
    bytes_ += text;
    bytes_ += '\0';
  }
  return place->second;
}

}  // namespace tilewright
