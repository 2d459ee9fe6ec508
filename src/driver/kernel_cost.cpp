// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_cost.h"

#include <unordered_map>

#include "driver/build_kernels.h"
#include "graph/op_def.h"
#include "graph/print.h"
#include "ir/print.h"
#include "support/str.h"
#include "tune/choose/estimate.h"

namespace tilewright::driver {
namespace {

using graph::ValueId;

/// Constants of so many elements may be part of a kernel's text.
constexpr int64_t kWritten = 64;

/// All that a node's kernel follows from, values by numbers instead of names: much sooner there
/// than the kernel.
///   group conv(0: f32[1, 16, 8, 8], 1: constant f32[16, 16, 3, 3]) {…} -> 2: f32[1, 16, 8, 8]
class Description {
 public:
  Description(const graph::Graph& graph, const graph::Node& node) : graph_(graph) { add(node); }
  std::string text() && { return std::move(text_); }

 private:
  void add(const graph::Node& n) {
    text_ += str(n.op->name, " ", n.algorithm, " ", graph::print(n.attrs.list()), "(");
    for (const ValueId id : n.inputs) add(id);
    text_ += ")";
    for (const graph::Function& body : n.bodies) {
      text_ += "{";
      for (const graph::Node& m : body.nodes) add(m);
      for (const ValueId id : body.outputs) add(id);
      text_ += "}";
    }
    for (const ValueId id : n.outputs) add(id);
    text_ += "\n";
  }

  void add(ValueId id) {
    if (id == graph::kNoValue) {
      text_ += " -";
      return;
    }
    const auto [place, is_new] = numbers_.emplace(id, numbers_.size());
    text_ += str(" ", place->second);
    if (!is_new) return;
    const graph::Value& v = graph_.value(id);
    text_ += str(": ", graph::print(v.type));
    if (v.constant) text_ += " constant";
    if (v.constant && v.constant->count() <= kWritten)
      text_ += graph::print_content(*v.constant, kWritten);
    if (v.elements)
      for (const graph::Dim& d : *v.elements) text_ += str(" ", ir::print(d));
  }

  const graph::Graph& graph_;
  std::unordered_map<ValueId, size_t> numbers_;
  std::string text_;
};

}  // namespace

std::optional<double> KernelCost::operator()(graph::Graph& graph, const graph::Node& node) {
  const auto [place, is_new] = of_nodes_.try_emplace(Description(graph, node).text());
  if (is_new) place->second = of_kernel(graph, node);
  return place->second;
}

std::optional<double> KernelCost::of_kernel(graph::Graph& graph, const graph::Node& node) {
  try {
    KernelUse use;
    const PlainKernel kernel = plain_kernel(graph, node, use);
    const auto found = known_.find(kernel.key);
    if (found != known_.end()) return found->second;
    return known_[kernel.key] = tune::estimated_cycles(kernel.blocks, target_, kernel.constants);
  } catch (const Error&) {
    return std::nullopt;  // it cannot be laid out so
  }
}

}  // namespace tilewright::driver
