// SPDX-License-Identifier: Apache-2.0
// Unique: which elements (or slices along an axis) are equal, then the results cut to their number.
#include <array>

#include "graph/onnx_node.h"
#include "ops/define.h"
#include "ops/loops.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Buffer;
using ir::Elem;
using ir::Expr;
using ir::Stmt;

struct UniqueAttrs {
  int64_t axis = 0;
  bool flat = true;  // single elements in row-major order, whatever the axis
  bool sorted = true;
  static constexpr auto fields =
      std::tuple{field("axis", &UniqueAttrs::axis), field("flat", &UniqueAttrs::flat),
                 field("sorted", &UniqueAttrs::sorted)};
};

/// How many items there are.
Dim items(const Call& call) {
  const UniqueAttrs& attrs = call.attrs<UniqueAttrs>();
  if (attrs.flat) return graph::elements(call.shape(0));
  return call.shape(0)[static_cast<size_t>(normal_axis(call, attrs.axis, call.rank(0)))];
}

// Results, all as long as there are items: where each group occurs first, the group of each item,
// the sizes of the groups; and the number of groups.
std::vector<Type> infer_groups(const Call& call) {
  const Type each = tensor_of(Elem::I64, {items(call)});
  return {each, each, each, tensor_of(Elem::I64, {})};
}

/// Compares items of x. A NaN comes after everything, and is equal to nothing.
class Items {
 public:
  Items(const Call& call, const Buffer& x, const Scalar& sign)
      : x_(x), sign_(sign), attrs_(call.attrs<UniqueAttrs>()) {
    if (!attrs_.flat) axis_ = normal_axis(call, attrs_.axis, call.rank(0));
  }

  /// Sets `sign` to -1, 0 or 1: item i comes before j, is equal, comes after.
  Stmt compare(const Expr& i, const Expr& j) const {
    if (attrs_.flat) return compare_elements(unravel(i, x_->shape), unravel(j, x_->shape));
    return steps({sign_.set(0), each(without(x_->shape, axis_), [&](const Coords& at) {
                    return when(ir::eq(sign_.get(), 0),
                                compare_elements(inserted(at, axis_, i), inserted(at, axis_, j)));
                  })});
  }

 private:
  Stmt compare_elements(const Coords& i, const Coords& j) const {
    const auto value = [&](const Coords& at) {
      const Expr e = ir::load(x_, at);
      return x_->elem == Elem::Bool ? ir::cast(Elem::U8, e) : e;
    };
    const Expr a = value(i), b = value(j);
    Expr before = a < b, after = b < a;
    if (ir::is_float(x_->elem)) {
      const Expr a_nan = ir::call(ir::MathFn::IsNan, {a}), b_nan = ir::call(ir::MathFn::IsNan, {b});
      before = ir::logical_or(before, ir::logical_and(b_nan, ir::logical_not(a_nan)));
      // Two NaNs differ: the later one comes after.
      after = ir::logical_or(after, a_nan);
    }
    return sign_.set(ir::select(before, Expr(-1), ir::select(after, Expr(1), Expr(0))));
  }

  const Buffer& x_;
  const Scalar& sign_;
  const UniqueAttrs& attrs_;
  int axis_ = 0;
};

ir::LoopFunc groups(const Call& call) {
  const LoopForm f(call, "unique", 4);
  const Buffer &first = f.out(0), &group_of = f.out(1), &sizes = f.out(2), &count = f.out(3);
  const Expr n = items(call);
  const Scalar sign("sign", Elem::I64), found("found", Elem::I64);
  const Buffer order = ir::make_buffer("order", Elem::I64, {n}),
               scratch = ir::make_buffer("scratch", Elem::I64, {n}),
               start = ir::make_buffer("start", Elem::I64, {n});
  const Items compared(call, f.in(0), sign);
  const auto ordered = [&](const Expr& t) { return ir::load(order, {t}); };

  // start[i]: the first item that is equal to item i. A stable sort brings it before the others.
  const Stmt mark = each("t", n, [&](const Expr& t) {
    return steps({sign.set(1),
                  when(t > 0, compared.compare(ordered(ir::max(t - 1, 0)), ordered(t))),
                  when(ir::eq(sign.get(), 0),
                       store(start, {ordered(t)}, ir::load(start, {ordered(ir::max(t - 1, 0))})),
                       store(start, {ordered(t)}, ordered(t)))});
  });
  // Groups get their numbers in the order of the items' values, or of their first items.
  const auto number = [&](const Expr& item) {
    return let("s", ir::load(start, {item}), [&](const Expr& s) {
      return when(
          ir::eq(s, item),
          steps({store(first, {found.get()}, item), store(sizes, {found.get()}, 1),
                 store(group_of, {item}, found.get()), found.add(1)}),
          let("g", ir::load(group_of, {s}), [&](const Expr& g) {
            return steps({store(group_of, {item}, g), store(sizes, {g}, ir::load(sizes, {g}) + 1)});
          }));
    });
  };
  const bool sorted = call.attrs<UniqueAttrs>().sorted;
  const Stmt assign =
      each("t", n, [&](const Expr& t) { return let("item", sorted ? ordered(t) : t, number); });
  const Stmt rest = each("t", n - found.get(), [&](const Expr& t) {
    return let("at", found.get() + t, [&](const Expr& at) {
      return steps({store(first, {at}, 0), store(sizes, {at}, 0)});
    });
  });
  const Stmt body =
      steps({sort_indices(order, scratch, n, sign,
                          [&](const Expr& i, const Expr& j) { return compared.compare(i, j); }),
             mark, found.set(0), assign, rest, store(count, {}, found.get())});
  return f.func(alone("unique", {f.in(0), group_of, sizes}, {first, group_of, sizes, count},
                      with({sign, found, order, scratch, start}, body)));
}

// Inputs: x, the first items of the groups, their number. Result: those items of x.
std::vector<Type> infer_values(const Call& call) {
  const UniqueAttrs& attrs = call.attrs<UniqueAttrs>();
  const Dim n = call.extent(call.element(2, 0));
  if (attrs.flat) return {tensor_of(call.elem(0), {n})};
  TensorType type = call.tensor(0);
  type.shape[static_cast<size_t>(normal_axis(call, attrs.axis, type.rank()))] = n;
  return {type};
}

std::vector<te::Tensor> values(const Call& call) {
  const UniqueAttrs& attrs = call.attrs<UniqueAttrs>();
  return {te::compute("values", call.out_shape(), [&](const std::vector<te::Var>& v) {
    At at = indices_of(v);
    if (!attrs.flat) {
      const auto axis = static_cast<size_t>(normal_axis(call, attrs.axis, call.rank(0)));
      at[axis] = call.in(1)(at[axis]);
      return call.in(0).at(at);
    }
    te::Expr rest = call.in(1)(at[0]);
    At from(call.shape(0).size(), te::Expr(0));
    for (size_t d = from.size(); d-- > 0;) {
      const te::Expr extent(call.shape(0)[d]);
      from[d] = d == 0 ? rest : rest % extent;
      rest = rest / extent;
    }
    return call.in(0).at(from);
  })};
}

struct Found {
  ValueId values, first, group_of, sizes;
};

Found find_unique(const OnnxNode& n, Builder& g, const UniqueAttrs& attrs) {
  const ValueId x = n.need(0);
  const std::vector<ValueId> groups = g.calls(unique_ops()[0], attrs, {x}, 4);
  const auto cut = [&](ValueId id) { return g.call(prefix_op(), PrefixAttrs{}, {id, groups[3]}); };
  return {g.call(unique_ops()[1], attrs, {x, groups[0], groups[3]}), cut(groups[0]), groups[1],
          cut(groups[2])};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const Found found = find_unique(n, g,
                                  {.axis = n.attr_int("axis", 0),
                                   .flat = !n.has_attr("axis"),
                                   .sorted = n.attr_int("sorted", 1) != 0});
  g.outputs(n, {found.values, found.first, found.group_of, found.sizes});
}

/// ONNX Runtime's own: in the order of the input, and without the places of the first ones.
void from_contrib(const OnnxNode& n, Builder& g) {
  const Found found = find_unique(n, g, {.sorted = false});
  g.outputs(n, {found.values, found.group_of, found.sizes});
}

}  // namespace

std::span<const OpDef> unique_ops() {
  static const std::array<OpDef, 2> defs = {
      define_op<UniqueAttrs>({.name = "unique_groups", .infer = infer_groups, .loops = groups}),
      define_op<UniqueAttrs>(
          {.name = "unique_values",
           .fusion = FusionKind::Injective,
           .infer = infer_values,
           .algorithms = {{.name = "direct", .define = values}},
           .onnx = {{.op = "Unique", .from = 11, .rule = from_onnx},
                    {.op = "Unique", .rule = from_contrib, .domain = "com.microsoft"}}})};
  return defs;
}

}  // namespace tilewright::ops
