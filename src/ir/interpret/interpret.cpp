// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret/interpret.h"

#include "ir/interpret/machine.h"

namespace tilewright::ir {

void interpret(const LoopFunc& f, std::vector<Array>& args, const std::vector<int64_t>& symbols,
               const RunOptions& options) {
  const run::Program program = run::compile(f, options.arithmetic, options.check);
  run::Machine(f, program, options).run(args, symbols);
}

}  // namespace tilewright::ir
