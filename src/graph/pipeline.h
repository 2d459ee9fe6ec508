// SPDX-License-Identifier: Apache-2.0
// The passes over graphs, and the list of them as data.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace tilewright::graph {

/// What passes need from those above them.
struct Services {
  /// The results of a node whose inputs are all constants.
  std::function<std::vector<Constant>(const Graph&, const Node&)> evaluate;
  /// The operator of a name; null when there is none.
  const OpDef* (*find_op)(std::string_view) = nullptr;
  /// About how many cycles the kernel of a node takes, its values laid out as their types say;
  /// nothing when there is no such kernel. Empty: layouts stay as they are.
  std::function<std::optional<double>(Graph&, const Node&)> cycles;
  int vector_bits = 0;  // of the target
};

/// Why a node did not join the group of one that reads its result.
struct NotFused {
  std::string producer, consumer;  // names of values they make
  std::string reason;
};
using FusionReport = std::vector<NotFused>;

/// Why a value lies as it does.
struct LayoutReason {
  std::string value;
  int64_t block = 0;                 // of channels; 0: row-major
  double cycles = 0, otherwise = 0;  // of its producer and consumers, so and in the other layout
};
using LayoutReport = std::vector<LayoutReason>;

struct PassTime {
  std::string_view pass;
  double seconds = 0;
};

struct PassContext;

/// A pure function from graph to graph. Its file states what it does, with an example.
struct Pass {
  std::string_view name;
  Graph (*run)(Graph, PassContext&);
};

/// The options of a run, and what it reports.
struct PassContext {
  Services services;
  std::vector<std::string> skip;                         // names of passes left out
  ir::Elem factors = ir::Elem::F32;                      // what products of f32 multiply
  std::function<void(const Pass&, const Graph&)> after;  // called after each pass; may be empty
  bool unchanged = false;       // said by a pass: it gave back the graph that it got
  std::vector<PassTime> times;  // one entry per pass that ran
  FusionReport fusion;
  LayoutReport layouts;
};

/// Runs the passes in order and verifies the graph after each that changed it.
Graph run(std::span<const Pass> passes, Graph graph, PassContext& context);

/// What every model goes through.
std::span<const Pass> default_pipeline();
/// nullptr when there is no pass of that name.
const Pass* find_pass(std::string_view name);

}  // namespace tilewright::graph
