// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <vector>

#include "driver/build_kernels.h"
#include "driver/plan_arena.h"
#include "driver/plan_symbols.h"
#include "graph/op_def.h"
#include "module/module.h"
#include "module/plan_builder.h"

namespace tilewright::driver {

ElemType elem_type(const graph::TensorType& type);
/// Of a value. A tensor whose rank only the run tells is kept as an optional that holds it.
ValueType value_type(const graph::Type& type);

/// Is what the node makes written by a kernel?
inline bool by_kernel(const graph::Node& node) {
  return node.op->host.empty() &&
         (node.op->special == graph::Special::None || node.op->special == graph::Special::Group);
}

/// Writes the plan of a graph. Values of the main function whose size follows from the inputs lie
/// in the arena, others are allocated while the plan runs; outputs are written by the kernels
/// themselves where that is possible.
class Planner {
 public:
  Planner(const graph::Graph& graph, const BuiltKernels& kernels, Module& module,
          bool share_memory);
  Plan run();
  /// The kernels that the plan calls, in its order.
  const std::vector<KernelCall>& calls() const { return calls_; }

 private:
  using ValueId = graph::ValueId;
  using PlanValueId = tilewright::ValueId;

  void ports(const graph::Function& main);
  // plan_places.cpp
  void lifetimes(const graph::Function& main);
  void place(const std::vector<ArenaItem>& items);

  void reserve();
  void guards();
  ir::Expr work_of(const KernelUse& use, const ir::Expr& formula) const;
  void outputs(const graph::Function& main);
  bool made_in_place(const graph::Function& main, ValueId id) const;
  void deliver(const graph::Function& main);
  bool is_early(const graph::Shape& shape) const;
  void early_dims(const graph::Function& main);
  /// The registers of a tensor's dimensions.
  std::vector<Reg> dims_of(ValueId id);

  void check(const graph::Check& c);
  bool is_known(const ir::Expr& formula) const;
  void nodes(const graph::Function& f, const std::vector<graph::Check>& checks);
  void run(const graph::Node& node);
  void view(const graph::Node& node);
  void check_indices(const graph::Node& node);
  void in_place(const graph::Node& node);
  void call(const graph::Node& node, const KernelUse& use);
  void host(const graph::Node& node);

  // plan_control.cpp
  void if_node(const graph::Node& node);
  void loop_node(const graph::Node& node);
  void body(const graph::Function& f, FunctionRef<void()> results);
  PlanValueId shared(ValueId id);
  void hand_over(PlanValueId to, const graph::Type& type, ValueId from);
  PlanValueId scalar(ValueId id, Reg value);

  /// The value that a kernel writes: an output, a place in the arena, or memory of its own.
  PlanValueId make(ValueId id);
  uint32_t constant_index(const ConstantData& data);
  /// A value that is computed, or a constant.
  PlanValueId value(ValueId id);
  /// Gives back what was allocated and is used for the last time by node i of the main function.
  void release(int i);

  const graph::Graph& graph_;
  const BuiltKernels& kernels_;
  Module& module_;
  const bool share_memory_;
  PlanBuilder plan_;
  PlanSymbols symbols_;
  std::unordered_map<ValueId, Reg> arena_;  // offsets of values whose size the inputs tell
  Reg arena_bytes_ = 0;
  int64_t arena_most_ = 0;
  std::unordered_map<std::string, Reg> guards_;  // of variants, by their conditions
  std::unordered_map<ValueId, PlanValueId> values_;
  std::unordered_multimap<uint64_t, uint32_t> constants_;  // the module's, by their checksum
  std::unordered_map<ValueId, uint32_t> in_place_;         // outputs that kernels write themselves
  std::unordered_map<ValueId, std::vector<Reg>> early_dims_;  // computed in the prologue
  std::unordered_map<ValueId, int> last_;  // node of the main function that uses it last
  std::vector<ValueId> dynamic_;           // allocated and not given back
  std::vector<KernelCall> calls_;
};

}  // namespace tilewright::driver
