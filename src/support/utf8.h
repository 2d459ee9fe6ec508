// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

/// Appends a character; false when there is none of this number.
bool append_utf8(std::string& to, uint32_t character);
/// The characters of a text; nothing when it is not UTF-8.
std::optional<std::u32string> from_utf8(std::string_view text);

}  // namespace tilewright
