// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "graph/op_def.h"

namespace tilewright::ops {

/// Import rules of operators as opsets before 7 had them.
std::vector<graph::OnnxRule> old_rules();

}  // namespace tilewright::ops
