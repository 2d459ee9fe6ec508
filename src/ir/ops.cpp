// SPDX-License-Identifier: Apache-2.0
#include "ir/ops.h"

namespace tilewright::ir {
namespace {

constexpr BinaryInfo kBinary[kBinaryOpCount] = {
    {"+", 8, false, true},   {"-", 8, false, false},  {"*", 9, false, true},
    {"/", 9, false, false},  {"%", 9, false, false},  {"min", 0, false, true},
    {"max", 0, false, true}, {"&", 6, false, true},   {"|", 4, false, true},
    {"^", 5, false, true},   {"<<", 7, false, false}, {">>", 7, false, false},
    {"&&", 2, true, true},   {"||", 1, true, true},   {"==", 3, true, true},
    {"!=", 3, true, true},   {"<", 3, true, false},   {"<=", 3, true, false},
};

constexpr UnaryInfo kUnary[kUnaryOpCount] = {{"-"}, {"!"}, {"~"}, {"abs"}};

constexpr MathInfo kMath[kMathFnCount] = {
    {"exp", 1, true, true},        {"exp2", 1, true, true},   {"expm1", 1, true, true},
    {"log", 1, true, true},        {"log2", 1, true, true},   {"log1p", 1, true, true},
    {"sqrt", 1, true, true},       {"rsqrt", 1, true, true},  {"sin", 1, true, true},
    {"cos", 1, true, true},        {"tan", 1, true, true},    {"asin", 1, true, true},
    {"acos", 1, true, true},       {"atan", 1, true, true},   {"sinh", 1, true, true},
    {"cosh", 1, true, true},       {"tanh", 1, true, true},   {"asinh", 1, true, true},
    {"acosh", 1, true, true},      {"atanh", 1, true, true},  {"erf", 1, true, true},
    {"floor", 1, true, true},      {"ceil", 1, true, true},   {"round", 1, true, true},
    {"trunc", 1, true, true},      {"isnan", 1, true, false}, {"isinf", 1, true, false},
    {"popcount", 1, false, false}, {"clz", 1, false, false},  {"pow", 2, true, true},
    {"atan2", 2, true, true},      {"fmod", 2, true, true},   {"copysign", 2, true, true},
    {"fma", 3, true, false},
};

}  // namespace

const BinaryInfo& info(BinaryOp op) { return kBinary[static_cast<int>(op)]; }
const UnaryInfo& info(UnaryOp op) { return kUnary[static_cast<int>(op)]; }
const MathInfo& info(MathFn fn) { return kMath[static_cast<int>(fn)]; }

std::optional<MathFn> math_from_name(std::string_view name) {
  for (int i = 0; i < kMathFnCount; ++i)
    if (kMath[i].name == name) return static_cast<MathFn>(i);
  return std::nullopt;
}

}  // namespace tilewright::ir
