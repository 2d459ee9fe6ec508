// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/text_file.h"
#include "ir/target_spec.h"

namespace tilewright::driver {

/// The points of the path that can be printed.
enum class Stage : uint8_t { Te, Loops, Scheduled, Final, Code, C };
/// The stage of a name; an Error that lists them for another one.
Stage stage_from_name(std::string_view name);

struct CompileOptions {
  ir::TargetSpec target;
  Stage emit = Stage::Code;
  std::vector<std::string> skip;  // lowering passes left out
};

/// Every program and function of the file at the asked point of the path, as text.
std::string compile(const TextFile& file, const CompileOptions& options);

/// The functions of the file after the named lowering passes, as text.
std::string run_passes(const TextFile& file, const std::vector<std::string>& passes);
/// The names of all lowering passes, in the order in which they are listed.
std::vector<std::string> pass_names();
/// One line for each target: its name, and what this machine is.
std::string describe_targets();
/// The target of a name.
ir::TargetSpec target_from_name(std::string_view name);

}  // namespace tilewright::driver
