// SPDX-License-Identifier: Apache-2.0
// Det: the determinants of matrices, by elimination with the largest pivot.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/loops.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Expr;

std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  need_min_rank(call, 0, 2);
  Shape shape = call.shape(0);
  const Dim columns = shape.back();
  shape.pop_back();
  call.equal(shape.back(), columns, "the rows and columns of the matrices");
  shape.pop_back();
  return {tensor_of(call.elem(0), shape)};
}

ir::LoopFunc loops(const Call& call) {
  const LoopForm f(call, "det", 1);
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const Dim n = call.shape(0).back();
  const Shape batch(call.shape(0).begin(), call.shape(0).end() - 2);
  const auto element = [&](std::vector<Expr> at, const Expr& i, const Expr& j) {
    at.push_back(i);
    at.push_back(j);
    return at;
  };
  const auto one_matrix = [&](const std::vector<Expr>& at) {
    const ir::Buffer m = ir::make_buffer("m", acc, {n, n});
    const Scalar det("det_of", acc), pivot("pivot", ir::Elem::I64), swap("swap", acc);
    const Expr one = ir::float_imm(acc, 1), zero = ir::float_imm(acc, 0);
    const auto get = [&](const Expr& i, const Expr& j) { return ir::load(m, {i, j}); };
    const ir::Stmt copy = each("i", n, [&](const Expr& i) {
      return each("j", n, [&](const Expr& j) {
        return store(m, {i, j}, ir::cast(acc, ir::load(f.in(0), element(at, i, j))));
      });
    });
    const ir::Stmt eliminate = each("k", n, [&](const Expr& k) {
      const auto size_of = [&](const Expr& row) {
        return ir::unary(ir::UnaryOp::Abs, get(row, k));
      };
      const ir::Stmt search = each("r", n, [&](const Expr& r) {
        return when(ir::logical_and(k < r, size_of(pivot.get()) < size_of(r)), pivot.set(r));
      });
      const ir::Stmt exchange = each("c", n, [&](const Expr& c) {
        return steps({swap.set(get(k, c)), store(m, {k, c}, get(pivot.get(), c)),
                      store(m, {pivot.get(), c}, swap.get())});
      });
      const ir::Stmt clear = each("r2", n, [&](const Expr& r) {
        return when(ir::logical_and(k < r, ir::ne(get(k, k), zero)),
                    steps({swap.set(get(r, k) / get(k, k)), each("c2", n, [&](const Expr& c) {
                             return store(m, {r, c}, get(r, c) - swap.get() * get(k, c));
                           })}));
      });
      return steps({pivot.set(k), search,
                    when(ir::ne(pivot.get(), k), steps({exchange, det.set(zero - det.get())})),
                    det.set(det.get() * get(k, k)), clear});
    });
    return with({m, det, pivot, swap}, steps({copy, det.set(one), eliminate,
                                              store(f.out(0), at, ir::cast(elem, det.get()))}));
  };
  const auto reads = [&](const std::vector<Expr>& at) {
    return std::vector{part(f.in(0), element(at, Expr(), Expr()))};
  };
  const auto writes = [&](const std::vector<Expr>& at) { return std::vector{part(f.out(0), at)}; };
  return f.func(independent("det", batch, reads, writes, one_matrix));
}

void from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(det_op(), NoAttrs{}, {n.need(0)}));
}

}  // namespace

const OpDef& det_op() {
  static const OpDef def = define_op({.name = "det",
                                      .fusion = FusionKind::Opaque,
                                      .infer = infer,
                                      .loops = loops,
                                      .onnx = {{.op = "Det", .from = 11, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
