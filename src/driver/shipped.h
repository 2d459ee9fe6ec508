// SPDX-License-Identifier: Apache-2.0
// Records that the compiler carries inside of itself (driver/shipped_records.jsonl), for machines
// that its authors have tuned on.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "ir/target_spec.h"
#include "tune/records/records.h"

namespace tilewright::driver {

/// As `records export --chosen` writes them.
std::string_view shipped_lines();

/// Such lines as records in memory. None when there are none for these machines: a record is for a
/// processor with the same instructions, caches and number of cores alone.
std::shared_ptr<tune::Records> records_for(std::span<const ir::TargetSpec> targets,
                                           std::string_view lines = shipped_lines());

}  // namespace tilewright::driver
