// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace tilewright::cli {

/// A bar on standard error for work that takes longer than a moment; it is gone when the work is
/// done. May be called from any thread. Empty where standard error is no terminal.
std::function<void(size_t done, size_t all)> progress_bar(const std::string& what);

}  // namespace tilewright::cli
