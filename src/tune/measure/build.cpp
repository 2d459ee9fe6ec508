// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/build.h"

#include "lower/pipeline.h"
#include "support/diagnostic.h"
#include "target/llvm/compile.h"
#include "tune/choose/prepack.h"

namespace tilewright::tune {
namespace {

/// The places of a function's parameters among the first of another one, by name.
std::vector<size_t> places_of(const std::vector<ir::Param>& some, const std::vector<ir::Param>& all,
                              size_t inputs) {
  std::vector<size_t> out;
  for (const ir::Param& p : some)
    for (size_t i = 0; i < inputs; ++i)
      if (all[i].buffer->name == p.buffer->name) out.push_back(i);
  return out;
}

}  // namespace

ir::LoopFunc lower_for_cpu(const ir::LoopFunc& func, const ir::TargetSpec& spec) {
  lower::PassContext context;
  context.limits.max_lanes = spec.vector_bits / 8;
  context.limits.instructions = target::llvm::instruction_names(spec);
  return lower::run(lower::cpu_pipeline(), func, context);
}

LoweredKernel lower_kernel(const ir::LoopFunc& scheduled, const std::vector<std::string>& constants,
                           size_t inputs, const ir::TargetSpec& spec) {
  const Prepacked parts = prepack(scheduled, constants);
  LoweredKernel out{.run = lower_for_cpu(parts.run, spec),
                    .taken = places_of(parts.run.params, scheduled.params, inputs),
                    .prepare = {},
                    .prepared = {},
                    .packed = {}};
  if (parts.packed.empty()) return out;
  out.prepare = lower_for_cpu(parts.prepare, spec);
  out.prepared = places_of(parts.prepare.params, scheduled.params, inputs);
  for (const ir::Buffer& b : parts.packed) {
    std::vector<int64_t> shape;
    for (const ir::Expr& e : b->shape) {
      const std::optional<int64_t> n = ir::const_int(e);
      require(n.has_value(), "a packed constant has a size that is not constant");
      shape.push_back(*n);
    }
    out.packed.emplace_back(b->elem, std::move(shape));
  }
  return out;
}

size_t inputs_of(const ir::LoopFunc& func) {
  size_t n = 0;
  while (n < func.params.size() && func.params[n].access == ir::Access::In) ++n;
  return n;
}

}  // namespace tilewright::tune
