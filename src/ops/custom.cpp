// SPDX-License-Identifier: Apache-2.0
#include "ops/custom.h"

#include <map>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "graph/onnx_node.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ops/all.h"
#include "ops/define.h"
#include "support/str.h"

namespace tilewright {

/// The attributes of a node of a registered operator, which are known by name only.
struct RegisteredAttrs {
  std::shared_ptr<const ops::CustomOp> op;
  graph::AttrList values;
  std::string node;
  static constexpr std::tuple<> fields{};
};

/// In a text the first of them is the operator.
template <>
graph::AttrList graph::Attrs::list_of<RegisteredAttrs>(const void* erased);

namespace ops {
namespace {

using namespace graph;

std::string full_name(std::string_view domain, std::string_view name) {
  return domain.empty() ? std::string(name) : str(domain, "::", name);
}
std::string full_name(const CustomOp& op) { return full_name(op.domain, op.name); }

/// By full name.
struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const CustomOp>> ops;
};
Registry& registry() {
  static Registry all;
  return all;
}

std::shared_ptr<const CustomOp> find_registered(const std::string& name) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().ops.find(name);
  return found == registry().ops.end() ? nullptr : found->second;
}

constexpr const char* kOperator = "operator";

Attrs read_registered(const AttrList& list) {
  RegisteredAttrs out;
  for (const NamedAttr& attr : list) {
    if (attr.name != kOperator)
      out.values.push_back(attr);
    else if (const std::string* name = std::get_if<std::string>(&attr.value))
      out.op = find_registered(*name);
  }
  if (!out.op)
    throw Error({.code = "ops.custom.unknown",
                 .at = {},
                 .message = "the graph calls an operator that is not registered",
                 .notes = {},
                 .help = "register it with tw.register_op(domain, name, te=…) first, and name it "
                         "in the attribute `operator`"});
  return out;
}

std::optional<AttrValue> value_of(const OnnxAttr& attr) {
  const auto plain = [](const auto& v) -> std::optional<AttrValue> {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<T, float>)
      return static_cast<double>(v);
    else if constexpr (std::is_same_v<T, std::vector<float>>)
      return std::vector<double>(v.begin(), v.end());
    else if constexpr (std::is_same_v<T, std::vector<Constant>> || std::is_pointer_v<T> ||
                       std::is_same_v<T, Type>)
      return std::nullopt;
    else
      return v;
  };
  return std::visit(plain, attr);
}

void import(const OnnxNode& node, Builder& g) {
  RegisteredAttrs attrs{.op = find_registered(full_name(node.domain, node.op)),
                        .values = {},
                        .node = node.origin.text};
  for (const auto& [name, attr] : node.attributes) {
    std::optional<AttrValue> value = value_of(attr);
    if (!value)
      node.refuse("ops.custom.attribute",
                  str("attribute `", name, "` of `", full_name(*attrs.op),
                      "` is a graph, a type or a list of tensors"),
                  "registered operators take numbers, strings, lists of them, and tensors");
    attrs.values.push_back({name, std::move(*value)});
  }
  const OpDef& def = registered_ops()[attrs.op->injective ? 1 : 0];
  g.outputs(node, g.calls(def, attrs, node.inputs, node.outputs.size()));
}

/// The stages behind a tensor, those inside of scans too.
void collect(const te::Stage& stage, std::unordered_set<te::Stage>& seen) {
  if (!seen.insert(stage).second) return;
  for (const te::Tensor& t : stage->reads) collect(t.stage(), seen);
  if (const te::Scan* s = stage->as<te::Scan>())
    for (const te::Stage& inner : s->body) collect(inner, seen);
}

/// An axis that is itself an index must fit into what is read, as far as only the run can tell;
/// what is outside for all sizes te::program refuses. Other indices that are formulas, and reads
/// under a condition, are the definition's own affair.
void check_reads(const Call& call, const te::StageNode& stage, const te::Compute& c) {
  const auto extent_of = [&](const ir::Expr& index) -> const ir::Expr* {
    for (const auto* axes : {&c.axes, &c.reduce_axes})
      for (const te::Iter& axis : *axes)
        if (axis.var == index) return &axis.extent;
    return nullptr;
  };
  const auto check = [&](const ir::Load& load) {
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const ir::Expr& size = load.buffer->shape[d];
      if (const ir::Expr* extent = extent_of(load.indices[d]); extent && !same(*extent, size))
        call.check(*extent <= size, str("`", stage.name(), "` reads ", ir::print(*extent),
                                        " elements of `", load.buffer->name, "` along dimension ",
                                        d, ", which has ", ir::print(size)));
    }
  };
  for (const ir::Expr& value : c.values) {
    bool guarded = false;
    ir::walk(value, [&](const ir::Guard&) { guarded = true; });
    if (!guarded) ir::walk(value, check);
  }
}

void check_stage(const Call& call, const te::StageNode& stage) {
  const CustomOp& op = *call.attrs<RegisteredAttrs>().op;
  const te::Compute* c = stage.as<te::Compute>();
  if (op.injective && (stage.as<te::Scan>() || (c && c->reducer)))
    call.refuse("ops.custom.injective",
                str("`", full_name(op), "` is registered as injective, and `", stage.name(),
                    "` combines several elements"),
                "register it without `injective`");
  if (c) check_reads(call, stage, *c);
}

std::vector<te::Tensor> results_of(const Call& call,
                                   std::vector<std::optional<te::Tensor>> inputs) {
  const RegisteredAttrs& attrs = call.attrs<RegisteredAttrs>();
  return attrs.op->te({std::move(inputs), attrs.values, attrs.node});
}

/// The types of the tensors that the function makes of placeholders.
std::vector<Type> infer(const Call& call) {
  std::vector<std::optional<te::Tensor>> inputs(call.inputs());
  for (size_t i = 0; i < call.inputs(); ++i) {
    if (!call.has(i)) continue;
    const TensorType& t = call.tensor(i);
    if (t.strings)
      call.refuse("ops.custom.strings",
                  str("input ", i, " of `", full_name(*call.attrs<RegisteredAttrs>().op),
                      "` holds strings"),
                  "registered operators compute numbers");
    inputs[i] = te::placeholder(str("in", i), t.elem, te_shape(t.shape));
  }
  const std::vector<te::Tensor> results = results_of(call, std::move(inputs));
  std::unordered_set<te::Stage> stages;
  for (const te::Tensor& t : results) collect(t.stage(), stages);
  for (const te::Stage& stage : stages) check_stage(call, *stage);
  std::vector<Type> types;
  for (const te::Tensor& t : results) {
    Shape shape;
    for (const ir::Expr& extent : t.shape()) shape.push_back(call.extent(extent));
    types.push_back(tensor_of(t.elem(), std::move(shape)));
  }
  return types;
}

std::vector<te::Tensor> define(const Call& call) {
  std::vector<std::optional<te::Tensor>> inputs(call.inputs());
  for (size_t i = 0; i < call.inputs(); ++i)
    if (call.has(i)) inputs[i] = call.in(i);
  std::vector<te::Tensor> results = results_of(call, std::move(inputs));
  // The graph may know an extent by a symbol of its own.
  for (size_t i = 0; i < results.size(); ++i) {
    const te::Tensor was = results[i];
    if (same(Shape(was.shape()), call.out(i).shape)) continue;
    results[i] = te::compute(was.name(), call.out_shape(i), [&](const std::vector<te::Var>& at) {
      return was.at(indices_of(at));
    });
  }
  return results;
}

OpDef make(std::string_view name, FusionKind fusion) {
  return {.name = name,
          .fusion = fusion,
          .infer = infer,
          .algorithms = {{"registered", define}},
          .read_attrs = read_registered};
}

}  // namespace

std::span<const OpDef> registered_ops() {
  static const OpDef ops[] = {make("registered", FusionKind::Opaque),
                              make("registered_injective", FusionKind::Injective)};
  return ops;
}

const OnnxRule* registered_rule(std::string_view domain, std::string_view op) {
  static const OnnxRule rule{.op = "", .rule = import};
  return find_registered(full_name(domain, op)) ? &rule : nullptr;
}

Error definition_error(const std::string& op, const std::string& node, const std::string& what) {
  return Error({.code = "ops.custom.definition",
                .at = {},
                .message = str("the definition of the registered operator `", op, "` ", what),
                .notes = {str("at ", node)},
                .help = "it takes the node's inputs as tensors and its attributes by name, and "
                        "gives one tensor or several"});
}

void register_op(CustomOp op) {
  const std::string name = full_name(op);
  if (op.name.empty() || !op.te)
    throw Error({.code = "ops.custom.incomplete",
                 .at = {},
                 .message = str("operator `", name, "` has no name or no definition"),
                 .notes = {},
                 .help = "say what it is called and what it computes"});
  for (const RuleOf& known : onnx_rules())
    if (known.rule->domain == op.domain && known.rule->op == op.name)
      throw Error({.code = "ops.custom.known",
                   .at = {},
                   .message = str("Tilewright has the operator `", name, "` itself"),
                   .notes = {},
                   .help = "register operators under a domain of your own"});
  const std::lock_guard lock(registry().mutex);
  registry().ops[name] = std::make_shared<const CustomOp>(std::move(op));
}

}  // namespace ops

template <>
graph::AttrList graph::Attrs::list_of<RegisteredAttrs>(const void* erased) {
  const auto& attrs = *static_cast<const RegisteredAttrs*>(erased);
  AttrList out{{ops::kOperator, ops::full_name(*attrs.op)}};
  out.insert(out.end(), attrs.values.begin(), attrs.values.end());
  return out;
}

}  // namespace tilewright
