// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_node.h"

#include "support/str.h"

namespace tilewright::graph {
namespace {

struct OnnxElem {
  int64_t number;
  ir::Elem elem;
};
constexpr OnnxElem kOnnxElems[] = {
    {1, ir::Elem::F32},     {2, ir::Elem::U8},          {3, ir::Elem::I8},
    {4, ir::Elem::U16},     {5, ir::Elem::I16},         {6, ir::Elem::I32},
    {7, ir::Elem::I64},     {9, ir::Elem::Bool},        {10, ir::Elem::F16},
    {11, ir::Elem::F64},    {12, ir::Elem::U32},        {13, ir::Elem::U64},
    {16, ir::Elem::BF16},   {17, ir::Elem::F8E4M3},     {18, ir::Elem::F8E4M3FNUZ},
    {19, ir::Elem::F8E5M2}, {20, ir::Elem::F8E5M2FNUZ}, {21, ir::Elem::U4},
    {22, ir::Elem::I4},     {23, ir::Elem::F4E2M1},     {24, ir::Elem::F8E8M0},
    {25, ir::Elem::U2},     {26, ir::Elem::I2},
};

template <class T>
const T& of_kind(const OnnxNode& node, std::string_view name, const OnnxAttr& attr,
                 const char* kind) {
  if (const T* v = std::get_if<T>(&attr)) return *v;
  node.refuse("graph.attribute.kind", str("attribute `", name, "` is not ", kind),
              str("write it as ", kind));
}

}  // namespace

const OnnxAttr* OnnxNode::find(std::string_view name) const {
  for (const auto& [n, value] : attributes)
    if (n == name) return &value;
  return nullptr;
}

ValueId OnnxNode::need(size_t i) const {
  if (!has(i))
    refuse("graph.input.missing", str("input ", i, " is missing"),
           "give the node all inputs that its operator needs");
  return inputs[i];
}

int64_t OnnxNode::attr_int(std::string_view name) const {
  const OnnxAttr* a = find(name);
  if (!a)
    refuse("graph.attribute.missing", str("attribute `", name, "` is missing"),
           "the operator needs it");
  return of_kind<int64_t>(*this, name, *a, "an integer");
}

int64_t OnnxNode::attr_int(std::string_view name, int64_t otherwise) const {
  return has_attr(name) ? attr_int(name) : otherwise;
}

float OnnxNode::attr_float(std::string_view name, float otherwise) const {
  const OnnxAttr* a = find(name);
  return a ? of_kind<float>(*this, name, *a, "a float") : otherwise;
}

std::string OnnxNode::attr_string(std::string_view name, std::string_view otherwise) const {
  const OnnxAttr* a = find(name);
  return a ? of_kind<std::string>(*this, name, *a, "a string") : std::string(otherwise);
}

std::vector<int64_t> OnnxNode::attr_ints(std::string_view name,
                                         std::vector<int64_t> otherwise) const {
  const OnnxAttr* a = find(name);
  return a ? of_kind<std::vector<int64_t>>(*this, name, *a, "a list of integers") : otherwise;
}

std::vector<float> OnnxNode::attr_floats(std::string_view name,
                                         std::vector<float> otherwise) const {
  const OnnxAttr* a = find(name);
  return a ? of_kind<std::vector<float>>(*this, name, *a, "a list of floats") : otherwise;
}

std::vector<std::string> OnnxNode::attr_strings(std::string_view name) const {
  const OnnxAttr* a = find(name);
  if (!a) return {};
  return of_kind<std::vector<std::string>>(*this, name, *a, "a list of strings");
}

Constant OnnxNode::attr_tensor(std::string_view name) const {
  const OnnxAttr* a = find(name);
  return a ? of_kind<Constant>(*this, name, *a, "a tensor") : Constant();
}

const OnnxSubgraph& OnnxNode::attr_graph(std::string_view name) const {
  const OnnxAttr* a = find(name);
  if (!a)
    refuse("graph.attribute.missing", str("attribute `", name, "` is missing"),
           "the operator needs it");
  return *of_kind<const OnnxSubgraph*>(*this, name, *a, "a graph");
}

std::optional<ir::Elem> OnnxNode::attr_elem(std::string_view name) const {
  if (!has_attr(name)) return std::nullopt;
  const int64_t number = attr_int(name);
  const std::optional<ir::Elem> elem = elem_from_onnx(number);
  if (!elem)
    refuse("graph.attribute.elem", str("attribute `", name, "` names element type ", number),
           "use a number type that ONNX's TensorProto lists; strings and complex numbers have no "
           "place here");
  return elem;
}

void OnnxNode::refuse(std::string_view code, std::string message, std::string help) const {
  throw Error({.code = code,
               .at = {},
               .message = str(op, ": ", message),
               .notes = {str("at ", origin.text), str("opset ", opset)},
               .help = std::move(help)});
}

std::optional<ir::Elem> elem_from_onnx(int64_t number) {
  for (const OnnxElem& e : kOnnxElems)
    if (e.number == number) return e.elem;
  return std::nullopt;
}

int64_t onnx_from_elem(ir::Elem elem) {
  for (const OnnxElem& e : kOnnxElems)
    if (e.elem == elem) return e.number;
  require(false, "an element type that ONNX has not");
  return 0;
}

}  // namespace tilewright::graph
