// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace tilewright {

/// Bytes that somebody else keeps: a file, a part of one.
using Bytes = std::span<const std::byte>;

}  // namespace tilewright
