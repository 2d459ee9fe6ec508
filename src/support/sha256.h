// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// SHA-256 (FIPS 180-4) as 32 bytes: a name for a text that no other text has.
std::string sha256(std::string_view bytes);
/// Bytes as two hexadecimal digits each.
std::string hex(std::string_view bytes);

}  // namespace tilewright
