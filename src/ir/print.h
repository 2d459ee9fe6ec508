// SPDX-License-Identifier: Apache-2.0
// The loop IR as text, by the grammar of ir/README.md §7. What is printed reads back to an equal
// program. Two things of one name print as `x` and `x_1`.
#pragma once

#include <string>

#include "ir/func.h"

namespace tilewright::ir {

std::string print(const Expr& e);
/// One statement a line, each with its newline.
std::string print(const Stmt& s);
std::string print(const Region& region);
/// `layout (i, j) -> […] extents […]`
std::string print(const Layout& layout);
/// The function alone; `print(Unit)` prints what it uses too.
std::string print(const LoopFunc& f);
std::string print(const Reducer& reducer);
std::string print(const Instruction& instr);
/// All items, and before them the reducers and instructions that they use and that are not listed.
std::string print(const Unit& unit);

}  // namespace tilewright::ir
