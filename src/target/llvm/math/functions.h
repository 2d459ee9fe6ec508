// SPDX-License-Identifier: Apache-2.0
// The functions by name. All take f64; those marked take f32 as well, with shorter formulas of
// their own. The dispatch in math.cpp computes the others for f32 in f64 and rounds once.
#pragma once

#include "target/llvm/math/value.h"

namespace tilewright::target::llvm {

// exponential.cpp
Num exp_of(Num x);    // f32, f64
Num exp2_of(Num x);   // f32, f64
Num expm1_of(Num x);  // f32, f64
Num tanh_of(Num x);   // f32, f64
Num sinh_of(Num x);
Num cosh_of(Num x);
/// y * 2^n for integral n between -2200 and 2200, rounded once.
Num scale(Num y, Num n);
/// 2^(high + low), where |low| is below an ulp of high; pow's last step.
Num exp2_of_sum(Num high, Num low);

// logarithm.cpp
Num log_of(Num x);   // f32, f64
Num log2_of(Num x);  // f32, f64
Num log1p_of(Num x);
Num asinh_of(Num x);
Num acosh_of(Num x);
Num atanh_of(Num x);
/// x = 2^exponent * (1 + fraction) with 1 + fraction between sqrt(1/2) and sqrt(2), for positive
/// finite x.
struct Split {
  Num exponent, fraction;
};
Split split_exponent(Num x);

// trigonometric.cpp: f64, or f64 with the accuracy that f32 needs
enum class Accuracy : uint8_t { F32, F64 };
Num sin_of(Num x, Accuracy accuracy);
Num cos_of(Num x, Accuracy accuracy);
Num tan_of(Num x, Accuracy accuracy);

// inverse_trigonometric.cpp
Num asin_of(Num x);
Num acos_of(Num x);
Num atan_of(Num x);
Num atan2_of(Num y, Num x);

// erf.cpp
Num erf_of(Num x);  // f32, f64

// power.cpp
Num pow_of(Num x, Num y);
Num fmod_of(Num x, Num y);

}  // namespace tilewright::target::llvm
