// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import.h"

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
  for (const ValueInfoProto& input : main.input) {
    if (frame.initializers.contains(input.name)) continue;  // a default that is always taken
    frame.add(input.name, g.input(std::string(input.name), types.type(input)), "the model");
  }
  types.refuse_unused_choices();
  importer.nodes(main.node, frame);
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
        choice != options.dims.end() && std::holds_alternative<graph::FromInput>(s.source))
      s.symbol.likely = choice->second.points;
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
