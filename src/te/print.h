// SPDX-License-Identifier: Apache-2.0
// Tensor programs as text, by the grammar of te/README.md.
#pragma once

#include <string>

#include "te/program.h"

namespace tilewright::te {

/// The program, and before it the reducers that it uses. Reads back to a program that computes the
/// same by the same stages.
std::string print(const Program& program);

}  // namespace tilewright::te
