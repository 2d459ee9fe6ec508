// SPDX-License-Identifier: Apache-2.0
// Any bytes are read to a program, which then reads back from its own text, or refused.
#include <cstdint>
#include <string_view>

#include "ir/equal.h"
#include "ir/parse.h"
#include "ir/print.h"

using namespace tilewright;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ir::Unit unit;
  try {
    unit = ir::parse(text);
  } catch (const Error&) {
    return 0;
  }
  const std::string printed = ir::print(unit);
  const ir::Unit again = ir::parse(printed);
  require(ir::equal(unit, again), "a program does not read back from its text");
  require(ir::print(again) == printed, "the text of a program changes when it is read");
  return 0;
}
