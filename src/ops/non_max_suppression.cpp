// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression: for each batch and class the boxes that stay, then all of them in one list.
#include <array>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/loops.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;
using ir::Expr;
using ir::Stmt;

struct NmsAttrs {
  bool center = false;     // boxes are (x, y, width, height) of their centres, else two corners
  bool threshold = false;  // scores at or below the threshold do not count
  static constexpr auto fields =
      std::tuple{field("center", &NmsAttrs::center), field("threshold", &NmsAttrs::threshold)};
};

// Inputs: boxes [b, n, 4], scores [b, c, n], the most boxes of a class, IoU and score threshold.
// Results: boxes that stay [b, c, most], best first; how many [b, c].
std::vector<Type> infer_select(const Call& call) {
  need_rank(call, 0, 3);
  need_rank(call, 1, 3);
  const Shape &boxes = call.shape(0), &scores = call.shape(1);
  call.equal(boxes[2], 4, "the numbers of a box");
  call.equal(boxes[0], scores[0], "the batches of boxes and scores");
  call.equal(boxes[1], scores[2], "the boxes and their scores");
  const Dim most = call.extent(ir::max(ir::min(call.element(2, 0), boxes[1]), 0));
  return {tensor_of(Elem::I64, {scores[0], scores[1], most}),
          tensor_of(Elem::I64, {scores[0], scores[1]})};
}

/// Least and greatest coordinates, and the area, of a box.
struct Box {
  Expr lo[2], hi[2], area;
};

Box box_at(const ir::Buffer& boxes, const Expr& batch, const Expr& i, bool center) {
  const auto at = [&](int k) { return ir::load(boxes, {batch, i, k}); };
  Box box;
  for (int d = 0; d < 2; ++d) {
    if (center) {
      const Expr half = at(d + 2) / ir::float_imm(boxes->elem, 2);
      box.lo[d] = at(d) - half;
      box.hi[d] = at(d) + half;
    } else {
      box.lo[d] = ir::min(at(d), at(d + 2));
      box.hi[d] = ir::max(at(d), at(d + 2));
    }
  }
  box.area = (box.hi[0] - box.lo[0]) * (box.hi[1] - box.lo[1]);
  return box;
}

/// Is the intersection over the union greater than the threshold?
Expr overlap(const Box& a, const Box& b, const Expr& threshold) {
  const Expr zero = ir::float_imm(Elem::F32, 0);
  Expr inter = ir::float_imm(Elem::F32, 1);
  for (int d = 0; d < 2; ++d)
    inter = inter * ir::max(ir::min(a.hi[d], b.hi[d]) - ir::max(a.lo[d], b.lo[d]), zero);
  const Expr all = a.area + b.area - inter;
  const Expr sound = ir::logical_and(ir::logical_and(zero < a.area, zero < b.area), zero < all);
  return ir::logical_and(sound, threshold < inter / all);
}

ir::LoopFunc select_loops(const Call& call) {
  const NmsAttrs& attrs = call.attrs<NmsAttrs>();
  const LoopForm f(call, "nms_select", 2);
  const Expr n = call.shape(0)[1], most = call.out(0).shape[2];
  const auto first_of = [&](size_t i) {
    return ir::load(f.in(i), Coords(call.shape(i).size(), Expr(0)));
  };
  const Scalar left("left", Elem::I64), kept("kept", Elem::I64), best("best", Elem::I64),
      next("next", Elem::I64), end("end", Elem::I64);
  const ir::Buffer list = ir::make_buffer("list", Elem::I64, {n});

  const auto of_class = [&](const Coords& v) {
    const auto score = [&](const Expr& i) { return ir::load(f.in(1), {v[0], v[1], i}); };
    const auto candidate = [&](const Expr& t) { return ir::load(list, {t}); };
    // Of equal scores the box that comes first is better.
    const auto note_best = [&](const Expr& place, const Expr& i, const Scalar& at) {
      return when(ir::guard(at.get() < 0, ir::bool_imm(true),
                            score(candidate(ir::max(at.get(), 0))) < score(i)),
                  at.set(place));
    };
    const Stmt collect = each("i", n, [&](const Expr& i) {
      const Expr counts = attrs.threshold ? first_of(4) < score(i) : ir::bool_imm(true);
      return when(counts, steps({store(list, {left.get()}, i), note_best(left.get(), i, best),
                                 left.add(1)}));
    });
    // Takes the best one; those that do not overlap it move to the front, in order.
    const Stmt pick = let("b", candidate(best.get()), [&](const Expr& b) {
      const Box chosen = box_at(f.in(0), v[0], b, attrs.center);
      const Expr iou = call.has(3) ? first_of(3) : ir::float_imm(Elem::F32, 0);
      const Stmt sift = each("t", end.get(), [&](const Expr& t) {
        return let("i", candidate(t), [&](const Expr& i) {
          const Expr goes = ir::logical_or(
              ir::eq(i, b), overlap(chosen, box_at(f.in(0), v[0], i, attrs.center), iou));
          return when(ir::logical_not(goes), steps({store(list, {left.get()}, i),
                                                    note_best(left.get(), i, next), left.add(1)}));
        });
      });
      return steps({store(f.out(0), {v[0], v[1], kept.get()}, b), kept.add(1), end.set(left.get()),
                    left.set(0), next.set(-1), sift, best.set(next.get())});
    });
    return with(
        {left, kept, best, next, end, list},
        steps({left.set(0), kept.set(0), best.set(-1), collect,
               loop_while(ir::logical_and(kept.get() < most, Expr(0) < left.get()), pick),
               store(f.out(1), {v[0], v[1]}, kept.get()),
               loop_while(kept.get() < most,
                          steps({store(f.out(0), {v[0], v[1], kept.get()}, 0), kept.add(1)}))}));
  };
  return f.func(independent(
      "nms", call.out(1).shape,
      [&](const Coords& v) {
        std::vector<ir::Region> reads{part(f.in(0), {v[0], Expr(), Expr()}),
                                      part(f.in(1), {v[0], v[1], Expr()})};
        for (const size_t i : {3, 4})
          if (call.has(i)) reads.push_back(whole(f.in(i)));
        return reads;
      },
      [&](const Coords& v) {
        return std::vector{part(f.out(0), {v[0], v[1], Expr()}), part(f.out(1), v)};
      },
      of_class));
}

std::vector<Type> infer_total(const Call&) { return {tensor_of(Elem::I64, {})}; }

std::vector<te::Tensor> total(const Call& call) {
  const te::Axis b = te::reduce_axis(te::Expr(call.shape(0)[0]), "b"),
                 c = te::reduce_axis(te::Expr(call.shape(0)[1]), "c");
  return {te::compute("total", {}, [&] { return te::sum(call.in(0)(b, c), {b, c}); })};
}

// Inputs: the boxes that stay, how many of each class, how many in all.
std::vector<Type> infer_list(const Call& call) {
  return {tensor_of(Elem::I64, {call.extent(call.element(2, 0)), 3})};
}

ir::LoopFunc list_loops(const Call& call) {
  const LoopForm f(call, "nms_list", 1);
  const Scalar n("n", Elem::I64);
  const Expr all = call.out(0).shape[0];
  const Stmt body = each(call.shape(0), [&](const Coords& at) {
    const Expr stays = ir::logical_and(at[2] < ir::load(f.in(1), {at[0], at[1]}), n.get() < all);
    return when(stays,
                steps({store(f.out(0), {n.get(), 0}, at[0]), store(f.out(0), {n.get(), 1}, at[1]),
                       store(f.out(0), {n.get(), 2}, ir::load(f.in(0), at)), n.add(1)}));
  });
  return f.func(
      alone("nms_list", {f.in(0), f.in(1)}, {f.out(0)}, with({n}, steps({n.set(0), body}))));
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const auto ops = non_max_suppression_ops();
  const NmsAttrs attrs{.center = n.attr_int("center_point_box", 0) != 0, .threshold = n.has(4)};
  const ValueId most = n.has(2) ? n.in(2) : g.ints({0});
  const std::vector<ValueId> picked =
      g.calls(ops[0], attrs, {n.need(0), n.need(1), most, n.in(3), n.in(4)}, 2);
  const ValueId total = g.call(ops[1], {}, {picked[1]});
  g.output(n, g.call(ops[2], {}, {picked[0], picked[1], total}));
}

}  // namespace

std::span<const OpDef> non_max_suppression_ops() {
  static const std::array<OpDef, 3> defs = {
      define_op<NmsAttrs>({.name = "nms_select", .infer = infer_select, .loops = select_loops}),
      define_op({.name = "nms_total",
                 .fusion = FusionKind::Reduction,
                 .infer = infer_total,
                 .algorithms = {{.name = "direct", .define = total}}}),
      define_op({.name = "nms_list",
                 .infer = infer_list,
                 .loops = list_loops,
                 .onnx = {{.op = "NonMaxSuppression", .from = 10, .rule = from_onnx}}})};
  return defs;
}

}  // namespace tilewright::ops
