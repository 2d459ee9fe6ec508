// SPDX-License-Identifier: Apache-2.0
// MatMul, Gemm and MatMulInteger: alpha * A B + beta * C, A and B as stacks of matrices.
#include <algorithm>

#include "graph/onnx_node.h"
#include "ops/byte_factors.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "ops/to_f32.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;

/// An operand as a stack of matrices. A vector on the left is a row, on the right a column; that
/// dimension is not in the result.
struct Operand {
  bool vector, transposed, left;
  Shape batch = {};
  Dim outer = {}, inner = {};  // rows of A or columns of B; what is summed over

  At at(const At& batch_at, const te::Expr& o, const te::Expr& k, bool may_repeat) const {
    if (vector) return {k};
    At out;
    const size_t missing = batch_at.size() - batch.size();
    for (size_t d = 0; d < batch.size(); ++d) {
      const te::Expr& i = batch_at[missing + d];
      const bool symbolic = !ir::const_int(batch[d]);
      out.push_back(ir::is_const(batch[d], 1) ? te::Expr(0)
                    : may_repeat && symbolic  ? te::min(i, te::Expr(batch[d]) - 1)
                                              : i);
    }
    const bool outer_first = left != transposed;
    out.push_back(outer_first ? o : k);
    out.push_back(outer_first ? k : o);
    return out;
  }
};

Operand operand(const Call& call, size_t i) {
  const MatMulAttrs& attrs = call.attrs<MatMulAttrs>();
  need_min_rank(call, i, 1);
  const Shape& shape = call.shape(i);
  Operand out{.vector = shape.size() == 1,
              .transposed = i == 0 ? attrs.trans_a : attrs.trans_b,
              .left = i == 0};
  if (out.vector) {
    out.outer = Dim(1);
    out.inner = shape[0];
    return out;
  }
  out.batch = Shape(shape.begin(), shape.end() - 2);
  const bool outer_first = out.left != out.transposed;
  out.outer = shape[shape.size() - (outer_first ? 2 : 1)];
  out.inner = shape[shape.size() - (outer_first ? 1 : 2)];
  return out;
}

/// Does a constant extent meet one that the run tells? That may be 1. Two that the run tells are
/// taken to be equal: exporters give one size several names.
bool may_repeat(const Operand& a, const Operand& b) {
  for (size_t i = 1; i <= std::min(a.batch.size(), b.batch.size()); ++i) {
    const Dim &x = a.batch[a.batch.size() - i], &y = b.batch[b.batch.size() - i];
    if (!ir::is_const(x, 1) && !ir::is_const(y, 1) &&
        ir::const_int(x).has_value() != ir::const_int(y).has_value())
      return true;
  }
  return false;
}

Shape product_shape(const Call& call, const Operand& a, const Operand& b) {
  Shape shape = may_repeat(a, b) ? broadcast_at_run(call, a.batch, b.batch)
                                 : broadcast(call, a.batch, b.batch);
  if (!a.vector) shape.push_back(a.outer);
  if (!b.vector) shape.push_back(b.outer);
  return shape;
}

/// The plain product: sum over k of A[…, i, k] * B[…, k, j]; over so many k as ta and tb have.
te::Tensor product(const Call& call, const te::Tensor& ta, const te::Tensor& tb, ir::Elem acc,
                   const Dim& terms) {
  const Operand a = operand(call, 0), b = operand(call, 1);
  const te::Axis k = te::reduce_axis(terms, "k");
  const bool repeats = may_repeat(a, b);
  return te::compute(
      "matmul", te_shape(product_shape(call, a, b)), [&](const std::vector<te::Var>& axes) {
        At batch = indices_of(axes);
        te::Expr i = 0, j = 0;
        if (!b.vector) j = batch.back(), batch.pop_back();
        if (!a.vector) i = batch.back(), batch.pop_back();
        return te::sum(
            as(acc, ta.at(a.at(batch, i, k, repeats))) * as(acc, tb.at(b.at(batch, j, k, repeats))),
            k);
      });
}

/// The dimension that is summed over.
Dim terms(const Call& call) {
  return call.equal(operand(call, 0).inner, operand(call, 1).inner, "the summed dimension");
}

/// The shape of the result; a C has to broadcast to it.
Shape result_shape(const Call& call) {
  const Operand a = operand(call, 0), b = operand(call, 1);
  terms(call);
  const Shape shape = product_shape(call, a, b);
  if (call.has(2)) {
    if (call.rank(2) > static_cast<int>(shape.size()))
      call.refuse("ops.matmul.bias", str("C is ", print(call.type(2))),
                  str("give one that broadcasts to ", print(shape)));
    broadcast(call, call.shape(2), shape);
  }
  return shape;
}

std::vector<Type> infer(const Call& call) {
  need_number(call, 0);
  need_same_elem(call, 0, 1);
  if (call.has(2)) need_same_elem(call, 0, 2);
  return {tensor_of(call.elem(0), result_shape(call))};
}

std::vector<Type> infer_to_f32(const Call& call) {
  need_narrow_factors(call);
  return {tensor_of(ir::Elem::F32, result_shape(call))};
}

/// `x` times a factor of the attributes; integers by way of f64.
te::Expr scaled(const te::Expr& x, double factor) {
  if (factor == 1) return x;
  if (ir::is_float(x.elem())) return x * factor;
  return te::cast(x.elem(), te::cast(ir::Elem::F64, x) * factor);
}

/// alpha * A B + beta * C in this type.
std::vector<te::Tensor> define_as(const Call& call, ir::Elem elem) {
  const MatMulAttrs& attrs = call.attrs<MatMulAttrs>();
  const ir::Elem acc = wide(elem);
  const te::Tensor sum = product(call, call.in(0), call.in(1), acc, terms(call));
  if (!call.has(2) && attrs.alpha == 1) return {as(elem, sum)};
  return {te::compute("gemm", shape_of(sum), [&](const std::vector<te::Var>& axes) {
    te::Expr y = scaled(sum.at(indices_of(axes)), attrs.alpha);
    if (call.has(2))
      y = y + scaled(as(acc, broadcast_read(call.in(2), indices_of(axes))), attrs.beta);
    return as(elem, y);
  })};
}

std::vector<te::Tensor> define(const Call& call) { return define_as(call, call.elem(0)); }
std::vector<te::Tensor> define_to_f32(const Call& call) { return define_as(call, ir::Elem::F32); }

/// The zero point of a row of A or a column of B, or 0: a scalar, one per row or column, or for
/// stacks [D1, …, M, 1] and [D1, …, 1, N].
te::Expr zero_point(const Call& call, size_t i, const At& at, size_t kept) {
  if (!call.has(i)) return te::cast(ir::Elem::I32, 0);
  const te::Tensor& zero = call.in(i);
  te::Expr value = 0;
  if (zero.rank() == 1)
    value = zero(ir::is_const(zero.shape()[0], 1) ? te::Expr(0) : at[kept]);
  else
    value = broadcast_read(zero, at);
  return te::cast(ir::Elem::I32, value);
}

std::vector<Type> infer_integer(const Call& call) {
  need_int(call, 0);
  need_int(call, 1);
  for (const size_t i : {2, 3}) {
    if (!call.has(i)) continue;
    need_same_elem(call, i - 2, i);
    if (call.rank(i) > 1 && call.rank(i) != call.rank(i - 2))
      call.refuse("ops.matmul.zero_point", str("zero point ", i - 2, " is ", print(call.type(i))),
                  "give a scalar, one value per row of A or column of B, or the rank of the input");
  }
  terms(call);
  return {tensor_of(ir::Elem::I32, product_shape(call, operand(call, 0), operand(call, 1)))};
}

/// Where an element of the result reads operand i, with the summed dimension at 0.
At read_at(const Call& call, size_t i, const std::vector<te::Var>& axes) {
  const Operand a = operand(call, 0), b = operand(call, 1);
  At batch = indices_of(axes);
  te::Expr row = 0, column = 0;
  if (!b.vector) column = batch.back(), batch.pop_back();
  if (!a.vector) row = batch.back(), batch.pop_back();
  const bool repeats = may_repeat(a, b);
  return i == 0 ? a.at(batch, row, 0, repeats) : b.at(batch, column, 0, repeats);
}

/// Which of an operand's dimensions is summed over.
size_t summed_dim(const Operand& o) {
  return o.vector ? 0 : o.batch.size() + (o.left != o.transposed ? 1 : 0);
}

/// The sum over k of an operand for every row of A or column of B, in stacks as it has them.
te::Tensor sums_of(const Call& call, size_t i, const te::Tensor& t) {
  const Operand o = operand(call, i);
  const te::Axis k = te::reduce_axis(o.inner, "k");
  Shape shape = o.batch;
  if (!o.vector) shape.push_back(o.outer);
  return te::compute(
      i == 0 ? "row_sums" : "column_sums", te_shape(shape), [&](const std::vector<te::Var>& axes) {
        At batch = indices_of(axes);
        te::Expr outer = 0;
        if (!o.vector) outer = batch.back(), batch.pop_back();
        return te::sum(te::cast(ir::Elem::I32, t.at(o.at(batch, outer, k, false))), k);
      });
}

/// The operand with zeros behind the summed dimension, in whole groups; itself where it comes in
/// such ones, or where the run tells.
te::Tensor in_groups(const Call& call, size_t i, const te::Tensor& t) {
  const Operand o = operand(call, i);
  const auto known = ir::const_int(terms(call));  // one operand may tell it for both
  if (!known || *known % kBytesTogether == 0) return t;
  const size_t d = summed_dim(o);
  te::Shape shape = shape_of(t);
  shape[d] = te::Expr(in_whole_groups(*known));
  return te::compute(str(t.name(), "_in_groups"), shape, [&](const std::vector<te::Var>& at) {
    return te::guard(at[d] < te::Expr(*known), t.at(indices_of(at)), te::cast(t.elem(), 0));
  });
}

std::vector<te::Tensor> define_bytes(const Call& call, const ByteFactors& factors) {
  const te::Tensor ta = in_groups(call, 0, factors.a), tb = in_groups(call, 1, factors.b);
  const Dim count = terms(call);
  const auto known = ir::const_int(count);
  const te::Tensor sums =
      product(call, ta, tb, ir::Elem::I32, known ? Dim(in_whole_groups(*known)) : count);
  if (factors.a_centered && factors.b_centered) return {sums};
  const Operand a = operand(call, 0), b = operand(call, 1);
  std::optional<te::Tensor> rows, columns;
  if (!factors.a_centered) columns = sums_of(call, 1, factors.b);
  if (!factors.b_centered) rows = sums_of(call, 0, factors.a);
  return {te::compute("matmul_integer", shape_of(sums), [&](const std::vector<te::Var>& axes) {
    const auto without = [](At at, const Operand& o) {
      at.erase(at.begin() + static_cast<std::ptrdiff_t>(summed_dim(o)));
      return at;
    };
    const At row = read_at(call, 0, axes), column = read_at(call, 1, axes);
    const te::Expr a_zero =
        zero_point(call, 2, row, a.vector ? 0 : row.size() - (a.transposed ? 1 : 2)) +
        factors.a_more;
    // Sums of constants first: the product's kernel ends with what follows it.
    te::Expr y = te::cast(ir::Elem::I32, 0);
    if (columns) y = columns->at(without(column, b)) * (0 - a_zero);
    if (rows) {
      const te::Expr b_zero =
          zero_point(call, 3, column, b.vector ? 0 : column.size() - (b.transposed ? 2 : 1)) +
          factors.b_more;
      y = y +
          (te::cast(ir::Elem::I32, te::Expr(count)) * a_zero - rows->at(without(row, a))) * b_zero;
    }
    return y + sums.at(indices_of(axes));
  })};
}

/// Products of bytes as they are where that can be; else A and B less their zero points as stages,
/// then the plain product.
std::vector<te::Tensor> define_integer(const Call& call) {
  if (const auto factors = byte_factors(call)) return define_bytes(call, *factors);
  const auto centered = [&](size_t i) {
    const te::Tensor& t = call.in(i);
    const size_t rank = static_cast<size_t>(t.rank());
    const size_t kept = rank == 1 ? 0 : i == 0 ? rank - 2 : rank - 1;
    return te::compute(str(t.name(), "_centered"), shape_of(t), [&](const std::vector<te::Var>& v) {
      const At at = indices_of(v);
      return te::cast(ir::Elem::I32, t.at(at)) - zero_point(call, i + 2, at, kept);
    });
  };
  return {product(call, centered(0), centered(1), ir::Elem::I32, terms(call))};
}

void matmul_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(matmul_op(), MatMulAttrs{}, {n.need(0), n.need(1)}));
}

void gemm_from_onnx(const OnnxNode& n, Builder& g) {
  for (const size_t i : {0, 1})
    if (g.tensor(n.need(i)).rank() != 2)
      n.refuse("ops.gemm.rank", str("input ", i, " is ", print(g.type(n.in(i)))),
               "give a matrix, or use MatMul for stacks of them");
  const MatMulAttrs attrs{.trans_a = n.attr_int("transA", 0) != 0,
                          .trans_b = n.attr_int("transB", 0) != 0,
                          .alpha = n.attr_float("alpha", 1),
                          .beta = n.attr_float("beta", 1)};
  g.output(n, g.call(matmul_op(), attrs, {n.need(0), n.need(1), n.in(2)}));
}

void integer_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(matmul_integer_op(), MatMulAttrs{}, {n.need(0), n.need(1), n.in(2), n.in(3)}));
}

}  // namespace

const OpDef& matmul_op() {
  static const OpDef def =
      define_op<MatMulAttrs>({.name = "matmul",
                              .fusion = FusionKind::OutFusable,
                              .infer = infer,
                              .algorithms = {{.name = "direct", .define = define}},
                              .onnx = {{.op = "MatMul", .rule = matmul_from_onnx},
                                       {.op = "Gemm", .rule = gemm_from_onnx}}});
  return def;
}

const OpDef& matmul_to_f32_op() {
  static const OpDef def =
      define_op<MatMulAttrs>({.name = "matmul_to_f32",
                              .fusion = FusionKind::OutFusable,
                              .infer = infer_to_f32,
                              .algorithms = {{.name = "direct", .define = define_to_f32}}});
  return def;
}

void need_narrow_factors(const Call& call, bool wide_weights) {
  need_float(call, 0);
  if (!wide_weights || call.elem(1) != ir::Elem::F32) need_same_elem(call, 0, 1);
  if (call.has(2) && call.elem(2) != ir::Elem::F32)
    call.refuse("ops.to_f32.bias", str("the bias is ", print(call.type(2))),
                "give it as f32, the type of the result");
}

const OpDef& matmul_integer_op() {
  static const OpDef def = define_op<MatMulAttrs>(
      {.name = "matmul_integer",
       .fusion = FusionKind::OutFusable,
       .infer = infer_integer,
       .algorithms = {{.name = "direct", .define = define_integer}},
       .onnx = {{.op = "MatMulInteger", .from = 10, .rule = integer_from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
