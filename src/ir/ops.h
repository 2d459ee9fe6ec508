// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright::ir {

/// Operators with two operands of one type. ir/README.md §3 states each meaning exactly.
enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,  // integers: floor division; floats: IEEE division
  Mod,  // integers only: floor modulo, sign of the divisor
  Min,
  Max,
  BitAnd,
  BitOr,
  BitXor,
  Shl,
  Shr,  // integers
  And,
  Or,  // bool; both sides are evaluated
  Eq,
  Ne,
  Lt,
  Le,  // give bool; `a > b` is `b < a`
};
constexpr int kBinaryOpCount = static_cast<int>(BinaryOp::Le) + 1;

enum class UnaryOp : uint8_t { Neg, Not, BitNot, Abs };
constexpr int kUnaryOpCount = static_cast<int>(UnaryOp::Abs) + 1;

/// Functions called by name.
enum class MathFn : uint8_t {
  Exp,
  Exp2,
  Expm1,
  Log,
  Log2,
  Log1p,
  Sqrt,
  Rsqrt,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Erf,
  Floor,
  Ceil,
  Round,
  Trunc,  // Round: half to even
  IsNan,
  IsInf,  // give bool
  Popcount,
  Clz,  // integers
  Pow,
  Atan2,
  Fmod,
  CopySign,  // Fmod: sign of the dividend, as in C
  Fma,       // a * b + c, rounded once
};
constexpr int kMathFnCount = static_cast<int>(MathFn::Fma) + 1;

struct BinaryInfo {
  std::string_view text;  // "+", "min": an operator sign, or a function name
  int precedence;         // 0: written as a call
  bool gives_bool;
  bool commutative;
};
struct UnaryInfo {
  std::string_view text;  // "-", "!", "~", "abs"
};
struct MathInfo {
  std::string_view name;
  int args;
  bool on_floats;       // else on integers
  bool transcendental;  // exact mode replaces it by a keyed hash
};

const BinaryInfo& info(BinaryOp op);
const UnaryInfo& info(UnaryOp op);
const MathInfo& info(MathFn fn);
std::optional<MathFn> math_from_name(std::string_view name);

inline bool is_compare(BinaryOp op) { return op >= BinaryOp::Eq; }

}  // namespace tilewright::ir
