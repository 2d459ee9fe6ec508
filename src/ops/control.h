// SPDX-License-Identifier: Apache-2.0
// Control flow. Bodies use values of the functions around them directly. What runs them:
//
// if     (cond: bool, one element) {then, else}
//        One body runs: then when cond is true. Its outputs become the results, one for one.
// loop   (trip count: i64 or none, cond: bool or none, carried…) {body}
//        body (iteration: i64[], cond: bool[], carried…) -> cond, carried…, outputs…
//        Results: carried…, stacked outputs….
//          i = 0; c = cond, or true; carried = the inputs
//          while c and (no trip count or i < trip count):
//            c, carried, outputs = body(i, c, carried); append outputs to the stacks; i += 1
//        A stacked output has one more dimension in front, its extent the number of iterations. Its
//        other extents are those of the first iteration; without one they are what the type says,
//        or 0 where only a run would tell. All iterations must give the same extents.
//
// Symbols: those that a body's own values give (FromExtent and FromElement of its inputs and
// results, formulas of those) have a new value each time the body runs. A result's extent that is
// not the same in every case is a symbol of its own, FromExtent of the result. A body's checks are
// made only when it runs.
//
// Carried values may be tensors, sequences and optionals. A carried tensor may be handed on without
// a copy: what the body was given is not used any more after the iteration, unless it is a result
// of it. Scan is imported as a loop.
#pragma once

#include "graph/op_def.h"

namespace tilewright::ops {

const graph::OpDef& if_op();
const graph::OpDef& loop_op();
void loop_from_onnx(const graph::OnnxNode& n, graph::Builder& g);  // loop_import.cpp
/// (x, i: i64[]): x at index i of the axis, without it; from the end when `reverse`.
const graph::OpDef& pick_op();

struct PickAttrs {
  int64_t axis = 0;
  bool reverse = false;
  static constexpr auto fields = std::tuple{graph::field("axis", &PickAttrs::axis),
                                            graph::field("reverse", &PickAttrs::reverse)};
};

/// A bool: is the condition on symbols true? For a choice that the run makes by sizes.
graph::ValueId holds(graph::Builder& g, const ir::Expr& condition);
const graph::OpDef& holds_op();

/// Does the operator of ONNX hand its inputs on, of whatever rank they are?
bool hands_on(std::string_view op);

/// May a result of the branches have one of two ranks, or be a list of one of two lengths?
bool ranks_differ(const graph::Builder& g, const graph::Function& a, const graph::Function& b);

/// Lets a run be refused whose condition, a bool of one element, is another.
void require_condition(graph::Builder& g, graph::ValueId condition, bool value,
                       const std::string& why = {});

/// The type of a value that is one of two; null dims where they differ. Nothing when no value can
/// be both, such as a tensor and a sequence.
std::optional<graph::Type> merged(const graph::Type& a, const graph::Type& b);

/// The body of a loop for carried values that start with these types: built again with more
/// extents unknown until what it gives fits what it takes.
graph::Function loop_body(
    graph::Builder& g, std::vector<graph::Type> carried,
    FunctionRef<graph::Function(const std::vector<graph::Type>& carried)> build);

}  // namespace tilewright::ops
