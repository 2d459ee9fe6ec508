// SPDX-License-Identifier: Apache-2.0
// Module → `.twm`. The format is described in format.h.
#pragma once

#include <string>

#include "module/module.h"

namespace tilewright {

/// Writes the file as OutputFile does. Returns "" or what went wrong, in words for the user.
/// Constants are written from where they lie.
std::string write_module(const Module& module, const std::string& path);

}  // namespace tilewright
