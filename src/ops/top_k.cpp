// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_node.h"
#include "ops/loops.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Buffer;
using ir::Expr;
using ir::Stmt;

struct TopKAttrs {
  int64_t axis = -1;
  bool largest = true;  // else the least ones
  static constexpr auto fields =
      std::tuple{field("axis", &TopKAttrs::axis), field("largest", &TopKAttrs::largest)};
};

// Inputs: x, and k as an integer tensor of one element. Results: values, indices (i64).
std::vector<Type> infer(const Call& call) {
  const TensorType& x = call.tensor(0);
  const int axis = normal_axis(call, call.attrs<TopKAttrs>().axis, x.rank());
  const auto d = static_cast<size_t>(axis);
  const Dim k = call.extent(call.element(1, 0));
  call.check(k <= x.shape[d], "k is at most the extent of the axis");
  TensorType values{.elem = x.elem, .shape = x.shape};
  values.shape[d] = k;
  TensorType indices = values;
  indices.elem = ir::Elem::I64;
  return {values, indices};
}

/// The k best of a row in a heap whose root is the worst of them, in place in the results.
class Heap {
 public:
  Heap(Buffer values, Buffer indices, Coords row, int axis, bool largest)
      : values_(std::move(values)),
        indices_(std::move(indices)),
        row_(std::move(row)),
        axis_(axis),
        largest_(largest) {}

  Expr value(const Expr& i) const { return ir::load(values_, place(i)); }
  Expr index(const Expr& i) const { return ir::load(indices_, place(i)); }
  Stmt put(const Expr& i, const Expr& x, const Expr& at) const {
    return steps({store(values_, place(i), x), store(indices_, place(i), at)});
  }
  /// Does x come after y? Of equal ones that with the greater index.
  Expr worse(const Expr& x, const Expr& at, const Expr& y, const Expr& y_at) const {
    return ir::logical_or(largest_ ? x < y : y < x, ir::logical_and(ir::eq(x, y), y_at < at));
  }

  /// Puts x into the free place at the end, and lets it rise.
  Stmt push(const Scalar& at, const Expr& size, const Expr& x, const Expr& x_at) const {
    const Expr parent = (at.get() - 1) / 2;
    const Expr rises =
        ir::guard(at.get() > 0, worse(x, x_at, value(parent), index(parent)), ir::bool_imm(false));
    return steps({at.set(size),
                  loop_while(rises, let("up", parent,
                                        [&](const Expr& up) {
                                          return steps(
                                              {put(at.get(), value(up), index(up)), at.set(up)});
                                        })),
                  put(at.get(), x, x_at)});
  }
  /// Puts x in place of the root of a heap of this size, and lets it sink.
  Stmt replace_root(const Scalar& at, const Scalar& child, const Expr& size, const Expr& x,
                    const Expr& x_at) const {
    const Expr l = 2 * at.get() + 1;
    const Expr worst_child =
        ir::guard(l + 1 < size,
                  ir::select(worse(value(l + 1), index(l + 1), value(l), index(l)), l + 1, l), l);
    const Expr c = child.get();
    const Expr sinks = ir::guard(c < size, worse(value(c), index(c), x, x_at), ir::bool_imm(false));
    // `l + 1 < size` keeps the look at the children inside of the heap; without a child, c = l >=
    // size.
    const Stmt choose = child.set(worst_child);
    return steps({at.set(0), choose,
                  loop_while(sinks, steps({put(at.get(), value(c), index(c)), at.set(c), choose})),
                  put(at.get(), x, x_at)});
  }

 private:
  Coords place(const Expr& i) const { return inserted(row_, axis_, i); }

  Buffer values_, indices_;
  Coords row_;
  int axis_;
  bool largest_;
};

ir::LoopFunc loops(const Call& call) {
  const TopKAttrs& attrs = call.attrs<TopKAttrs>();
  const LoopForm f(call, "top_k", 2);
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  const Expr n = call.shape(0)[static_cast<size_t>(axis)];
  const Expr k = call.out(0).shape[static_cast<size_t>(axis)];
  const Scalar held("held", ir::Elem::I64), at("at", ir::Elem::I64), child("child", ir::Elem::I64);

  const auto row = [&](const Coords& v) {
    const Heap heap(f.out(0), f.out(1), v, axis, attrs.largest);
    const auto take = [&](const Expr& c) {
      return let("x", ir::load(f.in(0), inserted(v, axis, c)), [&](const Expr& x) {
        const Expr beats_root =
            ir::guard(k > 0, heap.worse(heap.value(0), heap.index(0), x, c), ir::bool_imm(false));
        return when(held.get() < k, steps({heap.push(at, held.get(), x, c), held.add(1)}),
                    when(beats_root, heap.replace_root(at, child, k, x, c)));
      });
    };
    // The worst of those left goes to the end of them.
    const auto settle = [&](const Expr& t) {
      return let("last", k - 1 - t, [&](const Expr& last) {
        return let("x", heap.value(last), [&](const Expr& x) {
          return let("x_at", heap.index(last), [&](const Expr& x_at) {
            return steps({heap.put(last, heap.value(0), heap.index(0)),
                          heap.replace_root(at, child, last, x, x_at)});
          });
        });
      });
    };
    return with({held, at, child},
                steps({held.set(0), each("c", n, take), each("t", k - 1, settle)}));
  };
  const auto results = [&](const Coords& v) {
    const Coords all = inserted(v, axis, Expr());
    return std::vector{part(f.out(0), all), part(f.out(1), all)};
  };
  return f.func(independent(
      "top_k", without(call.shape(0), axis),
      [&](const Coords& v) {
        std::vector<ir::Region> reads = results(v);
        reads.push_back(part(f.in(0), inserted(v, axis, Expr())));
        return reads;
      },
      results, row));
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const TopKAttrs attrs{.axis = n.attr_int("axis", -1), .largest = n.attr_int("largest", 1) != 0};
  g.outputs(n, g.calls(top_k_op(), attrs, {n.need(0), n.need(1)}, 2));
}

void from_onnx_1(const OnnxNode& n, Builder& g) {
  const ValueId k = g.ints({n.attr_int("k")});
  g.outputs(n, g.calls(top_k_op(), TopKAttrs{.axis = n.attr_int("axis", -1), .largest = true},
                       {n.need(0), k}, 2));
}

}  // namespace

const OpDef& top_k_op() {
  static const OpDef def =
      define_op<TopKAttrs>({.name = "top_k",
                            .infer = infer,
                            .loops = loops,
                            .onnx = {{.op = "TopK", .from = 1, .rule = from_onnx_1, .to = 9},
                                     {.op = "TopK", .from = 10, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
