// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/target_spec.h"

namespace tilewright::target {

/// The target of a name: `host`, `x86-64-v3`, `x86-64-v4`, `amx`, `aarch64`, `riscv64`. Throws
/// Error for another one.
ir::TargetSpec parse_target(std::string_view name);

/// The names that parse_target knows.
std::vector<std::string> target_names();

/// This machine, as the program finds it: abilities, caches, usable CPUs.
const ir::TargetSpec& host_target();

/// Can this machine run code for `spec`?
bool runs_on_host(const ir::TargetSpec& spec);

}  // namespace tilewright::target
