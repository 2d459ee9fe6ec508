// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::ir {

/// Every element type of the loop IR. `kElems` in type.cpp holds one row for each.
enum class Elem : uint8_t {
  Bool,
  I2,
  I4,
  I8,
  I16,
  I32,
  I64,
  U2,
  U4,
  U8,
  U16,
  U32,
  U64,
  F8E4M3,
  F8E4M3FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F16,
  BF16,
  F32,
  F64,
  F4E2M1,  // neither inf nor NaN
  F8E8M0,  // powers of two: no sign, no zero
};
constexpr int kElemCount = static_cast<int>(Elem::F8E8M0) + 1;

enum class ElemClass : uint8_t { Bool, Signed, Unsigned, Float };

struct ElemInfo {
  std::string_view name;
  ElemClass cls;
  int bits;           // in memory; bool takes 8
  int exponent_bits;  // floats only
  int mantissa_bits;  // floats only, without the hidden bit
};

const ElemInfo& info(Elem elem);
std::optional<Elem> elem_from_name(std::string_view name);

inline bool is_float(Elem e) { return info(e).cls == ElemClass::Float; }
inline bool is_signed(Elem e) { return info(e).cls == ElemClass::Signed; }
inline bool is_unsigned(Elem e) { return info(e).cls == ElemClass::Unsigned; }
inline bool is_int(Elem e) { return is_signed(e) || is_unsigned(e); }
inline int bits(Elem e) { return info(e).bits; }
inline std::string_view name(Elem e) { return info(e).name; }

/// The least and greatest value of an integer type (bool: 0 and 1), as the bits of an i64 or u64.
int64_t int_min(Elem e);
uint64_t int_max(Elem e);

/// The type of an expression: an element type and how many lanes.
struct Type {
  Elem elem = Elem::I64;
  int32_t lanes = 1;

  Type with_lanes(int n) const { return {elem, n}; }
  Type with_elem(Elem e) const { return {e, lanes}; }
  Type scalar() const { return {elem, 1}; }
  bool is_vector() const { return lanes > 1; }
  bool is_float() const { return ir::is_float(elem); }
  bool is_int() const { return ir::is_int(elem); }
  bool is_bool() const { return elem == Elem::Bool; }
  friend bool operator==(const Type&, const Type&) = default;
};

constexpr Type kBool{Elem::Bool, 1};
constexpr Type kI8{Elem::I8, 1};
constexpr Type kI32{Elem::I32, 1};
constexpr Type kU8{Elem::U8, 1};
constexpr Type kU32{Elem::U32, 1};
constexpr Type kF32{Elem::F32, 1};
constexpr Type kF64{Elem::F64, 1};
constexpr Type kIndex{Elem::I64, 1};  // loop variables, extents and indices

constexpr int kMaxLanes = 4096;

/// `f32`, `i8x16`.
std::string print(Type type);
std::optional<Type> type_from_name(std::string_view name);

}  // namespace tilewright::ir
