// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLSTM of com.microsoft: an LSTM whose weights are bytes. The input is quantised as
// a whole and multiplied before the recurrence; the state is quantised at every step.
#include "ops/as_onnx.h"
#include "ops/byte_factors.h"
#include "ops/quantized.h"
#include "ops/recurrent.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

constexpr int64_t kGates = 4;

enum Input : size_t { X, W, R, WScale = 8, WZero, RScale, RZero };

/// Scales or zero points, one for each direction or for each of its columns, as
/// [directions, 4 * hidden].
ValueId of_columns(const Make& m, ValueId x, int64_t directions, int64_t columns) {
  if (x == kNoValue) return kNoValue;
  if (m.g.tensor(x).rank() == 1) x = m.reshape(x, {directions, 1});
  return m.call("expand", {x, m.g.ints({directions, columns})});
}

/// Bytes or their zero points as signed ones; what is missing stays so.
ValueId as_signed(const Make& m, ValueId x) {
  if (x == kNoValue || m.g.tensor(x).elem == Elem::I8) return x;
  const ValueId middle = m.cast(m.g.ints({128}), Elem::I32);
  return m.cast(m.call("sub", {m.cast(x, Elem::I32), middle}), Elem::I8);
}

/// With zeros behind an axis.
ValueId with_zeros(const Make& m, ValueId x, int64_t axis, int64_t extent) {
  const std::optional<std::vector<int64_t>> shape = const_dims(m.g.tensor(x).shape);
  std::vector<int64_t> more = *shape;
  int64_t& zeros = more.at(static_cast<size_t>(axis));
  zeros = extent - zeros;
  if (zeros == 0) return x;
  const ValueId zero = m.cast(m.g.ints({0}), m.g.tensor(x).elem);
  return m.concat({x, m.call("expand", {zero, m.g.ints(more)})}, axis);
}

/// The recurrence's weights [directions, hidden, columns] as the operator has them: a row for each
/// column, in whole groups and vectors.
ValueId recurrent_weights(const Make& m, ValueId r, int64_t hidden) {
  const ValueId rows = as_signed(m, m.transpose(r, {0, 2, 1}));
  const ValueId wide = with_zeros(m, rows, 2, *ir::const_int(in_whole(hidden, kBytesTogether)));
  return with_zeros(m, wide, 1, *ir::const_int(in_whole(kGates * hidden, kRowsOfBytes)));
}

}  // namespace

void dynamic_lstm_from_onnx(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  for (const size_t i : {X, W, R})
    if (g.tensor(n.need(i)).rank() != 3)
      n.refuse("ops.dynamic_lstm.rank", str("input ", i, " is ", print(g.type(n.in(i)))),
               "give [times, batch, inputs], and weights of [directions, …, 4 * hidden]");
  std::vector<int64_t> extents;  // [directions, hidden, 4 * hidden]
  for (const Dim& d : g.tensor(n.in(R)).shape) extents.push_back(ir::const_int(d).value_or(0));
  const int64_t directions = extents[0], hidden = extents[1], columns = kGates * hidden;
  if (directions < 1 || hidden < 1 || extents[2] != columns)
    n.refuse("ops.dynamic_lstm.rank", str("input 2 is ", print(g.type(n.in(R)))),
             "give weights of [directions, hidden, 4 * hidden], and declare their shape");
  const auto wide = [&](size_t i) { return of_columns(m, n.in(i), directions, columns); };

  const std::vector<ValueId> x = g.calls(dynamic_quantize_op(), {}, {n.in(X)}, 3);
  // The weights of all directions side by side.
  const ValueId w = m.reshape(m.transpose(n.in(W), {1, 0, 2}), {0, directions * columns});
  const ValueId zero = wide(WZero);
  const ValueId sums = g.call(matmul_integer_op(), MatMulAttrs{},
                              {x[0], w, x[2], zero == kNoValue ? zero : m.reshape(zero, {-1})});
  const ValueId scale = m.mul(m.reshape(wide(WScale), {-1}), x[1]);
  const ValueId products = m.mul(m.cast(sums, Elem::F32), scale);

  std::vector<ValueId> inputs = {products, kNoValue, recurrent_weights(m, n.in(R), hidden)};
  for (size_t i = 3; i < 8; ++i) inputs.push_back(n.in(i));
  inputs.push_back(wide(RScale));
  ValueId weight_zero = wide(RZero);
  if (weight_zero == kNoValue && g.tensor(n.in(R)).elem == Elem::U8)
    weight_zero = m.cast(
        of_columns(m, m.call("expand", {g.ints({0}), g.ints({directions})}), directions, columns),
        Elem::U8);
  inputs.push_back(as_signed(m, weight_zero));
  g.outputs(n, g.calls(op("lstm"), recurrent_attrs(n, "LSTM"), inputs, 3));
}

}  // namespace tilewright::ops
