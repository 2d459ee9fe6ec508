// SPDX-License-Identifier: Apache-2.0
#include "support/str.h"
#include "target/llvm/emitter.h"

namespace tilewright::target::llvm {

void Emitter::emit(const ir::InstrCall& s) {
  throw Error({.code = "target.llvm.intrinsic",
               .at = s.span,
               .message = str("there is no instruction `", s.instr->emit, "`"),
               .help = "lower the call to its meaning first"});
}

}  // namespace tilewright::target::llvm
