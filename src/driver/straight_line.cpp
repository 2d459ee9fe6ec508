// SPDX-License-Identifier: Apache-2.0
#include "driver/straight_line.h"

#include "graph/op_def.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using namespace graph;

constexpr const char* kElsewhere =
    "`--emit-library` and a .twm file run every model: use one of them instead of `--emit-c`";

[[noreturn]] void refuse(std::string_view code, std::string message, std::string note,
                         std::string help) {
  throw Error({.code = code,
               .at = {},
               .message = std::move(message),
               .notes = {std::move(note)},
               .help = std::move(help)});
}

void check_input(const Graph& graph, graph::ValueId id) {
  const std::string name = str("input `", graph.value(id).name, "`");
  const TensorType* t = graph.type(id).tensor();
  if (!t || t->strings)
    refuse("driver.emit_c.type", str("cannot write C for ", name),
           str("it is a ", print(graph.type(id)), ", and C has arrays of numbers only"),
           kElsewhere);
  if (graph.defaults.contains(id))
    refuse("driver.emit_c.default", str("cannot write C for ", name),
           "it has a default, and a function in C is given all of its arguments",
           str("remove its initializer, so that it must be given, or the input, so that it is a "
               "constant; ",
               kElsewhere));
  for (const Dim& dim : t->shape)
    if (!ir::const_int(dim))
      refuse(
          "driver.emit_c.input_shape", str("cannot write C for ", name),
          str("its dimension `", ir::print(dim), "` is not constant, and memory is laid out now"),
          str("choose a value: `--dim ", ir::print(dim), "=1`"));
}

void check_node(const Graph& graph, const Node& node, const BuiltKernels& kernels) {
  const std::string message = str("cannot write C for node ", node.origin.text);
  if (node.op->special == Special::Control)
    refuse("driver.emit_c.control", message,
           str("`", node.op->name, "` decides while the model runs what is done next"),
           str("export the model without control flow; ", kElsewhere));
  if (!node.op->host.empty())
    refuse("driver.emit_c.host", message,
           str("`", node.op->name, "` is an operator of the runtime, and there is none"),
           kElsewhere);
  for (const graph::ValueId id : node.outputs) {
    if (id == kNoValue) continue;
    const TensorType* t = graph.type(id).tensor();
    if (!t || t->strings)
      refuse("driver.emit_c.type", message,
             str("it gives a ", print(graph.type(id)), ", and C has arrays of numbers only"),
             kElsewhere);
    if (!const_dims(t->shape))
      refuse("driver.emit_c.size", message,
             str("its result ", print(graph.type(id)), " has a size that depends on values"),
             kElsewhere);
  }
  if (const auto use = kernels.uses.find(&node); use != kernels.uses.end())
    if (!use->second.scalars.empty())
      refuse("driver.emit_c.size", message,
             str("the size `", ir::print(use->second.scalars[0]), "` depends on values"),
             kElsewhere);
}

}  // namespace

void require_straight_line(const Graph& graph, const BuiltKernels& kernels) {
  for (const graph::ValueId id : graph.main().inputs) check_input(graph, id);
  for (const Node& node : graph.main().nodes) {
    bool needed = false;
    for (const graph::ValueId id : node.outputs)
      needed = needed || (id != kNoValue && !graph.value(id).constant);
    if (needed) check_node(graph, node, kernels);
  }
  for (const graph::ValueId id : graph.main().outputs)
    if (const TensorType* t = graph.type(id).tensor(); !t || t->strings)
      refuse("driver.emit_c.type", str("cannot write C for output `", graph.value(id).name, "`"),
             str("it is a ", print(graph.type(id)), ", and C has arrays of numbers only"),
             kElsewhere);
  for (const Check& c : graph.checks)
    if (!ir::vars_of(c.condition).empty())
      refuse("driver.emit_c.size", str("cannot write C for node ", c.origin.text),
             str("what is checked depends on values: ", c.message), kElsewhere);
    else if (ir::is_const(c.condition, 0))
      refuse("driver.emit_c.check", str("node ", c.origin.text, " can never run"), c.message,
             "correct the model, or choose other values with `--dim`");
}

}  // namespace tilewright::driver
