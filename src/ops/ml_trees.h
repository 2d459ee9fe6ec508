// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "graph/onnx_node.h"
#include "graph/op_def.h"

namespace tilewright::ops {

enum class Aggregate : uint8_t { Average, Sum, Min, Max };  // in ONNX's order
enum class TreeMode : uint8_t {                             // in ONNX's order
  LessEqual,
  Less,
  GreaterEqual,
  Greater,
  Equal,
  NotEqual,
  Member,  // only while a table is made: of a set of values
};

/// Trees as columns. A way leads to a node, or to leaf l as -1 - l. Leaf l adds weights[k] to
/// target[k] for first[l] <= k < first[l + 1].
struct TreeTable {
  Aggregate aggregate = Aggregate::Sum;
  int64_t targets = 1;
  std::vector<int64_t> roots = {};
  std::vector<int64_t> feature = {}, mode = {}, yes = {}, no = {}, missing = {};
  std::vector<double> split = {};
  std::vector<int64_t> first = {0}, target = {};
  std::vector<double> weight = {};
};

/// Refuses a table whose ways go in circles or lead nowhere.
void check_trees(const graph::OnnxNode& n, const TreeTable& table);
/// The sums of x [n, features]: [n, targets], in f64 when x is, else in f32.
graph::ValueId call_trees(graph::Builder& g, graph::ValueId x, const TreeTable& table);

const graph::OpDef& tree_ensemble_op();
/// The operator without its import rules, which ml_tree_import.cpp adds.
graph::OpDef define_trees();

}  // namespace tilewright::ops
