// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "target/llvm/lanes.h"

namespace tilewright::target::llvm {

/// f16, bf16 and fp8, which are carried as bits.
inline bool is_small_float(ir::Elem e) { return ir::is_float(e) && ir::bits(e) <= 16; }

/// The float (f32) with the value of a small float.
ll::Value* widen(Lanes& b, ir::Elem from, ll::Value* bits);
/// The bits of the nearest small float, ties to even.
ll::Value* narrow(Lanes& b, ir::Elem to, ll::Value* f32);
/// double → float so that a second rounding to a shorter type gives what one rounding would: to
/// odd.
ll::Value* round_to_odd_f32(Lanes& b, ll::Value* f64);

/// A value of any element type as another one, as ir/README.md §3.4 says.
ll::Value* convert(Lanes& b, ir::Elem from, ir::Elem to, ll::Value* v);

}  // namespace tilewright::target::llvm
