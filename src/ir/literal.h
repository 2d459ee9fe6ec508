// SPDX-License-Identifier: Apache-2.0
// The text of float constants: what is printed reads back as the same value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/type.h"

namespace tilewright::ir {

/// The shortest text that reads back as `value` in the type: `0.1`, `-2.5e-08`, `inf`, `nan`.
std::string print_float(Elem elem, double value);
/// The value of a decimal number, rounded once to the type; nothing when that is not finite.
std::optional<double> parse_float(Elem elem, std::string_view digits);

}  // namespace tilewright::ir
