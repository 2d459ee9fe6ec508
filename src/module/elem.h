// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tilewright {

/// Element types of runtime values, and the shape of the values that hold them. The numbers stand
/// in module files and in the C ABI: they never change, new ones come at the end.
enum class ElemType : uint8_t {
  Bool = 0,  // one byte, 0 or 1
  I2 = 1,
  I4 = 2,
  I8 = 3,
  I16 = 4,
  I32 = 5,
  I64 = 6,
  U2 = 7,
  U4 = 8,
  U8 = 9,
  U16 = 10,
  U32 = 11,
  U64 = 12,
  F8E4M3 = 13,
  F8E4M3FNUZ = 14,
  F8E5M2 = 15,
  F8E5M2FNUZ = 16,
  F16 = 17,
  BF16 = 18,
  F32 = 19,
  F64 = 20,
  String = 21,
  F4E2M1 = 22,
  F8E8M0 = 23,
  C64 = 24,   // two f32
  C128 = 25,  // two f64
};
constexpr int kElemTypeCount = 26;

/// Bits of one element in memory; elements below a byte are packed from the low bits on. Strings
/// have none: 0.
constexpr int bits_of(ElemType elem) {
  constexpr uint8_t bits[kElemTypeCount] = {8, 2, 4, 8, 16, 32, 64, 2,  4, 8, 16, 32, 64,
                                            8, 8, 8, 8, 16, 16, 32, 64, 0, 4, 8,  64, 128};
  return bits[static_cast<int>(elem)];
}
/// `f32`, as in the texts of the IRs.
const char* name_of(ElemType elem);

/// The type of a value without its shape: a tensor, a tensor of strings (elem String), or a
/// sequence or an optional of those, at most three deep.
struct ValueType {
  enum class Wrap : uint8_t { None = 0, Sequence = 1, Optional = 2 };

  ElemType elem = ElemType::F32;
  Wrap wraps[3] = {};  // from the outside in

  constexpr bool is_tensor() const { return wraps[0] == Wrap::None && elem != ElemType::String; }
  constexpr bool is_strings() const { return wraps[0] == Wrap::None && elem == ElemType::String; }
  constexpr bool is_sequence() const { return wraps[0] == Wrap::Sequence; }
  constexpr bool is_optional() const { return wraps[0] == Wrap::Optional; }
  /// What a sequence or an optional holds.
  constexpr ValueType inner() const { return {elem, {wraps[1], wraps[2], Wrap::None}}; }
  friend constexpr bool operator==(const ValueType&, const ValueType&) = default;
};
static_assert(sizeof(ValueType) == 4);

constexpr int kMaxRank = 32;

}  // namespace tilewright
