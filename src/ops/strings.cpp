// SPDX-License-Identifier: Apache-2.0
#include "ops/strings.h"

#include <algorithm>
#include <array>

#include "ops/all.h"
#include "ops/as_onnx.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

struct StringSplitAttrs {
  std::string delimiter;  // empty: white space
  int64_t most = -1;      // splits; -1: all
  static constexpr auto fields = std::tuple{field("delimiter", &StringSplitAttrs::delimiter),
                                            field("most", &StringSplitAttrs::most)};
};
enum class CaseChange : uint8_t { None, Lower, Upper };
struct NormalizerAttrs {
  CaseChange change = CaseChange::None;
  bool case_sensitive = false;
  std::vector<std::string> stopwords = {};
  static constexpr auto fields =
      std::tuple{field("change", &NormalizerAttrs::change),
                 field("case_sensitive", &NormalizerAttrs::case_sensitive),
                 field("stopwords", &NormalizerAttrs::stopwords)};
};
struct PatternAttrs {
  std::string pattern;
  static constexpr auto fields = std::tuple{field("pattern", &PatternAttrs::pattern)};
};

void need_strings(const Call& call, size_t i) {
  if (!call.tensor(i).strings)
    call.refuse("ops.strings.type", str("input ", i, " is ", print(call.type(i))),
                "give a tensor of strings");
}

Type strings_of(Shape shape) {
  TensorType type;
  type.elem = Elem::U8;
  type.shape = std::move(shape);
  type.strings = true;
  return type;
}

std::vector<Type> infer_concat(const Call& call) {
  need_strings(call, 0);
  need_strings(call, 1);
  return {strings_of(broadcast(call, call.shape(0), call.shape(1)))};
}

std::vector<Type> infer_equal(const Call& call) {
  need_strings(call, 0);
  need_strings(call, 1);
  return {tensor_of(Elem::Bool, broadcast(call, call.shape(0), call.shape(1)))};
}

std::vector<Type> infer_split(const Call& call) {
  need_strings(call, 0);
  Shape parts = call.shape(0);
  parts.push_back(Dim());
  return {strings_of(parts), tensor_of(Elem::I64, call.shape(0))};
}

std::vector<Type> infer_normalize(const Call& call) {
  need_strings(call, 0);
  if (call.rank(0) != 1 && call.rank(0) != 2)
    call.refuse("ops.string_normalizer.rank", str("the input is ", print(call.type(0))),
                "give strings [n] or [1, n]");
  Shape shape = call.shape(0);
  shape.back() = Dim();
  return {strings_of(shape)};
}

std::vector<Type> infer_match(const Call& call) {
  need_strings(call, 0);
  return {tensor_of(Elem::Bool, call.shape(0))};
}

// (x, keys [k]): the number of the first equal key, or -1.
std::vector<Type> infer_find(const Call& call) {
  need_strings(call, 0);
  need_strings(call, 1);
  return {tensor_of(Elem::I64, call.shape(0))};
}

// (numbers or -1, values [k], the value for -1 [1])
std::vector<Type> infer_choose(const Call& call) {
  need_strings(call, 1);
  return {strings_of(call.shape(0))};
}

// (tensors of strings…): all elements one after the other.
std::vector<Type> infer_join(const Call& call) {
  Dim count = 0;
  for (size_t i = 0; i < call.inputs(); ++i) {
    need_strings(call, i);
    count = count + graph::elements(call.shape(i));
  }
  return {strings_of({simplified(count)})};
}

// (strings, i64 numbers of them in row-major order): those.
std::vector<Type> infer_take(const Call& call) {
  need_strings(call, 0);
  return {strings_of(call.shape(1))};
}

std::vector<Type> infer_parse(const Call& call) {
  need_strings(call, 0);
  return {tensor_of(call.attrs<CastAttrs>().to, call.shape(0))};
}

std::vector<Type> infer_print(const Call& call) { return {strings_of(call.shape(0))}; }

// (x): 0, 1, … in its shape.
std::vector<Type> infer_numbers(const Call& call) { return {tensor_of(Elem::I64, call.shape(0))}; }

void concat(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("string_concat"), {}, {n.need(0), n.need(1)}));
}

void split(const OnnxNode& n, Builder& g) {
  const StringSplitAttrs attrs{.delimiter = n.attr_string("delimiter", ""),
                               .most = n.attr_int("maxsplit", -1)};
  g.outputs(n, g.calls(op("string_split"), attrs, {n.need(0)}, 2));
}

void normalize(const OnnxNode& n, Builder& g) {
  const std::string change = n.attr_string("case_change_action", "NONE");
  if (change != "NONE" && change != "LOWER" && change != "UPPER")
    n.refuse("ops.string_normalizer.case", str("case_change_action is `", change, "`"),
             "use NONE, LOWER or UPPER");
  const NormalizerAttrs attrs{.change = change == "LOWER"   ? CaseChange::Lower
                                        : change == "UPPER" ? CaseChange::Upper
                                                            : CaseChange::None,
                              .case_sensitive = n.attr_int("is_case_sensitive", 0) != 0,
                              .stopwords = n.attr_strings("stopwords")};
  g.output(n, g.call(op("string_normalize"), attrs, {n.need(0)}));
}

void match(const OnnxNode& n, Builder& g) {
  const PatternAttrs attrs{.pattern = n.attr_string("pattern", "")};
  g.output(n, g.call(op("string_match"), attrs, {n.need(0)}));
}

constexpr int64_t kOnnxString = 8;

/// Operators whose result holds elements of their inputs, wherever they stand.
constexpr std::array<std::string_view, 15> kMovers = {
    "Compress",  "Concat",          "DepthToSpace",
    "Expand",    "Gather",          "GatherElements",
    "GatherND",  "ReverseSequence", "ScatterElements",
    "ScatterND", "Slice",           "Split",
    "Tile",      "Transpose",       "Where"};

bool is_strings(const Builder& g, ValueId id) {
  const TensorType* t = id == kNoValue ? nullptr : g.type(id).tensor();
  return t && t->strings;
}

/// Lets the operator's own rule move numbers of elements, and takes those elements.
void move(const OnnxNode& n, Builder& g) {
  OnnxNode numbers = n;
  std::vector<ValueId> sources;
  ValueId before = kNoValue;  // how many strings the sources before have
  for (ValueId& id : numbers.inputs) {
    if (!is_strings(g, id)) continue;
    const ValueId source = id;
    id = g.call(op("numbers_of"), {}, {source});
    if (before != kNoValue) id = g.call(op("add"), {}, {id, before});
    const ValueId count = as_onnx(n, g, "Size", {source}, AttrPairs{});
    before = before == kNoValue ? count : g.call(op("add"), {}, {before, count});
    sources.push_back(source);
  }
  for (size_t i = 0; i < numbers.outputs.size(); ++i)
    if (!numbers.outputs[i].empty()) numbers.outputs[i] += ".numbers";
  onnx_rule(n.domain, n.op, n.opset)->rule(numbers, g);
  const std::vector<ValueId> moved = g.take_results();
  const ValueId all = sources.size() == 1 ? sources[0] : g.call(op("string_join"), {}, sources);
  std::vector<ValueId> results;
  for (const ValueId id : moved)
    results.push_back(id == kNoValue ? id : g.call(op("string_take"), {}, {all, id}));
  g.outputs(n, results);
}

template <class T = NoAttrs>
OpDef host(std::string_view name, std::vector<Type> (*infer)(const Call&),
           std::vector<OnnxRule> onnx = {}) {
  return define_op<T>({.name = name, .infer = infer, .host = name, .onnx = std::move(onnx)});
}

std::vector<te::Tensor> numbers(const Call& call) {
  return {te::compute("numbers", call.out_shape(), [&](const std::vector<te::Var>& at) {
    te::Expr number = te::cast(Elem::I64, 0);
    for (size_t d = 0; d < at.size(); ++d) number = number * te::Expr(call.shape(0)[d]) + at[d];
    return number;
  })};
}

}  // namespace

bool import_on_strings(const OnnxNode& n, Builder& g) {
  if (!n.domain.empty() && n.domain != "ai.onnx") return false;
  const bool any =
      std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId id) { return is_strings(g, id); });
  if (n.op == "Cast" && n.opset < 6) return false;  // its `to` is a text, and no type of strings
  if (n.op == "Cast" || n.op == "CastLike") {
    const bool to_strings =
        n.op == "Cast" ? n.attr_int("to", 0) == kOnnxString : is_strings(g, n.in(1));
    if (!to_strings && !is_strings(g, n.in(0))) return false;
    if (to_strings && is_strings(g, n.in(0))) {
      g.output(n, n.in(0));
    } else if (to_strings) {
      g.output(n, g.call(op("string_print"), {}, {n.need(0)}));
    } else {
      const Elem to =
          n.op == "Cast" ? n.attr_elem("to").value_or(Elem::F32) : g.tensor(n.need(1)).elem;
      g.output(n, g.call(op("string_parse"), CastAttrs{.to = to}, {n.need(0)}));
    }
    return true;
  }
  if (!any) return false;
  if (n.op == "Equal") {
    g.output(n, g.call(op("string_equal"), {}, {n.need(0), n.need(1)}));
    return true;
  }
  if (std::find(kMovers.begin(), kMovers.end(), n.op) == kMovers.end()) return false;
  move(n, g);
  return true;
}

std::span<const OpDef> string_ops() {
  static const std::array<OpDef, 12> defs = {
      host("string_concat", infer_concat, {{.op = "StringConcat", .from = 20, .rule = concat}}),
      host("string_equal", infer_equal),
      host<StringSplitAttrs>("string_split", infer_split,
                             {{.op = "StringSplit", .from = 20, .rule = split}}),
      host<NormalizerAttrs>("string_normalize", infer_normalize,
                            {{.op = "StringNormalizer", .from = 10, .rule = normalize}}),
      host<PatternAttrs>("string_match", infer_match,
                         {{.op = "RegexFullMatch", .from = 20, .rule = match}}),
      host("string_find", infer_find),
      host("string_choose", infer_choose),
      host("string_join", infer_join),
      host("string_take", infer_take),
      host<CastAttrs>("string_parse", infer_parse),
      host("string_print", infer_print),
      define_op({.name = "numbers_of",
                 .fusion = FusionKind::Injective,
                 .infer = infer_numbers,
                 .algorithms = {{.name = "direct", .define = numbers}}}),
  };
  return defs;
}

}  // namespace tilewright::ops
