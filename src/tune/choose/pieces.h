// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"

namespace tilewright::tune {

/// The same function with stages that move elements cut where what they read changes, so that no
/// element asks where it comes from: each piece is a stage of its own over its part of the result.
///   Y[i in 10] = guard(i < 4, A[i], B[i - 4])  ->  Y[i] = A[i], i in 4;  Y[i + 4] = B[i], i in 6
/// A stage that a single other one reads goes there first. Only results of the whole function are
/// cut: who reads a value inside of it finds one stage that makes it.
ir::LoopFunc in_pieces(const ir::LoopFunc& blocks);

}  // namespace tilewright::tune
