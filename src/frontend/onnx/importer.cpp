// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/importer.h"

#include <algorithm>

#include "frontend/onnx/types.h"
#include "ops/all.h"
#include "ops/control.h"
#include "ops/ops.h"
#include "ops/strings.h"
#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {
namespace {

using graph::kNoValue;
using graph::OnnxAttr;
using graph::OnnxNode;
using graph::ValueId;

[[noreturn]] void refuse(std::string_view code, std::string message, std::string help) {
  throw Error({.code = code,
               .at = {},
               .message = std::move(message),
               .notes = {},
               .help = std::move(help)});
}

}  // namespace

Names names_of(const std::vector<ValueInfoProto>& values) {
  Names out;
  for (const ValueInfoProto& v : values) out.insert(v.name);
  return out;
}

void Frame::add_initializers(const GraphProto& graph) {
  const auto add = [&](std::string_view name, auto tensor) {
    if (!initializers.emplace(name, tensor).second)
      refuse("frontend.onnx.name_twice",
             str("two initialisers have the name `", shortened(name), "`"),
             "every value of a graph has a name of its own: rename one of them");
  };
  for (const TensorProto& t : graph.initializer) add(t.name, &t);
  for (const SparseTensorProto& t : graph.sparse_initializer) add(t.values.name, &t);
}

void Frame::add(std::string_view name, ValueId value, const std::string& origin) {
  bool taken = false;
  for (const Frame* f = this; f; f = f->is_way ? f->outer : nullptr)
    taken = taken || f->initializers.contains(name) || f->values.contains(name);
  if (taken || !values.emplace(name, value).second)
    refuse("frontend.onnx.name_twice",
           str(origin, " makes the value `", shortened(name), "`, which is there already"),
           "every value of a graph has a name of its own: rename one of them");
}

bool Frame::knows(std::string_view name) const {
  for (const Frame* f = this; f; f = f->outer)
    if (f->values.contains(name) || f->initializers.contains(name)) return true;
  return false;
}

/// A subgraph attribute. It sees the names around the node that has it.
class Importer::Subgraph : public graph::OnnxSubgraph {
 public:
  Subgraph(Importer& importer, const GraphProto& graph, Frame& around, std::string origin)
      : importer_(importer), graph_(graph), around_(around), origin_(std::move(origin)) {}

  size_t inputs() const override { return graph_.input.size(); }
  size_t outputs() const override { return graph_.output.size(); }

  graph::Function build(graph::Builder& g, const std::vector<graph::Type>& types) const override {
    if (types.size() != inputs())
      refuse("frontend.onnx.subgraph_inputs",
             str("the subgraph `", shortened(graph_.name), "` of ", origin_, " has ", inputs(),
                 " inputs, the node gives it ", types.size()),
             "give the subgraph the inputs that its operator says");
    const graph::Origin outer_origin = g.origin();
    Frame frame{.outer = &around_, .opsets = around_.opsets, .attributes = around_.attributes};
    frame.top = around_.is_main() ? origin_ : around_.top;
    frame.place = str(" of a subgraph of ", frame.top);
    frame.calls = around_.calls;
    frame.ways = around_.ways;
    g.begin_body(shortened(graph_.name));
    for (size_t i = 0; i < types.size(); ++i) {
      const std::string_view name = graph_.input[i].name;
      frame.add(name, g.body_input(shortened(name), types[i]), origin_);
    }
    frame.add_initializers(graph_);
    importer_.nodes(graph_.node, names_of(graph_.output), frame);
    std::vector<ValueId> outputs;
    for (const ValueInfoProto& output : graph_.output) {
      if (!frame.knows(output.name))
        refuse("frontend.onnx.dangling",
               str("nothing makes the output `", shortened(output.name), "` of a subgraph of ",
                   origin_),
               "check the name, or export the model again");
      outputs.push_back(importer_.find(output.name, frame));
    }
    g.set_origin(outer_origin);
    return g.end_body(outputs);
  }

 private:
  Importer& importer_;
  const GraphProto& graph_;
  Frame& around_;
  std::string origin_;
};

// Functions that call others twice, and subgraphs that are built twice at every level, grow without
// bound in a small file. The limits are far above what exporters write: a file that calls nothing
// has 13 bytes for each node at least.
Importer::Importer(graph::Builder& g, Tensors& tensors, const LocalFunctions& functions,
                   size_t file_size)
    : g_(g),
      tensors_(tensors),
      functions_(functions),
      nodes_left_(40'000 + static_cast<int64_t>(file_size) / 12),
      bytes_left_((int64_t{32} << 20) + 4 * static_cast<int64_t>(file_size)),
      ways_left_(std::min<int64_t>(8'000 + static_cast<int64_t>(file_size) / 50, 20'000)) {}

void Importer::count(const NodeProto& node, const std::string& origin) {
  nodes_left_ -= 1;
  bytes_left_ -= node.size;
  if (nodes_left_ < 0 || bytes_left_ < 0)
    refuse("frontend.onnx.expansion",
           str("the functions and subgraphs of the model expand to too many nodes, at ", origin),
           "call functions less often, or write what they do as a Loop");
}

ValueId Importer::find(std::string_view name, Frame& frame) {
  for (Frame* f = &frame; f; f = f->outer) {
    if (f->values.contains(name)) return known(name, frame);
    if (!f->initializers.contains(name)) continue;
    return f->values[name] =
               g_.constant(content(*f, name), f->is_main() ? std::string(name) : shortened(name));
  }
  require(false, "a name that the frame does not know");
  return kNoValue;
}

ValueId Importer::known(std::string_view name, const Frame& frame) const {
  const auto here = frame.values.find(name);
  if (here == frame.values.end() && (!frame.outer || frame.initializers.contains(name)))
    return kNoValue;
  const ValueId id = here != frame.values.end() ? here->second : known(name, *frame.outer);
  const auto better = frame.better.find(id);
  return better == frame.better.end() ? id : better->second;
}

graph::Constant Importer::content(const Frame& frame, std::string_view name) {
  const std::string text = frame.is_main() ? std::string(name) : shortened(name);
  return std::visit(
      [&](const auto* t) { return tensors_.constant(*t, str("initialiser `", text, "`")); },
      frame.initializers.at(name));
}

graph::Constant Importer::take_initializer(std::string_view name, Frame& frame) {
  graph::Constant out = content(frame, name);
  frame.initializers.erase(name);
  return out;
}

void Importer::nodes(const std::vector<NodeProto>& nodes, const Names& results, Frame& frame) {
  const auto outside = [&](std::string_view name) { return frame.knows(name); };
  NodesLeft left = order_.sorted(nodes, frame.place, outside);
  std::ranges::reverse(left);
  while (!left.empty()) next(left, results, frame);
}

OnnxNode Importer::read(const NodeProto& node, Frame& frame, Subgraphs& subgraphs) {
  OnnxNode out;
  out.origin.text = origin_text(node, frame.place);
  count(node, out.origin.text);
  out.op = node.op_type;
  out.domain = domain_of(node.domain);
  out.name = node.name;
  out.opset = frame.opsets->version(node.domain);
  for (const std::string_view name : node.input)
    out.inputs.push_back(name.empty() ? kNoValue : find(name, frame));
  for (const std::string_view name : node.output)
    out.outputs.push_back(frame.is_main() ? std::string(name) : shortened(name));
  for (const AttributeProto& a : node.attribute)
    if (std::optional<OnnxAttr> value = attribute(a, frame, out.origin.text, subgraphs))
      out.attributes.emplace_back(a.name, std::move(*value));
  return out;
}

void Importer::node(const NodeProto& node, Frame& frame) {
  Subgraphs subgraphs;
  const OnnxNode read = this->read(node, frame, subgraphs);
  std::vector<ValueId> results;
  if (const FunctionProto* f = functions_.called_by(node)) {
    results = call(*f, read, frame);
  } else {
    const graph::OnnxRule* rule = ops::onnx_rule(read.domain, read.op, read.opset);
    require(rule, "the survey lets no unknown operator pass");
    g_.set_origin(read.origin);
    if (!ops::import_on_strings(read, g_)) rule->rule(read, g_);
    results = g_.take_results();
  }
  add_results(node, read, results, frame);
}

void Importer::add_results(const NodeProto& node, const OnnxNode& read,
                           const std::vector<ValueId>& results, Frame& frame) {
  for (size_t i = 0; i < node.output.size(); ++i) {
    if (node.output[i].empty()) continue;
    if (i >= results.size() || results[i] == kNoValue)
      refuse("frontend.onnx.outputs",
             str(read.origin.text, " gives no result ", i, ", which the model calls `",
                 shortened(node.output[i]), "`"),
             "check how many results the operator has in this opset");
    frame.add(node.output[i], results[i], read.origin.text);
  }
}

/// The results of the function's nodes, made where it is called.
std::vector<ValueId> Importer::call(const FunctionProto& f, const OnnxNode& call,
                                    const Frame& frame) {
  const std::string name = full_name(f.domain, f.name);
  const auto wrong = [&](std::string_view code, const std::string& fact, std::string help) {
    refuse(code, str(call.origin.text, " calls function `", name, "` ", fact), std::move(help));
  };
  if (frame.calls >= kMaxCalls)
    wrong("frontend.onnx.recursion", str("more than ", kMaxCalls, " calls deep"),
          "write the functions that it calls into one");
  if (call.inputs.size() > f.input.size())
    wrong("frontend.onnx.function_inputs",
          str("with ", call.inputs.size(), " inputs, it has ", f.input.size()),
          "give it the inputs that it declares");

  std::unordered_map<std::string_view, OnnxAttr> attributes;
  for (const auto& [key, value] : call.attributes) attributes.emplace(key, value);
  const Opsets opsets(f.opset_import, str("function `", name, "`"));
  Frame body{.opsets = &opsets, .attributes = &attributes};
  body.top = frame.is_main() ? call.origin.text : frame.top;
  body.place = str(" of function \"", name, "\" for ", body.top);
  body.calls = frame.calls + 1;
  body.ways = frame.ways;
  Subgraphs subgraphs;
  for (const AttributeProto& a : f.attribute_proto)  // defaults
    if (!attributes.contains(a.name))
      if (std::optional<OnnxAttr> value = attribute(a, body, call.origin.text, subgraphs))
        attributes.emplace(a.name, std::move(*value));
  for (size_t i = 0; i < f.input.size(); ++i)
    body.add(f.input[i], i < call.inputs.size() ? call.inputs[i] : kNoValue, call.origin.text);
  nodes(f.node, Names(f.output.begin(), f.output.end()), body);
  std::vector<ValueId> results;
  for (const std::string_view output : f.output) {
    if (!body.knows(output))
      wrong("frontend.onnx.dangling",
            str("whose output `", shortened(output), "` no node of it makes"),
            "check the name, or export the model again");
    results.push_back(find(output, body));
  }
  return results;
}

std::optional<OnnxAttr> Importer::attribute(const AttributeProto& a, Frame& frame,
                                            const std::string& origin, Subgraphs& subgraphs) {
  const std::string what = str("attribute `", shortened(a.name), "` of ", origin);
  if (!a.ref_attr_name.empty()) {
    if (!frame.attributes)
      refuse("frontend.onnx.attribute_reference",
             str(what, " refers to an attribute of a function, but stands in none"),
             "give it a value");
    const auto given = frame.attributes->find(a.ref_attr_name);
    if (given == frame.attributes->end()) return std::nullopt;  // the operator's own default
    return given->second;
  }
  const auto there = [&](const auto& pointer) -> const auto& {
    if (!pointer)
      refuse("frontend.onnx.attribute_value", str(what, " has no value"),
             "the file may be damaged: export or download the model again");
    return *pointer;
  };
  switch (a.type) {
    case AttributeProto::FLOAT: return a.f;
    case AttributeProto::INT: return a.i;
    case AttributeProto::STRING: return std::string(a.s);
    case AttributeProto::TENSOR: return tensors_.constant(there(a.t), what);
    case AttributeProto::SPARSE_TENSOR: return tensors_.constant(there(a.sparse_tensor), what);
    case AttributeProto::GRAPH:
      subgraphs.push_back(std::make_unique<Subgraph>(*this, there(a.g), frame, origin));
      return static_cast<const graph::OnnxSubgraph*>(subgraphs.back().get());
    case AttributeProto::FLOATS: return a.floats;
    case AttributeProto::INTS: return a.ints;
    case AttributeProto::STRINGS:
      return std::vector<std::string>(a.strings.begin(), a.strings.end());
    case AttributeProto::TYPE_PROTO: return fixed_type(there(a.tp), what);
    case AttributeProto::TENSORS: {
      std::vector<graph::Constant> all;
      for (const TensorProto& t : a.tensors) all.push_back(tensors_.constant(t, what));
      return all;
    }
  }
  refuse("frontend.onnx.attribute_type", str(what, " has type ", a.type),
         "no operator of ONNX has attributes of this type: check the model, or use a newer version "
         "of Tilewright");
}

}  // namespace tilewright::frontend::onnx
