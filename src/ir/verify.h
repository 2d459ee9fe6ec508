// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"

namespace tilewright::ir {

/// Throws Error (codes `ir.verify.*`) at the first rule of ir/README.md that can be seen broken in
/// the text: what may occur at the function's stage, scopes, who may write what, blocks, where
/// concurrency may stand, layout functions, sizes. What only a run can show (races, deadlock,
/// ranges) is the work of `check/` and `interpret/`.
void verify(const LoopFunc& func);
void verify(const InstructionNode& instr);
void verify(const ReducerNode& reducer);
/// A buffer's layout function alone: its form, and that it is injective and stays in its extents.
void verify(const BufferNode& buffer, const std::vector<Symbol>& symbols);
/// Everything a file holds, and that no two things of one kind have one name.
void verify(const Unit& unit);

}  // namespace tilewright::ir
