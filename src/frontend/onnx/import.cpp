// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import.h"

#include <algorithm>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/survey.h"
#include "frontend/onnx/types.h"
#include "support/diagnostic.h"
#include "support/mapped_file.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {
namespace {

constexpr int64_t kNewestIr = 14;  // of onnx 1.23

[[noreturn]] void refuse(std::string_view code, std::string message, std::string help) {
  throw Error({.code = code,
               .at = {},
               .message = std::move(message),
               .notes = {},
               .help = std::move(help)});
}

void check_model(const ModelProto& model) {
  if (!model.graph)
    refuse("frontend.onnx.no_graph", "not an ONNX model: it holds no graph",
           "the file may be cut off, or of another format: export or download the model again");
  if (model.ir_version > kNewestIr)
    refuse("frontend.onnx.ir_version",
           str("the model has IR version ", model.ir_version, ", the newest known is ", kNewestIr),
           "save it with an older version of onnx, or use a newer version of Tilewright");
  if (model.ir_version >= 3 && model.opset_import.empty())
    refuse("frontend.onnx.opset", "the model does not say for which opset it is written",
           "export it again: a model lists its opsets in `opset_import`");
}

std::map<std::string, std::string> metadata_of(const ModelProto& model) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : model.metadata_props) out.emplace(key, value);
  const auto add = [&](const char* key, std::string_view value) {
    if (!value.empty()) out.insert_or_assign(key, std::string(value));
  };
  add("onnx.producer_name", model.producer_name);
  add("onnx.producer_version", model.producer_version);
  add("onnx.domain", model.domain);
  add("onnx.doc_string", model.doc_string);
  add("onnx.graph_name", model.graph->name);
  add("onnx.ir_version", std::to_string(model.ir_version));
  add("onnx.model_version", std::to_string(model.model_version));
  return out;
}

/// Does the type that the model declares speak of the same elements as the inferred one?
void check_output(const ValueInfoProto& output, const graph::Type& inferred) {
  if (output.type.kind != TypeProto::Kind::Tensor || output.type.elem_type == 0) return;
  const std::string what = str("output `", shortened(output.name), "`");
  const ElemOrStrings declared = elem_type(output.type.elem_type, what);
  const auto agrees = [&](ir::Elem elem, bool strings) {
    return strings == declared.strings && (strings || elem == declared.elem);
  };
  const graph::TensorType* t = inferred.tensor();
  const graph::UnrankedType* u = inferred.unranked();
  if ((t && agrees(t->elem, t->strings)) || (u && agrees(u->elem, u->strings))) return;
  refuse("frontend.onnx.output_type",
         str(what, " is declared as a tensor of ",
             declared.strings ? "string" : ir::name(declared.elem), ", but the nodes make ",
             graph::print(inferred)),
         "correct the declaration, or put a Cast before the output");
}

/// Can a run give these sizes for the input?
bool fits(const graph::Graph& graph, const graph::TensorType& input,
          const std::vector<int64_t>& sizes) {
  if (input.shape.size() != sizes.size()) return false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (ir::is_const(input.shape[d], sizes[d])) continue;
    const auto s = std::ranges::find_if(graph.symbols, [&](const graph::SymbolInfo& info) {
      return info.symbol.var == input.shape[d];
    });
    if (s == graph.symbols.end() || sizes[d] < s->symbol.min || sizes[d] > s->symbol.max)
      return false;
  }
  return true;
}

/// Up to IR version 3 every initialiser had to be listed as an input. Since then only those are
/// that a run may give something else for. Strings are constants all the same.
void inputs_with_defaults(const GraphProto& main, InputTypes& types, graph::Builder& g,
                          Importer& importer, Frame& frame) {
  for (const ValueInfoProto& input : main.input) {
    const auto found = frame.initializers.find(input.name);
    if (found == frame.initializers.end() || input.type.elem_type == kStringType) continue;
    const graph::Constant content = importer.take_initializer(input.name, frame);
    ValueInfoProto declared{.name = input.name, .type = {}};
    declared.type.kind = input.type.kind;
    declared.type.elem_type = input.type.elem_type;
    declared.type.shape = input.type.shape;
    if (!declared.type.shape) declared.type.shape.emplace(content->shape.size());
    const graph::Type type = types.type(declared);
    const graph::TensorType* tensor = type.tensor();
    if (!tensor || content->is_strings || tensor->elem != content->elem ||
        !fits(g.graph(), *tensor, content->shape))
      refuse("frontend.onnx.default_type",
             str("input `", shortened(input.name), "` is ", graph::print(type),
                 ", but its default, the initializer of this name, is ",
                 graph::print(graph::Type(content->type()))),
             "correct one of them, choose sizes that the default has, or remove the initializer, "
             "so that the input must be given");
    const graph::ValueId id = g.input(std::string(input.name), type);
    frame.add(input.name, id, "the model");
    g.graph().defaults.emplace(id, content);
  }
}

}  // namespace

graph::Graph read_model(Bytes bytes, std::shared_ptr<const void> owner,
                        const ImportOptions& options) {
  const ModelProto model = read_model_proto(bytes);
  check_model(model);
  const GraphProto& main = *model.graph;
  const Opsets opsets(model.opset_import, "the model");
  const LocalFunctions functions(model.functions);
  survey(model, opsets, functions);

  graph::Builder g;
  Tensors tensors(bytes, std::move(owner), options);
  Importer importer(g, tensors, functions, bytes.size());
  Frame frame{.opsets = &opsets};
  frame.add_initializers(main);
  InputTypes types(main, options.dims, g);
  for (const ValueInfoProto& input : main.input)
    if (!frame.initializers.contains(input.name))
      frame.add(input.name, g.input(std::string(input.name), types.type(input)), "the model");
  if (model.ir_version >= 4) inputs_with_defaults(main, types, g, importer, frame);
  types.refuse_unused_choices();
  importer.nodes(main.node, names_of(main.output), frame);
  for (const ValueInfoProto& output : main.output) {
    if (!frame.knows(output.name))
      refuse("frontend.onnx.dangling",
             str("nothing makes the output `", shortened(output.name), "` of the model"),
             "check the name, or export the model again");
    const graph::ValueId value = importer.find(output.name, frame);
    check_output(output, g.type(value));
    g.output(value, std::string(output.name));
  }
  graph::Graph graph = g.take();
  for (graph::SymbolInfo& s : graph.symbols)
    if (const auto choice = options.dims.find(std::string(s.symbol.var.name()));
        choice != options.dims.end() && std::holds_alternative<graph::FromInput>(s.source)) {
      s.symbol.likely = choice->second.points;
      std::erase_if(s.symbol.likely, [&](int64_t n) {  // those that checks exclude
        return n < s.symbol.min || n > s.symbol.max;
      });
    }
  graph.metadata.merge(metadata_of(model));  // rules may have described ports
  return graph;
}

graph::Graph read_model(const std::filesystem::path& path, const ImportOptions& options) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  ImportOptions here = options;
  if (here.folder.empty()) {
    here.folder = path.parent_path();
    if (here.folder.empty()) here.folder = ".";
  }
  return read_model(file->bytes(), file, here);
}

}  // namespace tilewright::frontend::onnx
