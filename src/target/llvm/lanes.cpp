// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/lanes.h"

namespace tilewright::target::llvm {

ll::Type* Lanes::element(ir::Elem e) {
  switch (e) {
    case ir::Elem::Bool: return getInt1Ty();
    case ir::Elem::F32: return getFloatTy();
    case ir::Elem::F64: return getDoubleTy();
    default: return getIntNTy(static_cast<unsigned>(ir::bits(e)));
  }
}

}  // namespace tilewright::target::llvm
