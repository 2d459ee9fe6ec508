// SPDX-License-Identifier: Apache-2.0
// What a tensor program is made of: stages, and tensors as their results. te/README.md tells more.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/buffer.h"
#include "ir/reducer.h"

namespace tilewright::te {

class Expr;
struct StageNode;
using Stage = ir::Handle<StageNode>;
/// Extents, one per dimension: `{m, n}`, `{1, 3, n + 1}`, `{}` for a scalar.
using Shape = std::vector<Expr>;

/// One result of a stage, a counted handle. Calling it reads an element: `A(i, 2 * j + 1)`.
class Tensor {
 public:
  Tensor(Stage stage, int output) : stage_(std::move(stage)), output_(output) {}

  const Stage& stage() const { return stage_; }
  int output() const { return output_; }
  /// Its name, element type and shape; loads in the stages' expressions name this buffer.
  const ir::Buffer& buffer() const;
  const std::string& name() const { return buffer()->name; }
  ir::Elem elem() const { return buffer()->elem; }
  int rank() const { return buffer()->rank(); }
  const std::vector<ir::Expr>& shape() const { return buffer()->shape; }

  /// Indices are i64: ints, axes, expressions, or `cast(I64, …)` of another tensor's element.
  template <class... Index>
  Expr operator()(const Index&... indices) const;
  Expr at(const std::vector<Expr>& indices) const;

  /// The same result of the same stage.
  friend bool operator==(const Tensor&, const Tensor&) = default;

 private:
  Stage stage_;
  int output_ = 0;
};

/// 0 <= var < extent
struct Iter {
  ir::Var var;
  ir::Expr extent;
};

/// An input of the program, or the state of a scan as its step sees it.
struct Placeholder {};

/// outputs[axes…] = values, or the reduction of the values over the reduction axes.
struct Compute {
  std::vector<Iter> axes;
  std::vector<Iter> reduce_axes;
  ir::Reducer reducer;           // null: no reduction
  std::vector<ir::Expr> values;  // one per output
};

/// outputs[t, …] = results of the step at time t, which sees the results of t - 1 as `prev`, and
/// `init` at t = 0. There may be more results than states.
struct Scan {
  Iter time;
  std::vector<Tensor> init;
  std::vector<Tensor> prev;  // placeholders
  std::vector<Tensor> results;
  std::vector<Stage> body;  // what depends on the time or on `prev`, in order
};

struct StageNode {
  std::vector<ir::Buffer> outputs;
  std::vector<Tensor> reads;  // each once; for a scan, what its body reads from outside of it
  std::variant<Placeholder, Compute, Scan> def;
  Span span;
  int depth = 0;  // of the longest chain of stages behind it

  template <class Def>
  const Def* as() const {
    return std::get_if<Def>(&def);
  }
  const std::string& name() const { return outputs[0]->name; }
};

inline const ir::Buffer& Tensor::buffer() const {
  return stage_->outputs[static_cast<size_t>(output_)];
}

Tensor placeholder(std::string name, ir::Elem elem, const Shape& shape, const Span& span = {});

/// Extents as i64 expressions over symbols: refuses negative, overflowing and loaded ones. `name`
/// is whose shape it is.
std::vector<ir::Expr> checked_shape(const std::string& name, ir::Elem elem, const Shape& shape,
                                    const Span& span);
/// One extent, likewise. `what` names it in an error: "extent 0 of `A`".
ir::Expr checked_extent(const std::string& what, const Expr& extent, const Span& span);

/// Programs are walked by recursion, and each tensor between stages is an allocation around them.
constexpr int kMaxStages = 900;

/// Sets its depth; refuses chains longer than kMaxStages.
Stage make_stage(StageNode node);
/// Adds `t` unless it is there.
void add_once(std::vector<Tensor>& all, const Tensor& t);

}  // namespace tilewright::te
