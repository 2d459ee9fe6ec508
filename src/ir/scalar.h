// SPDX-License-Identifier: Apache-2.0
// Arithmetic on single elements of every type, as ir/README.md §3 defines it. The interpreter, the
// simplifier's folding and the tests share it, so that there is one definition.
#pragma once

#include <cstdint>

#include "ir/ops.h"
#include "ir/type.h"

namespace tilewright::ir {

/// The value of `v`'s low bits read as `elem` (sign- or zero-extended); bool: v != 0.
int64_t wrap_int(Elem elem, int64_t v);
/// The nearest value of the float type, ties to even; out of range gives inf, NaN where there is no
/// inf, the greatest number where there is neither. ir/README.md §3 has the types without NaN or 0.
double round_to(Elem elem, double v);
double greatest_finite(Elem elem);
double least_value(Elem elem);  // -inf where the type has it
/// From and to the element's bits in memory.
uint64_t float_to_bits(Elem elem, double v);
double float_from_bits(Elem elem, uint64_t bits);

/// Integer and bool operators, wrapped to `elem`; comparisons give 0 or 1.
int64_t int_binary(BinaryOp op, Elem elem, int64_t a, int64_t b);
int64_t int_unary(UnaryOp op, Elem elem, int64_t a);
int64_t int_call(MathFn fn, Elem elem, int64_t a);

/// Float operators, rounded to `elem`.
double float_binary(BinaryOp op, Elem elem, double a, double b);
bool float_compare(BinaryOp op, double a, double b);
double float_unary(UnaryOp op, Elem elem, double a);
double float_call(MathFn fn, Elem elem, const double* args);

/// Saturates; NaN gives 0.
int64_t float_to_int(Elem to, double v);
/// Rounds to nearest even, once.
double int_to_float(Elem from, Elem to, int64_t v);

}  // namespace tilewright::ir
