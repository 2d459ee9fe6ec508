// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM. For each direction the input times its weights for all times is one stage, and
// the recurrence a scan over it. Without weights the input is those products already. Weights of
// the recurrence that are bytes with a scale multiply the state in bytes, whose steps every time
// has for itself.
#include "ops/recurrent.h"

#include <array>
#include <cmath>

#include "graph/onnx_node.h"
#include "ops/byte_factors.h"
#include "ops/cell_activation.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "ops/quantized.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;
using te::Tensor;
using te::Var;

enum Input : size_t { X, W, R, B, Lengths, InitialH, InitialC, Peepholes, RScale, RZero };

constexpr int64_t kLstmGates = 4;

/// Weights in bytes have zeros behind their columns, up to a whole group of those, and behind their
/// rows, up to whole tiles of any machine: inside of a recurrence nothing is filled up.
Dim byte_columns(const Dim& hidden) { return in_whole(hidden, kBytesTogether); }
Dim byte_rows(const Dim& rows) { return in_whole(rows, kRowsOfBytes); }

struct Sizes {
  Dim times, batch, input, hidden;
  int64_t directions;
  bool batch_first;
};

Sizes sizes(const Call& call) {
  const RecurrentAttrs& attrs = call.attrs<RecurrentAttrs>();
  const bool batch_first = attrs.layout == 1;
  const Shape& x = call.shape(X);
  return {.times = x[batch_first ? 1 : 0],
          .batch = x[batch_first ? 0 : 1],
          .input = x[2],
          .hidden =
              call.has(RScale) ? simplified(call.shape(RScale)[1] / kLstmGates) : call.shape(R)[2],
          .directions = attrs.direction == Direction::Both ? 2 : 1,
          .batch_first = batch_first};
}

/// [directions, batch, hidden], or with the batch first.
Shape state_shape(const Sizes& s) {
  if (s.batch_first) return {s.batch, Dim(s.directions), s.hidden};
  return {Dim(s.directions), s.batch, s.hidden};
}

void check_shape(const Call& call, size_t i, const Shape& want) {
  if (!call.has(i)) return;
  need_rank(call, i, static_cast<int>(want.size()));
  for (size_t d = 0; d < want.size(); ++d)
    call.equal(call.shape(i)[d], want[d], str("dimension ", d, " of input ", i));
  const bool narrow_weights = (i == W || i == R) && wide(call.elem(i)) == call.elem(X);
  const bool quantised = i == RZero || (i == R && call.has(RScale));
  if (quantised)
    need_same_elem(call, R, i);
  else if (i != Lengths && !narrow_weights)
    need_same_elem(call, X, i);
}

std::vector<Type> infer(const Call& call, int64_t gates, int64_t peepholes) {
  need_float(call, X);
  for (const size_t i : {X, R}) need_rank(call, i, 3);
  if (call.has(RScale)) need_rank(call, RScale, 2);
  const Sizes s = sizes(call);
  const Dim rows = simplified(s.hidden * gates), directions = Dim(s.directions);
  if (call.has(W))
    check_shape(call, W, {directions, rows, s.input});
  else
    call.equal(s.input, simplified(rows * directions), "products of the input, of all directions");
  const bool bytes = call.has(RScale);
  check_shape(
      call, R,
      {directions, bytes ? byte_rows(rows) : rows, bytes ? byte_columns(s.hidden) : s.hidden});
  check_shape(call, B, {directions, simplified(rows * 2)});
  check_shape(call, Lengths, {s.batch});
  check_shape(call, InitialH, state_shape(s));
  check_shape(call, InitialC, state_shape(s));
  check_shape(call, Peepholes, {directions, simplified(s.hidden * peepholes)});
  if (call.has(RScale) && (call.elem(R) != ir::Elem::I8 || gates != kLstmGates))
    call.refuse("ops.recurrent.bytes", str("input ", R, " is ", print(call.type(R))),
                "give weights with a scale as i8, and to an LSTM only");
  for (const size_t i : {RScale, RZero}) check_shape(call, i, {directions, rows});
  const Shape all = s.batch_first ? Shape{s.batch, s.times, directions, s.hidden}
                                  : Shape{s.times, directions, s.batch, s.hidden};
  const ir::Elem elem = call.elem(X);
  return {tensor_of(elem, all), tensor_of(elem, state_shape(s)), tensor_of(elem, state_shape(s))};
}

/// What the cells of one direction see. At are a batch element b and a hidden unit h; gate
/// number g of it is row g * hidden + h of the weights.
class Cells {
 public:
  Cells(const Call& call, int64_t direction, int64_t gates)
      : call_(call),
        attrs_(call.attrs<RecurrentAttrs>()),
        size_(sizes(call)),
        direction_(direction),
        gates_(gates),
        acc_(wide(call.elem(X))),
        projected_(project()) {
    if (call.has(RScale)) byte_sums_ = byte_sums();
  }

  const Sizes& size() const { return size_; }
  bool reversed() const { return attrs_.direction == Direction::Reverse || direction_ == 1; }
  te::Shape shape() const { return {Expr(size_.batch), Expr(size_.hidden)}; }

  Expr length(const Expr& b) const {
    return call_.has(Lengths) ? te::cast(ir::Elem::I64, call_.in(Lengths)(b)) : Expr(size_.times);
  }
  /// The time of the sequence that step t works on, and the other way round.
  Expr time(const Expr& t, const Expr& b) const {
    if (!reversed()) return t;
    const Expr back = length(b) - 1 - t;
    return call_.has(Lengths) ? te::max(back, 0) : back;
  }

  /// X W + the biases of gate g at step t; `both` biases or that of the input alone.
  Expr input(const Expr& t, const Expr& b, int64_t g, const Expr& h, bool both = true) const {
    Expr out = projected_(time(t, b), b, row(g, h));
    out = out + bias(g, h);
    return both ? out + bias(g + gates_, h) : out;
  }
  Expr bias(int64_t g, const Expr& h) const {
    if (!call_.has(B)) return te::cast(acc_, 0);
    return as(acc_, call_.in(B)(direction_, row(g, h)));
  }
  Expr peephole(int64_t g, const Expr& h, const Expr& c) const {
    if (!call_.has(Peepholes)) return te::cast(acc_, 0);
    return as(acc_, call_.in(Peepholes)(direction_, row(g, h))) * c;
  }

  /// state R for the gates from `first` on, as a stage [batch, rows].
  Tensor recurrent(const Tensor& before, int64_t first, int64_t count) const {
    // Once for all rows: at the first step it is another tensor.
    const Tensor state =
        te::compute("carried", shape(), [&](const Var& b, const Var& h) { return before(b, h); });
    if (byte_sums_) return of_bytes(state);  // an LSTM has all gates at once
    const te::Axis k = te::reduce_axis(size_.hidden, "k");
    return te::compute("recurrent", {Expr(size_.batch), Expr(simplified(size_.hidden * count))},
                       [&](const Var& b, const Var& r) {
                         const Expr weight = call_.in(R)(direction_, row(first, r), k);
                         return te::sum(state(b, k) * as(acc_, weight), k);
                       });
  }

  Tensor initial(size_t i) const {
    return te::compute("initial", shape(), [&](const Var& b, const Var& h) {
      if (!call_.has(i)) return te::cast(acc_, 0);
      return as(acc_,
                size_.batch_first ? call_.in(i)(b, direction_, h) : call_.in(i)(direction_, b, h));
    });
  }

  /// Activation number f of the cell, of a clipped value.
  Expr activate(size_t f, Expr x) const {
    const size_t per_direction = attrs_.activations.size() / static_cast<size_t>(size_.directions);
    const size_t i = static_cast<size_t>(direction_) * per_direction + f;
    if (attrs_.clip > 0)
      x = te::max(te::min(x, te::cast(acc_, attrs_.clip)), te::cast(acc_, -attrs_.clip));
    return cell_activation(attrs_.activations[i], attrs_.alpha[i], attrs_.beta[i], x);
  }

  /// `next` while the sequence lasts, then the state stays.
  Tensor kept(const Var& t, const Tensor& next, const Tensor& before) const {
    if (!call_.has(Lengths)) return next;
    return te::compute("state", shape(), [&](const Var& b, const Var& h) {
      return te::select(t < length(b), next(b, h), before(b, h));
    });
  }

  Expr row(int64_t g, const Expr& h) const { return g == 0 ? h : simplified(size_.hidden * g) + h; }

 private:
  /// The sum of every row of the weights in bytes, for the zero point of the state.
  Tensor byte_sums() const {
    const te::Axis k = te::reduce_axis(size_.hidden, "k");
    return te::compute(
        "weight_sums", {Expr(simplified(size_.hidden * gates_))}, [&](const Var& row) {
          return te::sum(te::cast(ir::Elem::I32, call_.in(R)(direction_, row, k)), k);
        });
  }

  /// The state in steps of its own, times the bytes: see ByteFactors.
  Tensor of_bytes(const Tensor& state) const {
    const DynamicSteps steps = dynamic_steps(state);
    const Expr hidden = Expr(size_.hidden), columns = byte_columns(size_.hidden);
    const Tensor q =
        te::compute("state_bytes", {Expr(size_.batch), columns}, [&](const Var& b, const Var& k) {
          return te::guard(k < hidden, steps.quantised(state(b, k)), te::cast(ir::Elem::U8, 0));
        });
    const te::Axis k = te::reduce_axis(columns, "k"), h = te::reduce_axis(hidden, "h");
    const Tensor sums = te::compute(
        "byte_products", {Expr(size_.batch), Expr(call_.shape(R)[1])},
        [&](const Var& b, const Var& r) {
          const Expr weight = call_.in(R)(direction_, r, k);
          return te::sum(te::cast(ir::Elem::I32, q(b, k)) * te::cast(ir::Elem::I32, weight), k);
        });
    const Tensor of_state = te::compute("state_sums", {Expr(size_.batch)}, [&](const Var& b) {
      return te::sum(te::cast(ir::Elem::I32, q(b, h)), h);
    });
    const te::Shape shape = {Expr(size_.batch), Expr(simplified(size_.hidden * gates_))};
    return te::compute("recurrent", shape, [&](const Var& b, const Var& at) {
      const Expr zero = te::cast(ir::Elem::I32, steps.zero());
      Expr y = sums(b, at) - (*byte_sums_)(at)*zero;
      if (!is_all(call_, RZero, 0)) {
        const Expr weight_zero = te::cast(ir::Elem::I32, call_.in(RZero)(direction_, at));
        y = y + (te::cast(ir::Elem::I32, hidden) * zero - of_state(b)) * weight_zero;
      }
      return te::cast(acc_, y) * (steps.scale() * call_.in(RScale)(direction_, at));
    });
  }

  Tensor project() const {
    if (!call_.has(W)) return products();
    const te::Axis k = te::reduce_axis(size_.input, "k");
    const Expr rows = simplified(size_.hidden * gates_);
    return te::compute("projected", {Expr(size_.times), Expr(size_.batch), rows},
                       [&](const Var& t, const Var& b, const Var& r) {
                         const Expr x =
                             size_.batch_first ? call_.in(X)(b, t, k) : call_.in(X)(t, b, k);
                         const Expr weight = call_.in(W)(direction_, r, k);
                         return te::sum(as(acc_, x) * as(acc_, weight), k);
                       });
  }

  /// The input of this direction, which is multiplied already.
  Tensor products() const {
    const Expr rows = simplified(size_.hidden * gates_);
    return te::compute(
        "projected", {Expr(size_.times), Expr(size_.batch), rows},
        [&](const Var& t, const Var& b, const Var& r) {
          const Expr at = rows * direction_ + r;
          return as(acc_, size_.batch_first ? call_.in(X)(b, t, at) : call_.in(X)(t, b, at));
        });
  }

  const Call& call_;
  const RecurrentAttrs& attrs_;
  Sizes size_;
  int64_t direction_, gates_;
  ir::Elem acc_;
  Tensor projected_;
  std::optional<Tensor> byte_sums_;  // where the weights are bytes
};

/// The states over time of one direction, in the order of the steps.
struct Run {
  Cells cells;
  std::vector<Tensor> initial, states;
};

Tensor all_states(const Call& call, const std::vector<Run>& runs) {
  const Sizes& s = runs[0].cells.size();
  return te::compute("Y", call.out_shape(0), [&](const std::vector<Var>& at) {
    const Expr b = at[s.batch_first ? 0 : 2], t = at[s.batch_first ? 1 : 0];
    const Expr d = at[s.batch_first ? 2 : 1], h = at[3];
    const auto of = [&](const Run& run) {
      Expr y = run.states[0](run.cells.time(t, b), b, h);
      if (call.has(Lengths)) y = te::select(t < run.cells.length(b), y, te::cast(y.elem(), 0));
      return as(call.elem(X), y);
    };
    return runs.size() == 1 ? of(runs[0]) : te::select(d == 0, of(runs[0]), of(runs[1]));
  });
}

/// State number i after the last step; the initial one where there is no step.
Tensor last_state(const Call& call, const std::vector<Run>& runs, size_t i) {
  const Sizes& s = runs[0].cells.size();
  return te::compute(str("Y_", i), te_shape(state_shape(s)), [&](const std::vector<Var>& at) {
    const Expr b = at[s.batch_first ? 0 : 1], d = at[s.batch_first ? 1 : 0], h = at[2];
    const auto of = [&](const Run& run) {
      const Expr last = run.states[i](Expr(s.times - 1), b, h);
      const std::optional<int64_t> times = ir::const_int(s.times);
      return as(call.elem(X), times && *times > 0
                                  ? last
                                  : te::guard(Expr(s.times) > 0, last, run.initial[i](b, h)));
    };
    return runs.size() == 1 ? of(runs[0]) : te::select(d == 0, of(runs[0]), of(runs[1]));
  });
}

using Step = std::vector<Tensor> (*)(const Cells& cells, const RecurrentAttrs& attrs, const Var& t,
                                     const std::vector<Tensor>& before);

std::vector<Tensor> define(const Call& call, int64_t gates, size_t states, Step step) {
  std::vector<Run> runs;
  for (int64_t d = 0; d < sizes(call).directions; ++d) {
    const Cells cells(call, d, gates);
    std::vector<Tensor> initial;
    for (size_t i = 0; i < states; ++i) initial.push_back(cells.initial(InitialH + i));
    std::vector<Tensor> over_time = te::scan(
        "state", cells.size().times, initial, [&](const Var& t, const std::vector<Tensor>& before) {
          std::vector<Tensor> next = step(cells, call.attrs<RecurrentAttrs>(), t, before);
          for (size_t i = 0; i < states; ++i) next[i] = cells.kept(t, next[i], before[i]);
          return next;
        });
    runs.push_back({cells, initial, over_time});
  }
  std::vector<Tensor> out = {all_states(call, runs)};
  for (size_t i = 0; i < states; ++i) out.push_back(last_state(call, runs, i));
  return out;
}

/// h = f(X W + h R + biases)
std::vector<Tensor> rnn_step(const Cells& cells, const RecurrentAttrs&, const Var& t,
                             const std::vector<Tensor>& before) {
  const Tensor r = cells.recurrent(before[0], 0, 1);
  return {te::compute("next", cells.shape(), [&](const Var& b, const Var& h) {
    return cells.activate(0, cells.input(t, b, 0, h) + r(b, h));
  })};
}

/// z and r are gates 0 and 1, the new value gate 2.
std::vector<Tensor> gru_step(const Cells& cells, const RecurrentAttrs& attrs, const Var& t,
                             const std::vector<Tensor>& before) {
  const Tensor& state = before[0];
  const bool linear = attrs.linear_before_reset;
  const Tensor r = cells.recurrent(state, 0, linear ? 3 : 2);
  const auto gate = [&](int64_t g, const Var& b, const Var& h) {
    return cells.activate(0, cells.input(t, b, g, h) + r(b, cells.row(g, h)));
  };
  const Tensor update = te::compute("update", cells.shape(),
                                    [&](const Var& b, const Var& h) { return gate(0, b, h); });
  const Tensor reset = te::compute("reset", cells.shape(),
                                   [&](const Var& b, const Var& h) { return gate(1, b, h); });
  std::optional<Tensor> after;  // the reset state times its weights
  if (!linear) {
    const Tensor masked = te::compute("masked", cells.shape(), [&](const Var& b, const Var& h) {
      return reset(b, h) * state(b, h);
    });
    after = cells.recurrent(masked, 2, 1);
  }
  return {te::compute("next", cells.shape(), [&](const Var& b, const Var& h) {
    const Expr own = linear ? cells.input(t, b, 2, h, false) +
                                  reset(b, h) * (r(b, cells.row(2, h)) + cells.bias(5, h))
                            : cells.input(t, b, 2, h) + (*after)(b, h);
    const Expr value = cells.activate(1, own), z = update(b, h);
    return (1 - z) * value + z * state(b, h);
  })};
}

/// Gates i, o, f, c; peepholes i, o, f.
std::vector<Tensor> lstm_step(const Cells& cells, const RecurrentAttrs& attrs, const Var& t,
                              const std::vector<Tensor>& before) {
  const Tensor &state = before[0], &memory = before[1];
  const Tensor r = cells.recurrent(state, 0, 4);
  const auto gate = [&](int64_t g, const Expr& b, const Expr& h) {
    return cells.input(t, b, g, h) + r(b, cells.row(g, h));
  };
  const Tensor next_memory = te::compute("memory", cells.shape(), [&](const Var& b, const Var& h) {
    const Expr c = memory(b, h);
    const Expr i = cells.activate(0, gate(0, b, h) + cells.peephole(0, h, c));
    const Expr f =
        attrs.input_forget ? 1 - i : cells.activate(0, gate(2, b, h) + cells.peephole(2, h, c));
    return f * c + i * cells.activate(1, gate(3, b, h));
  });
  const Tensor next = te::compute("next", cells.shape(), [&](const Var& b, const Var& h) {
    const Expr c = next_memory(b, h);
    const Expr o = cells.activate(0, gate(1, b, h) + cells.peephole(1, h, c));
    return o * cells.activate(2, c);
  });
  return {next, next_memory};
}

std::vector<Type> infer_rnn(const Call& call) { return infer(call, 1, 0); }
std::vector<Type> infer_gru(const Call& call) { return infer(call, 3, 0); }
std::vector<Type> infer_lstm(const Call& call) { return infer(call, 4, 3); }
std::vector<Tensor> define_rnn(const Call& call) { return define(call, 1, 1, rnn_step); }
std::vector<Tensor> define_gru(const Call& call) { return define(call, 3, 1, gru_step); }
std::vector<Tensor> define_lstm(const Call& call) { return define(call, 4, 2, lstm_step); }

struct Row {
  std::string_view name, onnx;
  size_t outputs;
  std::vector<Type> (*infer)(const Call&);
  std::vector<Tensor> (*define)(const Call&);
};
constexpr std::array<Row, 3> kRows = {{
    {"rnn", "RNN", 2, infer_rnn, define_rnn},
    {"gru", "GRU", 2, infer_gru, define_gru},
    {"lstm", "LSTM", 3, infer_lstm, define_lstm},
}};

void from_onnx(const OnnxNode& n, Builder& g) {
  const RecurrentAttrs attrs = recurrent_attrs(n, n.op);
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < 8; ++i) inputs.push_back(i < 3 ? n.need(i) : n.in(i));
  for (const Row& row : kRows)
    if (row.onnx == n.op) g.outputs(n, g.calls(op(row.name), attrs, inputs, row.outputs));
}

std::vector<OpDef> make_ops() {
  std::vector<OpDef> out;
  for (const Row& row : kRows)
    out.push_back(define_op<RecurrentAttrs>({.name = row.name,
                                             .fusion = FusionKind::Opaque,
                                             .infer = row.infer,
                                             .algorithms = {{.name = "scan", .define = row.define}},
                                             .onnx = {{.op = row.onnx, .rule = from_onnx}}}));
  return out;
}

}  // namespace

RecurrentAttrs recurrent_attrs(const OnnxNode& n, std::string_view cell) {
  RecurrentAttrs attrs{.clip = n.attr_float("clip", 0),
                       .layout = n.attr_int("layout", 0),
                       .linear_before_reset = n.attr_int("linear_before_reset", 0) != 0,
                       .input_forget = n.attr_int("input_forget", 0) != 0};
  const std::string direction = n.attr_string("direction", "forward");
  if (direction == "bidirectional")
    attrs.direction = Direction::Both;
  else if (direction == "reverse")
    attrs.direction = Direction::Reverse;
  else if (direction != "forward")
    n.refuse("ops.recurrent.direction", str("direction is \"", direction, "\""),
             "use forward, reverse or bidirectional");
  std::vector<std::string> defaults = {"tanh"};
  if (cell == "GRU") defaults = {"sigmoid", "tanh"};
  if (cell == "LSTM") defaults = {"sigmoid", "tanh", "tanh"};
  const CellActivations f =
      cell_activations(n, defaults, attrs.direction == Direction::Both ? 2 : 1);
  attrs.activations = f.names;
  attrs.alpha = f.alpha;
  attrs.beta = f.beta;
  return attrs;
}

std::span<const OpDef> recurrent_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

}  // namespace tilewright::ops
