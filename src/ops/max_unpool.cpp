// SPDX-License-Identifier: Apache-2.0
// MaxUnpool: puts the maxima back where MaxPool found them, 0 elsewhere. An index outside of what
// was pooled changes nothing.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/loops.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;

struct MaxUnpoolAttrs {
  std::vector<int64_t> kernel = {}, strides = {}, pads = {};
  static constexpr auto fields =
      std::tuple{field("kernel", &MaxUnpoolAttrs::kernel),
                 field("strides", &MaxUnpoolAttrs::strides), field("pads", &MaxUnpoolAttrs::pads)};
};

/// The shape that was pooled, which the indices count through.
Shape pooled_from(const Call& call) {
  const MaxUnpoolAttrs& attrs = call.attrs<MaxUnpoolAttrs>();
  const Shape& x = call.shape(0);
  const size_t rank = x.size() - 2;
  need_count(call, "kernel_shape", attrs.kernel, rank);
  std::vector<int64_t> strides = attrs.strides, pads = attrs.pads;
  if (strides.empty()) strides.assign(rank, 1);
  if (pads.empty()) pads.assign(2 * rank, 0);
  need_count(call, "strides", strides, rank);
  need_count(call, "pads", pads, 2 * rank);
  Shape out = {x[0], x[1]};
  for (size_t d = 0; d < rank; ++d)
    out.push_back(
        call.extent((x[d + 2] - 1) * strides[d] + Dim(attrs.kernel[d] - pads[d] - pads[rank + d])));
  return out;
}

std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  need_min_rank(call, 0, 3);
  need_int(call, 1);
  need_rank(call, 1, call.rank(0));
  for (size_t d = 0; d < call.shape(0).size(); ++d)
    call.equal(call.shape(0)[d], call.shape(1)[d], "the maxima and their indices");
  Shape shape = pooled_from(call);
  if (call.has(2)) {
    const std::vector<Dim> wanted = call.elements(2);
    if (wanted.size() != shape.size())
      call.refuse("ops.max_unpool.shape", "output_shape has another rank than the input",
                  "give all dimensions of the result");
    for (size_t d = 0; d < shape.size(); ++d) {
      call.check(shape[d] <= wanted[d], "output_shape is at least what was pooled");
      shape[d] = call.extent(wanted[d]);
    }
  }
  return {tensor_of(call.elem(0), shape)};
}

ir::LoopFunc loops(const Call& call) {
  const LoopForm f(call, "max_unpool", 1);
  const Shape from = pooled_from(call);
  const ir::Expr zero = ir::float_imm(call.elem(0), 0);
  const ir::Stmt clear = each(call.out(0).shape, [&](const std::vector<ir::Expr>& at) {
    return store(f.out(0), at, zero);
  });
  const ir::Stmt place = each(call.shape(0), [&](const std::vector<ir::Expr>& at) {
    return let("to", ir::load(f.in(1), at), [&](const ir::Expr& to) {
      const ir::Expr inside = ir::logical_and(Dim(0) <= to, to < elements(from));
      return when(inside, store(f.out(0), unravel(to, from), ir::load(f.in(0), at)));
    });
  });
  return f.func(alone("max_unpool", {f.in(0), f.in(1)}, {f.out(0)}, steps({clear, place})));
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const MaxUnpoolAttrs attrs{.kernel = n.attr_ints("kernel_shape"),
                             .strides = n.attr_ints("strides"),
                             .pads = n.attr_ints("pads")};
  g.output(n, g.call(max_unpool_op(), attrs, {n.need(0), n.need(1), n.in(2)}));
}

}  // namespace

const OpDef& max_unpool_op() {
  static const OpDef def =
      define_op<MaxUnpoolAttrs>({.name = "max_unpool",
                                 .fusion = FusionKind::Opaque,
                                 .infer = infer,
                                 .loops = loops,
                                 .onnx = {{.op = "MaxUnpool", .from = 9, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
