// SPDX-License-Identifier: Apache-2.0
// The C functions that generated code calls: everything of ir/README.md §3 that C has no operator
// for. A file holds only those it uses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::target::c_source {

/// One function or macro, `tw_…`, and its text. A text may use the names of earlier rows.
struct Helper {
  std::string name;
  std::string text;
};

/// The helpers that `code` names and those that they use, in an order in which C accepts them.
/// `function` is what stands before each function: `static inline`.
std::string helpers_for(std::string_view code, std::string_view function);

// The rows by topic; helpers.cpp puts them together.
std::vector<Helper> integer_helpers();      // wrap, floor division, shifts, packed elements
std::vector<Helper> float_helpers();        // bits, min and max, rounding, casts
std::vector<Helper> small_float_helpers();  // f16, bf16 and the fp8 types
std::vector<Helper> exact_helpers();        // two-word sums and products, fma, sqrt, fmod
std::vector<Helper> exp_log_helpers();      // exp, log, pow and what follows from them
std::vector<Helper> trig_helpers();         // sin, atan and what follows from them

/// `text` with every `{key}` replaced.
struct Replacement {
  std::string_view key, value;
};
std::string replaced(std::string_view text, const std::vector<Replacement>& replacements);

}  // namespace tilewright::target::c_source
