// SPDX-License-Identifier: Apache-2.0
// The inputs and outputs of the module, and what inputs are by default.
#include "driver/planner.h"
#include "ir/print.h"

namespace tilewright::driver {

using namespace graph;

namespace {

Port port_of(const Graph& graph, graph::ValueId id) {
  Port port{.name = graph.value(id).name, .type = value_type(graph.type(id)), .dims = {}};
  const TensorType* t = graph.type(id).tensor();
  if (!t) return port;
  for (const Dim& dim : t->shape) {
    PortDim d;
    if (const std::optional<int64_t> c = ir::const_int(dim)) {
      d.value = d.min = d.max = *c;
    } else {
      const ir::VarNode* symbol = dim.as<ir::VarNode>();
      d.symbol = symbol ? symbol->name : ir::print(dim);  // the user's name, as --dim takes it
      for (const SymbolInfo& s : graph.symbols)
        if (s.symbol.var == dim) {
          d.min = s.symbol.min;
          d.max = s.symbol.max;
          d.divisor = s.symbol.divisor;
        }
    }
    port.dims.push_back(d);
  }
  return port;
}

}  // namespace

void Planner::ports(const Function& main) {
  for (size_t i = 0; i < main.inputs.size(); ++i)
    symbols_.bind_input(static_cast<uint32_t>(i), main.inputs[i]);
  if (!module_.variants.empty()) return;  // they are the same for all
  for (const ValueId id : main.inputs) {
    Port port = port_of(graph_, id);
    if (const auto found = graph_.defaults.find(id); found != graph_.defaults.end()) {
      const Constant& c = found->second;
      port.preset = constant_index({c->bytes.data(), c->bytes.size(), c.shared()});
      for (size_t i = 0; i < port.dims.size(); ++i) port.dims[i].preset = c->shape[i];
    }
    module_.inputs.push_back(std::move(port));
  }
  for (size_t i = 0; i < main.outputs.size(); ++i) {
    module_.outputs.push_back(port_of(graph_, main.outputs[i]));
    if (i < graph_.output_names.size()) module_.outputs.back().name = graph_.output_names[i];
  }
}

}  // namespace tilewright::driver
