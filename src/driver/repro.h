// SPDX-License-Identifier: Apache-2.0
// One operator of a model alone, with the values that it saw: what to look at when it is wrong.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/model.h"
#include "frontend/npz.h"

namespace tilewright::driver {

struct Repro {
  graph::Graph graph;  // of one node; all shapes are constant
  std::vector<frontend::NamedTensor> inputs, want;
};

/// The node of the main function that makes the value; `values` are right ones by name. Nothing for
/// control flow, and where a value is not known.
std::optional<Repro> repro_of(const graph::Graph& model, const std::string& value,
                              const std::map<std::string, graph::Constant>& values);

/// What breaks the operator: its definition, lowering without a schedule, a step of its schedule,
/// or nothing as long as it is alone. A sentence.
std::string culprit_of(const Repro& repro, const ModelOptions& options, double tolerance);

/// NAME.tw and NAME.npz.
std::vector<std::filesystem::path> repro_files(const std::string& name);

/// Writes NAME.tw and NAME.npz, which `tilewright check NAME.tw --inputs NAME.npz` reads.
void write_repro(const Repro& repro, const std::string& name, const std::string& remark);

}  // namespace tilewright::driver
