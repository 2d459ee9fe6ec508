// SPDX-License-Identifier: Apache-2.0
#include "graph/indices.h"
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"
#include "ir/print.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

class CheckedIndices {
 public:
  CheckedIndices(Rewriter& r, const std::vector<Dim>& extents) : r_(r), extents_(extents) {}

  /// The same indices, checked where they come from: what widens them or gives them another shape
  /// stays in the kernel that reads them.
  ValueId of(ValueId id) {
    const Node* made = r_.maker(id);
    if (made && (widens(*made) || (made->op->special == Special::View && extents_.size() == 1))) {
      const Node maker = *made;
      std::vector<ValueId> inputs = maker.inputs;
      inputs[0] = of(inputs[0]);
      return r_.call(*maker.op, maker.attrs, inputs);
    }
    return r_.call("check_indices", {id, r_.shape_value(extents_)});
  }

 private:
  bool widens(const Node& n) {
    if (n.op->name != "cast") return false;
    const ir::Elem from = r_.tensor(n.inputs[0])->elem, to = r_.tensor(n.outputs[0])->elem;
    return ir::is_int(from) && ir::bits(from) >= 8 && ir::is_signed(to) &&
           ir::bits(from) < ir::bits(to);
  }

  Rewriter& r_;
  const std::vector<Dim>& extents_;
};

bool check(Rewriter& r, const Node& n) {
  if (!n.op->indexed) return false;
  const Call call = r.call_of(n);
  const std::vector<Dim> extents = n.op->indexed(call);
  if (extents.empty() || has_right_indices(call, extents)) return false;
  const Value& indices = r.value(n.inputs[1]);
  if (!indices.constant && indices.elements) {
    // No kernel may ever compute them: the plan checks the formulas. What is false for all sizes is
    // an error of the run, too, since the node may never run.
    const std::vector<Dim> formulas = *indices.elements;
    for (size_t i = 0; i < formulas.size(); ++i) {
      const Dim& extent = extents[i % extents.size()];
      const ir::Expr right = call.simple(in_range(formulas[i], extent));
      if (!call.proves(right))
        r.check(right, str("index ", ir::print(formulas[i]), " is out of range: the dimension has ",
                           ir::print(extent), " elements"));
    }
    return false;
  }
  std::vector<ValueId> inputs = n.inputs;
  inputs[1] = CheckedIndices(r, extents).of(inputs[1]);
  return r.replace(n.outputs[0], r.call(*n.op, n.attrs, inputs));
}

}  // namespace

/// Lets the plan look at the indices of what gathers and scatters before a kernel uses them: one
/// out of range ends the run with an error that names the node and the index. Without it kernels
/// read the nearest element instead, and write nothing.
///   before   %y: f32[n, 64] = gather(%x: f32[100, 64], %i: i64[n]) {axis = 0}
///   after    %c: i64[n] = check_indices(%i, [100])
///            %y: f32[n, 64] = gather(%x: f32[100, 64], %c) {axis = 0}
/// Constants in range need no check; those out of range get one, since the node may never run.
Graph check_indices(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, check);
}

}  // namespace tilewright::graph
