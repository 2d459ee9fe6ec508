// SPDX-License-Identifier: Apache-2.0
// Small graphs of real operators for the tests of passes.
#pragma once

#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "ops/all.h"
#include "ops/ops.h"

namespace tilewright::graph {

struct Net : Builder {
  ValueId in(const std::string& name, const Shape& shape, ir::Elem elem = ir::Elem::F32) {
    return input(name, TensorType{.elem = elem, .shape = shape});
  }
  /// Attributes that are not given have their defaults.
  ValueId operator()(std::string_view op, const std::vector<ValueId>& inputs,
                     const AttrList& attrs = {}) {
    return call(ops::op(op), ops::op(op).read_attrs(attrs), inputs);
  }
  ValueId weights(const std::vector<int64_t>& shape, double value = 0.5) {
    int64_t count = 1;
    for (const int64_t d : shape) count *= d;
    return constant(float_constant(ir::Elem::F32, shape,
                                   std::vector<double>(static_cast<size_t>(count), value)));
  }
  ValueId reduce(const std::string& name, ValueId x, std::vector<int64_t> axes) {
    return (*this)(name, {x}, {{"axes", std::move(axes)}});
  }
};

inline PassContext test_context() {
  PassContext context;
  context.services.find_op = ops::find;
  return context;
}

/// The kernels of a fused graph, one line each: `conv_add_relu -> %y`. Others by their operator.
inline std::string kernels(const Function& f, const Graph& graph) {
  std::string out;
  for (const Node& n : f.nodes) {
    out += n.op->special == Special::Group ? n.bodies[0].name : std::string(n.op->name);
    out += " ->";
    for (const ValueId id : n.outputs) out += " %" + graph.value(id).name;
    out += "\n";
  }
  return out;
}

}  // namespace tilewright::graph
