// SPDX-License-Identifier: Apache-2.0
#include "module/elem.h"

namespace tilewright {

const char* name_of(ElemType elem) {
  static constexpr const char* names[kElemTypeCount] = {
      "bool", "i2",  "i4",  "i8",     "i16",    "i32",        "i64",    "u2",         "u4",
      "u8",   "u16", "u32", "u64",    "f8e4m3", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f16",
      "bf16", "f32", "f64", "string", "f4e2m1", "f8e8m0",     "c64",    "c128"};
  return names[static_cast<int>(elem)];
}

}  // namespace tilewright
