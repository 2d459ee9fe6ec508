// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/types.h"

#include <algorithm>
#include <charconv>

#include "frontend/onnx/names.h"
#include "frontend/onnx/tensor.h"
#include "graph/onnx_node.h"
#include "ops/ml_maps.h"
#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {
namespace {

using graph::Dim;
using graph::Type;

[[noreturn]] void refuse(std::string_view code, std::string message, std::string help,
                         std::vector<std::string> notes = {}) {
  throw Error({.code = code,
               .at = {},
               .message = std::move(message),
               .notes = std::move(notes),
               .help = std::move(help)});
}

[[noreturn]] void refuse_kind(const TypeProto& type, const std::string& what) {
  constexpr const char* kNames[] = {"nothing",     "a tensor",        "a sequence",    "a map",
                                    "an optional", "a sparse tensor", "an opaque type"};
  refuse("frontend.onnx.type", str(what, " is ", kNames[static_cast<size_t>(type.kind)]),
         "tensors, sequences, optionals and the maps of a DictVectorizer are there: change the "
         "model so "
         "that it takes those");
}

std::string input_text(const ValueInfoProto& input) {
  return str("input `", shortened(input.name), "`");
}

}  // namespace

std::pair<std::string, DimRange> parse_dim(std::string_view text) {
  const auto wrong = [&](const std::string& why = "does not say what a dimension is") {
    refuse("frontend.onnx.dim_choice", str("`", text, "` ", why),
           "write NAME=VALUE, NAME=LEAST..GREATEST or NAME=LEAST..GREATEST:POINT,POINT, such as "
           "batch=8, batch=1..32 or batch=1..32:1,8");
  };
  const size_t equal = text.rfind('=');  // names may hold one, numbers do not
  if (equal == 0 || equal == std::string_view::npos) wrong();
  const auto number = [&](std::string_view digits) {
    int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (error == std::errc::result_out_of_range || value > graph::kMaxSize)
      wrong(str("has a size above ", graph::kMaxSize, ", the greatest that there is"));
    if (error != std::errc() || stop != end || value < 0) wrong();
    return value;
  };
  std::string_view range = text.substr(equal + 1), points;
  if (const size_t colon = range.find(':'); colon != std::string_view::npos) {
    points = range.substr(colon + 1);
    range = range.substr(0, colon);
    if (points.empty()) wrong();
  }
  const size_t dots = range.find("..");
  DimRange out;
  out.min = number(range.substr(0, dots));
  out.max = dots == std::string_view::npos ? out.min : number(range.substr(dots + 2));
  if (out.max < out.min) wrong("has a least size above the greatest");
  while (!points.empty()) {
    const size_t comma = points.find(',');
    out.points.push_back(number(points.substr(0, comma)));
    points = comma == std::string_view::npos ? "" : points.substr(comma + 1);
  }
  return {std::string(text.substr(0, equal)), out};
}

std::map<std::string, DimRange> parse_dims(const std::vector<std::string>& texts) {
  std::map<std::string, DimRange> out;
  for (const std::string& text : texts) {
    auto [name, range] = parse_dim(text);
    if (!out.emplace(name, std::move(range)).second)
      refuse("frontend.onnx.dim_twice", str("`", text, "` says again what `", name, "` is"),
             "give each dimension once; NAME=LEAST..GREATEST is a range of sizes");
  }
  return out;
}

ElemOrStrings elem_type(int64_t data_type, const std::string& what) {
  if (data_type == kStringType) return {.strings = true};
  return {.elem = element_type(data_type, what)};
}

Type fixed_type(const TypeProto& type, const std::string& what) {
  using Kind = TypeProto::Kind;
  if (type.kind == Kind::Sequence && type.element)
    return graph::sequence_of(fixed_type(*type.element, what));
  if (type.kind == Kind::Optional && type.element)
    return graph::optional_of(fixed_type(*type.element, what));
  if (type.kind != Kind::Tensor) refuse_kind(type, what);
  const ElemOrStrings of = elem_type(type.elem_type, what);
  std::vector<int64_t> dims;
  bool fixed = type.shape.has_value();
  if (fixed)
    for (const TypeProto::Dimension& d : *type.shape) {
      const int64_t* value = std::get_if<int64_t>(&d);
      fixed = fixed && value && *value >= 0;
      if (fixed) dims.push_back(*value);
    }
  if (!fixed) return graph::UnrankedType{.elem = of.elem, .strings = of.strings};
  checked_count(dims, what);
  return graph::TensorType{.elem = of.elem, .shape = graph::dims(dims), .strings = of.strings};
}

InputTypes::InputTypes(const GraphProto& graph, const std::map<std::string, DimRange>& choices,
                       graph::Builder& g)
    : graph_(graph), choices_(choices), g_(g) {
  for (const ValueInfoProto& input : graph.input)
    if (input.type.shape)
      for (const TypeProto::Dimension& d : *input.type.shape)
        if (const std::string_view* name = std::get_if<std::string_view>(&d); name && *name != "?")
          names_.emplace(*name);
}

Type InputTypes::type(const ValueInfoProto& input) {
  const std::string what = input_text(input);
  if (input.type.kind == TypeProto::Kind::Map) return map(input);
  // Elements of a sequence have shapes of their own: no symbol stands for a dimension of them all.
  if (input.type.kind != TypeProto::Kind::Tensor) return fixed_type(input.type, what);
  const ElemOrStrings of = elem_type(input.type.elem_type, what);
  if (!input.type.shape) return graph::UnrankedType{.elem = of.elem, .strings = of.strings};
  graph::TensorType type{.elem = of.elem, .shape = {}, .strings = of.strings};
  std::vector<int64_t> known;
  for (size_t axis = 0; axis < input.type.shape->size(); ++axis) {
    if (axis == kMaxRank) checked_count(std::vector<int64_t>(input.type.shape->size()), what);
    type.shape.push_back(dimension(input, axis, (*input.type.shape)[axis]));
    if (const std::optional<int64_t> value = ir::const_int(type.shape.back()))
      known.push_back(*value);
  }
  checked_count(known, what);
  return type;
}

/// A row with the value of each key that the model asks for (ops/ml_maps.h).
Type InputTypes::map(const ValueInfoProto& input) {
  const auto list = [](const NodeProto& node, std::string_view name) -> const AttributeProto* {
    for (const AttributeProto& a : node.attribute)
      if (a.name == name) return &a;
    return nullptr;
  };
  for (const NodeProto& node : graph_.node) {
    if (node.op_type != "DictVectorizer" || node.input.empty() || node.input[0] != input.name)
      continue;
    std::vector<std::string> texts;
    std::vector<int64_t> numbers;
    if (const AttributeProto* a = list(node, "string_vocabulary"))
      texts.assign(a->strings.begin(), a->strings.end());
    if (const AttributeProto* a = list(node, "int64_vocabulary")) numbers = a->ints;
    const auto keys = static_cast<int64_t>(std::max(texts.size(), numbers.size()));
    if (!input.type.element || input.type.element->kind != TypeProto::Kind::Tensor) break;
    ops::describe_map(g_, std::string(input.name), texts, numbers);
    const ElemOrStrings of = elem_type(input.type.element->elem_type, input_text(input));
    return graph::TensorType{
        .elem = of.elem, .shape = graph::dims({1, keys}), .strings = of.strings};
  }
  refuse_kind(input.type, input_text(input));
}

Dim InputTypes::dimension(const ValueInfoProto& input, size_t axis,
                          const TypeProto::Dimension& dimension) {
  const int64_t* value = std::get_if<int64_t>(&dimension);
  if (value && *value < -1)
    refuse("frontend.onnx.input_dim",
           str("dimension ", axis, " of ", input_text(input), " is ", *value),
           "give it a size, a name, or -1 for one that is known only when the model runs");
  if (value && *value >= 0) return *value;

  std::string name;
  if (const std::string_view* given = std::get_if<std::string_view>(&dimension)) name = *given;
  if (name.empty() || name == "?") {  // how some exporters write "any"
    name = str(input.name, "_", axis);
    while (names_.contains(name)) name += "_";
  }
  used_.insert(name);
  const auto choice = choices_.find(name);
  if (choice == choices_.end()) return g_.symbol(name);
  const auto& [min, max, points] = choice->second;
  if (min < 0 || max > graph::kMaxSize || min > max)
    refuse("frontend.onnx.dim_choice", str("dimension `", name, "` has the range ", min, "..", max),
           str("choose sizes of 0 to ", graph::kMaxSize, ", the least one first"));
  for (const int64_t p : points)
    if (p < min || p > max)
      refuse("frontend.onnx.dim_choice",
             str("dimension `", name, "` has the range ", min, "..", max, " and the point ", p),
             "choose points inside of the range");
  return min == max ? Dim(min) : g_.symbol(name, min, max);
}

void InputTypes::refuse_unused_choices() const {
  for (const auto& [name, range] : choices_)
    if (!used_.contains(name)) {
      std::string known;
      for (const std::string& n : used_)
        if (known.size() < 1000) known += str(known.empty() ? "`" : ", `", n, "`");
      refuse("frontend.onnx.dim_choice", str("no input has a dimension `", name, "`"),
             known.empty() ? "leave the choice out: every dimension of the model is a number"
                           : "choose one of those that are there",
             known.empty() ? std::vector<std::string>{} : std::vector{str("there is ", known)});
    }
}

}  // namespace tilewright::frontend::onnx
