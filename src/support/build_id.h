// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tilewright {

/// What the linker stamped on the program or library that holds the address: a hash of its content,
/// in hexadecimal. Empty where it has no stamp.
std::string build_id(const void* address);

}  // namespace tilewright
