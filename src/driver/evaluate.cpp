// SPDX-License-Identifier: Apache-2.0
#include "driver/evaluate.h"

#include <cstring>
#include <numeric>

#include "driver/aligned_bytes.h"
#include "driver/kernel.h"
#include "driver/kernel_cache.h"
#include "driver/kernel_work.h"
#include "graph/op_def.h"
#include "ir/interpret/interpret.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "lower/to_blocks.h"
#include "ops/program_of.h"
#include "support/str.h"
#include "tune/choose/choose.h"

namespace tilewright::driver {
namespace {

using namespace graph;

/// Bytes of all tensors up to which compiling takes longer than interpreting.
#ifdef TILEWRIGHT_LLVM
constexpr int64_t kInterpreted = 16 << 10;
#else
constexpr int64_t kInterpreted = INT64_MAX;
#endif
/// Likewise, up to which the interpreter may take its time.
constexpr int64_t kMostInterpreted = 1 << 20;

/// What things take, about, in nanoseconds.
constexpr double kLookAt = 2e5, kCompile = 3e7, kPerPoint = 1, kPerInterpretedPoint = 300;
/// Where it cannot be told before how many there will be.
constexpr double kUnknownPoints = 2e6;

/// Arithmetic and loads, when all loops are known.
std::optional<double> points_of(const ir::LoopFunc& blocks) {
  const std::optional<KernelWork> work = work_of(blocks, {});
  if (!work) return std::nullopt;
  return std::accumulate(work->loads.begin(), work->loads.end(), work->flops);
}

/// Does a place in memory follow from a value? Hostile constants must not lead compiled code
/// astray; the interpreter looks at every place.
bool follows_data(const ir::LoopFunc& blocks) {
  bool found = false;
  ir::walk(blocks.body, [&](const ir::Load& load) {
    for (const ir::Expr& index : load.indices) found = found || ir::has_load(index);
  });
  return found;
}

std::vector<Constant> interpreted(const Graph& graph, const ops::KernelProgram& program,
                                  const ir::LoopFunc& blocks, int64_t steps) {
  std::vector<ir::Array> args;
  for (const ValueId id : program.inputs) {
    const Constant& c = graph.value(id).constant;
    args.push_back(ir::from_bytes(c->elem, c->shape, c->bytes));
  }
  for (const ValueId id : program.outputs) {
    const TensorType& t = *graph.type(id).tensor();
    args.push_back(ir::make_array(t.elem, *const_dims(t.shape)));
  }
  ir::interpret(blocks, args, {}, {.max_steps = steps});
  std::vector<Constant> out;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const TensorType& t = *graph.type(program.outputs[i]).tensor();
    out.push_back(
        make_constant(t.elem, *const_dims(t.shape), ir::to_bytes(args[program.inputs.size() + i])));
  }
  return out;
}

std::vector<Constant> compiled(const Graph& graph, const ops::KernelProgram& program,
                               const target::llvm::JitKernel& kernel) {
  std::vector<AlignedBytes> memory;
  std::vector<void*> buffers;
  const auto add = [&](auto content) { buffers.push_back(memory.emplace_back(content).data()); };
  for (const ValueId id : program.inputs) add(graph.value(id).constant->bytes);
  std::vector<int64_t> sizes;
  for (const ValueId id : program.outputs) {
    const TensorType& t = *graph.type(id).tensor();
    sizes.push_back(byte_size(t.elem, *ir::const_int(elements(t.shape))));
    add(sizes.back());
  }
  kernel.call(buffers);
  std::vector<Constant> out;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const TensorType& t = *graph.type(program.outputs[i]).tensor();
    const auto* bytes = static_cast<const std::byte*>(buffers[program.inputs.size() + i]);
    out.push_back(make_constant(t.elem, *const_dims(t.shape),
                                std::vector<std::byte>(bytes, bytes + sizes[i])));
  }
  return out;
}

}  // namespace

const target::llvm::JitKernel* Evaluator::kernel(const ir::LoopFunc& blocks) {
  const std::string text = ir::print(ir::Unit{{}, {}, {blocks}});
  const auto found = kernels_.find(text);
  if (found != kernels_.end()) return &found->second;
  if (!spend(kCompile)) return nullptr;  // from the cache, too: the result must not depend on it
  const std::string prefix = cache_ ? key_prefix(host_, {}) : std::string();
  const std::string key = str(prefix, "fold\n", text);
  std::optional<target::llvm::JitKernel> kernel;
  if (!prefix.empty()) kernel = cache_->find_jit(key);
  if (!kernel) {
    kernel = compile_kernel(tune::choose(blocks, host_), host_);
    if (!prefix.empty()) cache_->put_jit(key, *kernel);
  }
  return &kernels_.emplace(text, *std::move(kernel)).first->second;
}

bool Evaluator::spend(double nanoseconds) {
  if (nanoseconds > time_left_) return false;
  time_left_ -= nanoseconds;
  return true;
}

std::vector<Constant> Evaluator::operator()(const Graph& whole, const Node& node) {
  if (!spend(kLookAt)) return {};
  // The node alone, for definitions may ask for symbols, and graphs are large.
  Graph graph;
  Node alone = node;
  for (std::vector<ValueId>* ids : {&alone.inputs, &alone.outputs})
    for (ValueId& id : *ids) {
      if (id == kNoValue) continue;
      graph.values.push_back(whole.value(id));
      id = static_cast<ValueId>(graph.values.size()) - 1;
    }
  const ops::KernelProgram program = ops::program_of(graph, {alone}, alone.outputs, "evaluate");
  const ir::LoopFunc blocks = program.loops ? *program.loops : lower::to_blocks(*program.program);
  if (!blocks.symbols.empty()) return {};
  const auto bytes_of = [&](const std::vector<ValueId>& ids) {
    int64_t sum = 0;
    for (const ValueId id : ids) {
      const TensorType& t = *graph.type(id).tensor();
      sum += byte_size(t.elem, *ir::const_int(elements(t.shape)));
    }
    return sum;
  };
  const int64_t made = bytes_of(program.outputs), bytes = bytes_of(program.inputs) + made;
  if (made > bytes_left_) return {};
  const double points = points_of(blocks).value_or(kUnknownPoints) + static_cast<double>(bytes) / 4;
  if (bytes > kInterpreted && !program.loops && !follows_data(blocks)) {
    if (!spend(points * kPerPoint)) return {};
    const target::llvm::JitKernel* code = kernel(blocks);
    if (!code) return {};
    bytes_left_ -= made;
    return compiled(graph, program, *code);
  }
  if (bytes > kMostInterpreted || !spend(points * kPerInterpretedPoint)) return {};
  bytes_left_ -= made;
  try {
    return interpreted(graph, program, blocks, 10'000'000 + static_cast<int64_t>(20 * points));
  } catch (const Error&) {
    return {};  // the run may never come by
  }
}

}  // namespace tilewright::driver
