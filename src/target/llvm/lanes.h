// SPDX-License-Identifier: Apache-2.0
// How the values of the loop IR look in LLVM: an element type and a number of lanes become a scalar
// or a fixed vector.
//
//   bool            i1 in registers, one byte in memory
//   integers        iN, sub-byte ones too; packed in memory
//   f32, f64        float, double
//   f16, bf16, fp8  their bits as i16 or i8: arithmetic widens to float and rounds back
#pragma once

#include "llvm/IR/IRBuilder.h"

#include "ir/target_spec.h"
#include "ir/type.h"

namespace tilewright::target::llvm {

namespace ll = ::llvm;

/// Makes instructions for all lanes at once. Operators with a meaning of their own (division, min,
/// casts, exp…) are free functions over it, in int_ops.h, float_ops.h, convert.h and math/.
struct Lanes : ll::IRBuilder<> {
  Lanes(ll::LLVMContext& context, const ir::TargetSpec& target)
      : ll::IRBuilder<>(context), spec(target) {}

  const ir::TargetSpec& spec;
  bool subnormals = true;  // as EmitOptions says

  ll::Type* type(ir::Type t) { return with_lanes(element(t.elem), t.lanes); }
  /// The type of a stored element; sub-byte elements have none.
  ll::Type* memory_type(ir::Type t) {
    return t.is_bool() ? with_lanes(getInt8Ty(), t.lanes) : type(t);
  }
  ll::Type* element(ir::Elem e);
  ll::Type* with_lanes(ll::Type* scalar, int lanes) {
    return lanes == 1 ? scalar : ll::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
  }
  /// `scalar` in as many lanes as `v` has.
  ll::Type* like(ll::Value* v, ll::Type* scalar) { return with_lanes(scalar, lanes_of(v)); }
  static int lanes_of(ll::Value* v) {
    const auto* vector = ll::dyn_cast<ll::FixedVectorType>(v->getType());
    return vector ? static_cast<int>(vector->getNumElements()) : 1;
  }

  /// Constants in every lane of a type.
  ll::Constant* integer(ll::Type* t, uint64_t value) {
    return ll::ConstantInt::get(t, value, /*IsSigned=*/false, /*ImplicitTrunc=*/true);
  }
  ll::Constant* real(ll::Type* t, double value) { return ll::ConstantFP::get(t, value); }

  ll::Value* splat(ll::Value* v, int lanes) {
    return lanes == 1 ? v : CreateVectorSplat(static_cast<unsigned>(lanes), v);
  }
  /// A vector of `count` lanes of one, from the lane `first` on.
  ll::Value* some_lanes(ll::Value* v, int first, int count);
  /// The same, computed from so many lanes of what `mask` is computed from: a constant where those
  /// lanes are known.
  ll::Value* some_of_mask(ll::Value* mask, int first, int count);
};

}  // namespace tilewright::target::llvm
