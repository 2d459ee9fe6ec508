// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/native.h"

#include <algorithm>
#include <cstring>

#include "arith/context.h"
#include "ir/rewrite.h"
#include "target/host.h"

namespace tilewright::tune {
namespace {

int64_t evaluated(const ir::Expr& size, const Task& task) {
  ir::VarMap values;
  for (size_t i = 0; i < task.func.symbols.size(); ++i)
    values[task.func.symbols[i].var] = task.symbols.at(i);
  const auto n = ir::const_int(arith::Context().simplify(ir::substitute(size, values)));
  require(n.has_value(), "a workspace's size is not an expression of the symbols");
  return *n;
}

int64_t bytes_of(ir::Elem elem, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t e : shape) count *= e;
  return (count * ir::bits(elem) + 7) / 8;
}

}  // namespace

NativeCode build_native(const Task& task, const schedule::Trace& trace) {
  const LoweredKernel lowered =
      lower_kernel(scheduled(task, trace), task.constants, inputs_of(task.func), task.target);
  NativeCode out{.run = target::llvm::emit_object(lowered.run, task.target),
                 .prepare = {},
                 .taken = lowered.taken,
                 .prepared = lowered.prepared,
                 .packed = {}};
  if (lowered.prepare)
    out.prepare = target::llvm::emit_object(*lowered.prepare, target::parse_target("host"));
  for (const auto& [elem, shape] : lowered.packed)
    out.packed.push_back({elem, bytes_of(elem, shape)});
  out.shared_bytes = evaluated(out.run.workspace.shared, task);
  out.worker_bytes = evaluated(out.run.workspace.per_worker, task);
  return out;
}

std::vector<Memory> packed_constants(const NativeCode& code, const Arguments& arguments) {
  std::vector<Memory> out;
  std::vector<void*> pointers;
  for (const size_t i : code.prepared) pointers.push_back(arguments.content(i).data());
  for (const auto& [elem, bytes] : code.packed) {
    pointers.push_back(out.emplace_back(arguments.memory_of_constant(bytes)).data());
    std::memset(pointers.back(), 0, static_cast<size_t>(bytes));
  }
  if (code.prepare) target::llvm::load(*code.prepare, {}).call(pointers);
  return out;
}

LoadedCode::LoadedCode(const NativeCode& code, const Arguments& arguments,
                       const std::vector<Memory>& packed,
                       const std::vector<std::vector<void*>>& buffers, size_t copies,
                       const Task& task, tw_host host, FarMemory* far, size_t kernel)
    : kernel_(target::llvm::load(code.run, {})),
      function_(kernel_.function()),
      symbols_(task.symbols),
      host_(host) {
  for (size_t s = 0; s < buffers.size(); ++s) {
    std::vector<void*>& set = buffers_.emplace_back();
    for (const size_t i : code.taken) set.push_back(buffers[s][i]);
    for (size_t p = 0; p < packed.size(); ++p) {
      if (s == 0) {
        set.push_back(packed[p].data());
      } else if (s >= copies) {
        set.push_back(buffers_[s % copies][code.taken.size() + p]);
      } else {
        const auto [elem, bytes] = code.packed[p];
        void* copy = far && elem == ir::Elem::F32 ? far->take(bytes, kernel) : nullptr;
        if (!copy) {
          copy = memory_.emplace_back(arguments.memory_of_constant(bytes)).data();
          std::memcpy(copy, packed[p].data(), static_cast<size_t>(bytes));
        }
        set.push_back(copy);
      }
    }
    for (size_t i = arguments.inputs(); i < arguments.count(); ++i) set.push_back(buffers[s][i]);
  }
  // A run has one for all kernels.
  const auto as_in_a_run = [&](int64_t bytes) {
    return memory_.emplace_back(bytes, Memory::pages_of(std::max(bytes, task.workspace))).data();
  };
  host_.workspace = as_in_a_run(code.shared_bytes);
  host_.scratch = as_in_a_run(code.worker_bytes * host.workers);
  host_.scratch_bytes = code.worker_bytes;
}

}  // namespace tilewright::tune
