// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM. For each direction the input times its weights for all times is one stage, and
// the recurrence a scan over it.
#include <array>
#include <cmath>

#include "graph/onnx_node.h"
#include "ops/cell_activation.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;
using te::Tensor;
using te::Var;

enum Input : size_t { X, W, R, B, Lengths, InitialH, InitialC, Peepholes };

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
          .hidden = call.shape(R)[2],
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
  if (i != Lengths && !narrow_weights) need_same_elem(call, X, i);
}

std::vector<Type> infer(const Call& call, int64_t gates, int64_t peepholes) {
  need_float(call, X);
  for (const size_t i : {X, W, R}) need_rank(call, i, 3);
  const Sizes s = sizes(call);
  const Dim rows = simplified(s.hidden * gates), directions = Dim(s.directions);
  check_shape(call, W, {directions, rows, s.input});
  check_shape(call, R, {directions, rows, s.hidden});
  check_shape(call, B, {directions, simplified(rows * 2)});
  check_shape(call, Lengths, {s.batch});
  check_shape(call, InitialH, state_shape(s));
  check_shape(call, InitialC, state_shape(s));
  check_shape(call, Peepholes, {directions, simplified(s.hidden * peepholes)});
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
        projected_(project()) {}

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
  Tensor project() const {
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

  const Call& call_;
  const RecurrentAttrs& attrs_;
  Sizes size_;
  int64_t direction_, gates_;
  ir::Elem acc_;
  Tensor projected_;
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
  if (n.op == "GRU") defaults = {"sigmoid", "tanh"};
  if (n.op == "LSTM") defaults = {"sigmoid", "tanh", "tanh"};
  const CellActivations f =
      cell_activations(n, defaults, attrs.direction == Direction::Both ? 2 : 1);
  attrs.activations = f.names;
  attrs.alpha = f.alpha;
  attrs.beta = f.beta;
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

std::span<const OpDef> recurrent_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

}  // namespace tilewright::ops
