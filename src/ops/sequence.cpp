// SPDX-License-Identifier: Apache-2.0
// Sequences, optionals and tensors of unknown rank: host operators. SequenceMap is a loop over the
// items.
#include <array>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/control.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

struct KindAttrs {
  Elem elem = Elem::F32;
  bool strings = false;
  bool sequence = false;  // of an optional: it would hold a sequence
  static constexpr auto fields =
      std::tuple{field("elem", &KindAttrs::elem), field("strings", &KindAttrs::strings),
                 field("sequence", &KindAttrs::sequence)};
};
struct SplitSequenceAttrs {
  int64_t axis = 0;
  bool keepdims = true;
  static constexpr auto fields = std::tuple{field("axis", &SplitSequenceAttrs::axis),
                                            field("keepdims", &SplitSequenceAttrs::keepdims)};
};
struct ConcatSequenceAttrs {
  int64_t axis = 0;
  bool new_axis = false;
  int64_t rank = 0;  // of items whose type does not tell it
  static constexpr auto fields = std::tuple{field("axis", &ConcatSequenceAttrs::axis),
                                            field("new_axis", &ConcatSequenceAttrs::new_axis),
                                            field("rank", &ConcatSequenceAttrs::rank)};
};

struct RankAttrs {
  int64_t rank = 0;
  static constexpr auto fields = std::tuple{field("rank", &RankAttrs::rank)};
};

Type empty_sequence(Elem elem, bool strings) {
  return SequenceType{std::make_shared<const Type>(UnrankedType{elem, strings}), true};
}

const SequenceType& need_sequence(const Call& call, size_t i) {
  const SequenceType* s = call.type(i).sequence();
  if (!s)
    call.refuse("ops.sequence.type", str("input ", i, " is ", print(call.type(i))),
                "give a sequence");
  return *s;
}

Type merged_item(const Call& call, const Type& a, const Type& b) {
  const std::optional<Type> both = merged(a, b);
  if (!both)
    call.refuse("ops.sequence.item", str(print(b), " cannot stand beside ", print(a)),
                "give all items of a sequence the same element type");
  return *both;
}

std::vector<Type> infer_construct(const Call& call) {
  Type item = call.type(0);
  for (size_t i = 1; i < call.inputs(); ++i) item = merged_item(call, item, call.type(i));
  return {sequence_of(item)};
}

std::vector<Type> infer_empty(const Call& call) {
  const KindAttrs& attrs = call.attrs<KindAttrs>();
  return {empty_sequence(attrs.elem, attrs.strings)};
}

std::vector<Type> infer_insert(const Call& call) {
  const SequenceType& s = need_sequence(call, 0);
  const Type both = merged_item(call, *s.element, call.type(1));
  return {sequence_of(s.empty ? call.type(1) : both)};
}

std::vector<Type> infer_erase(const Call& call) {
  need_sequence(call, 0);
  return {call.type(0)};
}

std::vector<Type> infer_at(const Call& call) { return {*need_sequence(call, 0).element}; }

std::vector<Type> infer_length(const Call& call) {
  need_sequence(call, 0);
  return {tensor_of(Elem::I64, {})};
}

std::vector<Type> infer_split(const Call& call) {
  const SplitSequenceAttrs& attrs = call.attrs<SplitSequenceAttrs>();
  TensorType item = call.tensor(0);
  const auto axis = static_cast<size_t>(normal_axis(call, attrs.axis, item.rank()));
  if (call.has(1)) {
    need_int(call, 1);
    item.shape[axis] = Dim();
  } else if (attrs.keepdims) {
    item.shape[axis] = 1;
  } else {
    item.shape.erase(item.shape.begin() + static_cast<ptrdiff_t>(axis));
  }
  return {sequence_of(item)};
}

std::vector<Type> infer_concat(const Call& call) {
  const ConcatSequenceAttrs& attrs = call.attrs<ConcatSequenceAttrs>();
  const Type& element = *need_sequence(call, 0).element;
  TensorType out;
  if (const UnrankedType* t = element.unranked())
    out = {.elem = t->elem,
           .shape = Shape(static_cast<size_t>(std::max<int64_t>(attrs.rank, 0))),
           .strings = t->strings};
  else if (element.tensor())
    out = *element.tensor();
  else
    return {element};
  const int axis = normal_axis(call, attrs.axis, out.rank() + (attrs.new_axis ? 1 : 0));
  if (attrs.new_axis)
    out.shape.insert(out.shape.begin() + axis, Dim());
  else
    out.shape.at(static_cast<size_t>(axis)) = Dim();
  return {out};
}

std::vector<Type> infer_optional(const Call& call) {
  if (call.has(0)) return {optional_of(call.type(0))};
  const KindAttrs& attrs = call.attrs<KindAttrs>();
  const Type element = attrs.sequence ? empty_sequence(attrs.elem, attrs.strings)
                                      : Type(UnrankedType{attrs.elem, attrs.strings});
  return {OptionalType{std::make_shared<const Type>(element), true}};
}

std::vector<Type> infer_get(const Call& call) { return {*call.type(0).optional()->element}; }
std::vector<Type> infer_has(const Call&) { return {tensor_of(Elem::Bool, {})}; }

// Tensors whose rank only the run tells: rank_of gives it, ranked the tensor as one of that rank.

const UnrankedType& need_unranked(const Call& call) {
  const UnrankedType* t = call.type(0).unranked();
  if (!t)
    call.refuse("ops.rank.type", str("input 0 is ", print(call.type(0))),
                "give a tensor whose rank only the run tells");
  return *t;
}

std::vector<Type> infer_rank(const Call& call) {
  need_unranked(call);
  return {tensor_of(Elem::I64, {})};
}

std::vector<Type> infer_ranked(const Call& call) {
  const UnrankedType& t = need_unranked(call);
  const auto rank = static_cast<size_t>(call.attrs<RankAttrs>().rank);
  return {TensorType{.elem = t.elem, .shape = Shape(rank), .strings = t.strings}};
}

const OpDef& find_op(std::string_view name) {
  for (const OpDef& def : sequence_ops())
    if (def.name == name) return def;
  require(false, "no such operator on sequences");
  return sequence_ops()[0];
}

void all_inputs(const OnnxNode& n, Builder& g, std::string_view name, const Attrs& attrs = {}) {
  g.output(n, g.call(find_op(name), attrs, n.inputs));
}

void construct(const OnnxNode& n, Builder& g) {
  n.need(0);
  all_inputs(n, g, "sequence_construct");
}
void empty(const OnnxNode& n, Builder& g) {
  constexpr int64_t kString = 8;
  const bool strings = n.attr_int("dtype", 1) == kString;
  const KindAttrs attrs{.elem = strings ? Elem::U8 : n.attr_elem("dtype").value_or(Elem::F32),
                        .strings = strings};
  g.output(n, g.call(find_op("sequence_empty"), attrs, {}));
}
void insert(const OnnxNode& n, Builder& g) { all_inputs(n, g, "sequence_insert"); }
void erase(const OnnxNode& n, Builder& g) { all_inputs(n, g, "sequence_erase"); }
void at(const OnnxNode& n, Builder& g) { all_inputs(n, g, "sequence_at"); }
void length(const OnnxNode& n, Builder& g) { all_inputs(n, g, "sequence_length"); }
void split(const OnnxNode& n, Builder& g) {
  all_inputs(n, g, "split_to_sequence",
             SplitSequenceAttrs{.axis = n.attr_int("axis", 0),
                                .keepdims = n.attr_int("keepdims", 1) != 0});
}

/// Where only the run tells the rank of the items, that of the first one chooses:
///   before   y = ConcatFromSequence(xs: seq<f32[*]>)
///   after    y = if rank_of(xs[0]) == 1 {concat_from_sequence(xs) {rank = 1}} else {…}
void concat(const OnnxNode& n, Builder& g) {
  constexpr int64_t kMaxRank = 6;
  ConcatSequenceAttrs attrs{.axis = n.attr_int("axis"), .new_axis = n.attr_int("new_axis", 0) != 0};
  const ValueId items = n.need(0);
  const SequenceType* type = g.type(items).sequence();
  if (!type || !type->element->unranked())
    return g.output(n, g.call(find_op("concat_from_sequence"), attrs, {items}));
  const int64_t added = attrs.new_axis ? 1 : 0;
  const ValueId first = g.call(find_op("sequence_at"), {}, {items, g.scalar(Elem::I64, 0)});
  const ValueId rank = g.call(find_op("rank_of"), {}, {first});
  Function last;
  const int64_t least = std::max(attrs.axis, -attrs.axis - 1) + 1 - added;
  for (attrs.rank = kMaxRank; attrs.rank >= 0; --attrs.rank) {
    if (attrs.rank < std::min(least, kMaxRank)) break;
    g.begin_body(str("rank ", attrs.rank));
    Function way = g.end_body({g.call(find_op("concat_from_sequence"), attrs, {items})});
    if (attrs.rank < kMaxRank) {
      g.begin_body("other ranks");
      const ValueId is_it =
          g.call(op("equal"), {}, {rank, g.scalar(Elem::I64, static_cast<double>(attrs.rank))});
      std::vector<Function> bodies;
      bodies.push_back(std::move(way));
      bodies.push_back(std::move(last));
      way = g.end_body(g.calls(if_op(), {}, {is_it}, 1, std::move(bodies)));
    }
    last = std::move(way);
  }
  g.outputs(n, g.splice(std::move(last)));
}

/// What an optional of this type, or a sequence in it, is made of.
KindAttrs kind_of(const Type& type) {
  if (const TensorType* t = type.tensor()) return {t->elem, t->strings, false};
  if (const UnrankedType* t = type.unranked()) return {t->elem, t->strings, false};
  if (const OptionalType* t = type.optional()) return kind_of(*t->element);
  KindAttrs kind = kind_of(*type.sequence()->element);
  kind.sequence = true;
  return kind;
}

void make_optional(const OnnxNode& n, Builder& g) {
  KindAttrs kind;
  for (const auto& [name, value] : n.attributes)
    if (const Type* type = std::get_if<Type>(&value); type && name == "type") kind = kind_of(*type);
  g.output(n, g.call(find_op("optional"), kind, {n.in(0)}));
}
void get_element(const OnnxNode& n, Builder& g) {
  // A value that is no optional is there for certain.
  if (!g.type(n.need(0)).optional()) return g.output(n, n.need(0));
  all_inputs(n, g, "optional_get_element");
}
void has_element(const OnnxNode& n, Builder& g) {
  if (n.has(0) && g.type(n.in(0)).optional()) return all_inputs(n, g, "optional_has_element");
  g.output(n, g.scalar(Elem::Bool, n.has(0) ? 1 : 0));
}

/// before   ys = SequenceMap(xs, z) {body(x, z) -> y}
/// after    ys = loop(length of xs, none, empty)
///                 {(i, cond, ys) { x = sequence_at(xs, i); body…; return cond, insert(ys, y) }}
void map(const OnnxNode& n, Builder& g) {
  const OnnxSubgraph& graph = n.attr_graph("body");
  if (!n.has(0) || graph.inputs() != n.inputs.size())
    n.refuse("ops.sequence_map.inputs",
             str("the body has ", graph.inputs(), " inputs, the node ", n.inputs.size()),
             "give the body one input for each of the node's");
  if (!g.type(n.in(0)).sequence())
    n.refuse("ops.sequence_map.type", str("input 0 is ", print(g.type(n.in(0)))),
             "give a sequence");
  std::vector<Type> types;
  for (const ValueId id : n.inputs) {
    const SequenceType* s = g.type(id).sequence();
    types.push_back(s ? *s->element : g.type(id));
  }
  std::vector<ValueId> start{g.call(find_op("sequence_length"), {}, {n.in(0)}), kNoValue};
  std::vector<Type> carried;
  const auto build = [&](const std::vector<Type>& results) {
    Function item = graph.build(g, types);
    if (results.empty()) return item;  // to know what it gives
    g.begin_body("map");
    const ValueId i = g.body_input("iteration", tensor_of(Elem::I64, {}));
    std::vector<ValueId> outputs{g.body_input("goes_on", tensor_of(Elem::Bool, {}))};
    std::vector<ValueId> lists;
    for (const Type& type : results) lists.push_back(g.body_input("items", type));
    for (size_t k = 0; k < n.inputs.size(); ++k)
      if (g.type(n.inputs[k]).sequence())
        g.bind(item.inputs[k], find_op("sequence_at"), {}, {n.inputs[k], i});
      else
        g.bind(item.inputs[k], op("identity"), {}, {n.inputs[k]});
    const std::vector<ValueId> made = g.splice(std::move(item));
    for (size_t k = 0; k < made.size(); ++k)
      outputs.push_back(g.call(find_op("sequence_insert"), {}, {lists[k], made[k]}));
    return g.end_body(outputs);
  };
  const Builder::Checkpoint before = g.checkpoint();
  const Function once = build({});
  for (const ValueId id : once.outputs) {
    const KindAttrs kind = kind_of(g.type(id));
    carried.push_back(empty_sequence(kind.elem, kind.strings));
    start.push_back(kNoValue);
  }
  g.rollback(before);
  for (size_t k = 0; k < carried.size(); ++k) {
    const KindAttrs kind = kind_of(*carried[k].sequence()->element);
    start[k + 2] = g.call(find_op("sequence_empty"), kind, {});
  }
  std::vector<Function> bodies;
  bodies.push_back(loop_body(g, carried, build));
  g.outputs(n, g.calls(loop_op(), {}, start, carried.size(), std::move(bodies)));
}

template <class T = NoAttrs>
OpDef host(std::string_view name, std::vector<Type> (*infer)(const Call&),
           std::vector<OnnxRule> onnx) {
  return define_op<T>({.name = name, .infer = infer, .host = name, .onnx = std::move(onnx)});
}

}  // namespace

std::span<const OpDef> sequence_ops() {
  static const std::array<OpDef, 13> defs = {
      host("sequence_construct", infer_construct,
           {{.op = "SequenceConstruct", .from = 11, .rule = construct}}),
      host<KindAttrs>("sequence_empty", infer_empty,
                      {{.op = "SequenceEmpty", .from = 11, .rule = empty}}),
      host("sequence_insert", infer_insert,
           {{.op = "SequenceInsert", .from = 11, .rule = insert},
            {.op = "SequenceMap", .from = 17, .rule = map}}),
      host("sequence_erase", infer_erase, {{.op = "SequenceErase", .from = 11, .rule = erase}}),
      host("sequence_at", infer_at, {{.op = "SequenceAt", .from = 11, .rule = at}}),
      host("sequence_length", infer_length, {{.op = "SequenceLength", .from = 11, .rule = length}}),
      host<SplitSequenceAttrs>("split_to_sequence", infer_split,
                               {{.op = "SplitToSequence", .from = 11, .rule = split}}),
      host<ConcatSequenceAttrs>("concat_from_sequence", infer_concat,
                                {{.op = "ConcatFromSequence", .from = 11, .rule = concat}}),
      host<KindAttrs>("optional", infer_optional,
                      {{.op = "Optional", .from = 15, .rule = make_optional}}),
      host("optional_get_element", infer_get,
           {{.op = "OptionalGetElement", .from = 15, .rule = get_element}}),
      host("optional_has_element", infer_has,
           {{.op = "OptionalHasElement", .from = 15, .rule = has_element}}),
      host("rank_of", infer_rank, {}),
      host<RankAttrs>("ranked", infer_ranked, {}),
  };
  return defs;
}

}  // namespace tilewright::ops
