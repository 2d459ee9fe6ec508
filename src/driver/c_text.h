// SPDX-License-Identifier: Apache-2.0
// Pieces of C that several emitters write.
#pragma once

#include <string>

#include "module/module.h"

namespace tilewright::driver {

/// For macros: `model` gives `MODEL`.
std::string upper(std::string text);

/// What an array of the elements is in C: `float`, `uint16_t` for f16, `uint8_t` for i4.
std::string c_type(ElemType elem);

/// `static const float name[3] = {1.0f, 0.5f, -2.0f};`, which reads back bit for bit but for the
/// payloads of NaNs. Elements that C has no type for (f16, i4) stand there as the bytes or words
/// that memory holds.
std::string c_array(const std::string& name, ElemType elem, const ConstantData& data);

}  // namespace tilewright::driver
