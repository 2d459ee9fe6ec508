// SPDX-License-Identifier: Apache-2.0
// Structural comparison, derived from the nodes' lists of fields.
#pragma once

#include <cstddef>

#include "ir/func.h"

namespace tilewright::ir {

/// Do both compute the same in the same way? Bound variables, buffers and channels, reducers and
/// instructions are compared by what they are, never by name; free ones by identity. Places in the
/// text do not count. Float constants are equal when their bits are, or when both are NaN.
bool equal(const Expr& a, const Expr& b);
bool equal(const Stmt& a, const Stmt& b);
bool equal(const Region& a, const Region& b);
bool equal(const Reducer& a, const Reducer& b);
bool equal(const Instruction& a, const Instruction& b);
/// The names of functions, blocks and agents do count: people and schedules find them by name.
bool equal(const LoopFunc& a, const LoopFunc& b);
/// Functions, reducers and instructions in order.
bool equal(const Unit& a, const Unit& b);

/// Equal things have equal hashes.
size_t hash(const Expr& e);
size_t hash(const Stmt& s);

}  // namespace tilewright::ir
