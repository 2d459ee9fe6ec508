// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "target/llvm/math/functions.h"

namespace tilewright::target::llvm {

/// x = (quadrant + 4 i) π/2 + r + tail with |r| <= π/4.
struct Angle {
  Num r, tail;
  Int quadrant;  // i64 lanes; the low two bits count
};

/// Of f64 lanes, for all finite x. Lanes with |x| above some bound take a slow way round, in which
/// the product with 2/π is formed from as many bits of it as the exponent asks for.
Angle reduce_angle(Num x, Accuracy accuracy);

}  // namespace tilewright::target::llvm
