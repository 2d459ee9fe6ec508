// SPDX-License-Identifier: Apache-2.0
#include "driver/c_text.h"

#include <cmath>
#include <cstring>

#include "support/diagnostic.h"
#include "support/str.h"
#include "target/c_source/types.h"

namespace tilewright::driver {
namespace {

using target::c_source::float_literal;
using target::c_source::literal;

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string float_text(ir::Elem elem, double value) {
  const char* zero = elem == ir::Elem::F64 ? "0.0" : "0.0f";
  const char* one = elem == ir::Elem::F64 ? "1.0" : "1.0f";
  if (std::isnan(value)) return str(zero, " / ", zero);
  if (std::isinf(value)) return str(value < 0 ? "-" : "", one, " / ", zero);
  return float_literal(elem, value).s;
}

std::string element(ir::Elem elem, const std::byte* at) {
  using ir::Elem;
  switch (elem) {
    case Elem::F32: return float_text(elem, read<float>(at));
    case Elem::F64: return float_text(elem, read<double>(at));
    case Elem::I8: return literal(elem, read<int8_t>(at)).s;
    case Elem::I16: return literal(elem, read<int16_t>(at)).s;
    case Elem::I32: return literal(elem, read<int32_t>(at)).s;
    case Elem::I64: return literal(elem, read<int64_t>(at)).s;
    case Elem::U32: return literal(elem, read<uint32_t>(at)).s;
    case Elem::U64: return literal(elem, read<uint64_t>(at)).s;
    default: break;
  }
  if (ir::bits(elem) == 16) return str(read<uint16_t>(at));
  return str(static_cast<int>(read<uint8_t>(at)));
}

}  // namespace

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string c_type(ElemType elem) {
  if (elem == ElemType::C64) return "float";  // two for each number
  if (elem == ElemType::C128) return "double";
  if (elem > ElemType::F64) return "uint8_t";
  return target::c_source::memory_type(static_cast<ir::Elem>(elem));
}

std::string c_array(const std::string& name, ElemType type, const ConstantData& data) {
  constexpr size_t kWidth = 100;
  const bool as_bytes = type == ElemType::F4E2M1 || type == ElemType::F8E8M0;
  require(type <= ElemType::F64 || as_bytes, "a kernel computes with elements of the loop IR");
  const ir::Elem elem = as_bytes ? ir::Elem::U8 : static_cast<ir::Elem>(type);
  const size_t size = std::max<size_t>(static_cast<size_t>(ir::bits(elem)) / 8, 1);
  const size_t count = data.bytes / size;
  std::string out = str("\nstatic const ", c_type(type), " ", name, "[", std::max<size_t>(count, 1),
                        "] = {");  // C has no empty arrays
  std::string line = " ";
  for (size_t i = 0; i < count; ++i) {
    const std::string text = element(elem, data.data + i * size);
    if (line.size() + text.size() + 2 > kWidth) {
      out += "\n" + line;
      line = " ";
    }
    line += " " + text + ",";
  }
  if (count == 0) line += " 0";
  return str(out, "\n", line, "\n};\n");
}

}  // namespace tilewright::driver
