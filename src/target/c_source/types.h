// SPDX-License-Identifier: Apache-2.0
// How elements look in C. A value of an integer type of up to 16 bits may stand in an `int`; every
// other text has exactly the type named here. A dialect without <stdint.h> declares its names.
#pragma once

#include <string>

#include "ir/type.h"
#include "target/c_source/text.h"

namespace tilewright::target::c_source {

/// What is computed with: `bool`, `int8_t` for i4, `float` for f16.
std::string value_type(ir::Elem elem);
/// What an array holds: `uint8_t` for bool and packed elements, `uint16_t` for f16.
std::string memory_type(ir::Elem elem);
inline bool is_packed(ir::Elem elem) { return ir::bits(elem) < 8; }
/// Whose helpers read and write it: floats below a byte lie in memory as the integers of their
/// bits.
inline ir::Elem packed_as(ir::Elem elem) { return ir::is_float(elem) ? ir::Elem::U4 : elem; }
/// A float that is computed with as `float` and rounded after every operation.
inline bool is_small_float(ir::Elem elem) { return ir::is_float(elem) && ir::bits(elem) < 32; }

/// A constant; one of 64 bits may be a shorter literal, which takes the type of what it meets.
Text literal(ir::Elem elem, __int128 value);
Text float_literal(ir::Elem elem, double value);

Text cast_to(const std::string& type, const Text& t);
Text call_of(const std::string& function, std::initializer_list<Text> args);

}  // namespace tilewright::target::c_source
