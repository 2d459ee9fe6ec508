// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>

#include "ir/interpret/code.h"
#include "ir/interpret/field.h"
#include "ir/scalar.h"

namespace tilewright::ir::run {

inline double as_double(uint64_t v) { return std::bit_cast<double>(v); }
inline uint64_t as_cell(double v) { return std::bit_cast<uint64_t>(v); }
inline int64_t as_int(uint64_t v) { return static_cast<int64_t>(v); }

/// The operations that are worth a line of their own, because programs spend their time in them;
/// the rest is in pure.cpp.
inline void pure(const Inst& i, uint64_t* r) {
  const auto f32 = [&](double v) {
    r[i.dst] = as_cell(static_cast<double>(static_cast<float>(v)));
  };
  const uint64_t a = r[i.a];
  switch (i.op) {
    case Op::Move: r[i.dst] = a; break;
    case Op::Select: r[i.dst] = a ? r[i.b] : r[i.c]; break;
    case Op::I64Add: r[i.dst] = a + r[i.b]; break;
    case Op::I64Sub: r[i.dst] = a - r[i.b]; break;
    case Op::I64Mul: r[i.dst] = a * r[i.b]; break;
    case Op::I64Lt: r[i.dst] = as_int(a) < as_int(r[i.b]); break;
    case Op::I64Le: r[i.dst] = as_int(a) <= as_int(r[i.b]); break;
    case Op::I64Eq: r[i.dst] = a == r[i.b]; break;
    case Op::I64Ne: r[i.dst] = a != r[i.b]; break;
    case Op::NotZero: r[i.dst] = a != 0; break;
    case Op::F64Add: r[i.dst] = as_cell(as_double(a) + as_double(r[i.b])); break;
    case Op::F64Sub: r[i.dst] = as_cell(as_double(a) - as_double(r[i.b])); break;
    case Op::F64Mul: r[i.dst] = as_cell(as_double(a) * as_double(r[i.b])); break;
    case Op::F64Div: r[i.dst] = as_cell(as_double(a) / as_double(r[i.b])); break;
    case Op::F32Add: f32(as_double(a) + as_double(r[i.b])); break;
    case Op::F32Sub: f32(as_double(a) - as_double(r[i.b])); break;
    case Op::F32Mul: f32(as_double(a) * as_double(r[i.b])); break;
    case Op::F32Div: f32(as_double(a) / as_double(r[i.b])); break;
    case Op::ExactAdd: r[i.dst] = field::add(a, r[i.b]); break;
    case Op::ExactSub: r[i.dst] = field::sub(a, r[i.b]); break;
    case Op::ExactMul: r[i.dst] = field::mul(a, r[i.b]); break;
    default: execute_pure(i, r);
  }
}

}  // namespace tilewright::ir::run
