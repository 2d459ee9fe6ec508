// SPDX-License-Identifier: Apache-2.0
// Loop-IR functions written as they read, for operators in form (b):
//   LoopForm f(call, 1);
//   const Scalar n("n", ir::Elem::I64);
//   return f.func(with({n}, steps({n.set(0), each("i", size, [&](Expr i) { … })})));
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/call.h"
#include "support/function_ref.h"

namespace tilewright::ops {

/// A function in the making: one parameter for each input that is there and for each result.
class LoopForm {
 public:
  LoopForm(const graph::Call& call, std::string_view name, size_t outputs);

  const ir::Buffer& in(size_t i) const;
  const ir::Buffer& out(size_t i) const { return out_[i]; }
  /// The function with this body, and with those symbols of the graph that it mentions.
  ir::LoopFunc func(ir::Stmt body) const;

 private:
  const graph::Call& call_;
  std::string name_;
  std::vector<ir::Buffer> in_;  // null: not there
  std::vector<ir::Buffer> out_;
};

using Coords = std::vector<ir::Expr>;

/// A variable of the function: `n.set(n.get() + 1)`.
struct Scalar {
  ir::Buffer buffer;
  Scalar(std::string name, ir::Elem elem);
  ir::Expr get() const { return ir::load(buffer, {}); }
  ir::Stmt set(const ir::Expr& value) const;
  ir::Stmt add(const ir::Expr& value) const { return set(get() + value); }
};

ir::Stmt store(const ir::Buffer& buffer, Coords at, const ir::Expr& value);
ir::Stmt when(const ir::Expr& condition, ir::Stmt yes, ir::Stmt no = nullptr);
ir::Stmt loop_while(const ir::Expr& condition, ir::Stmt body);
inline ir::Stmt steps(std::vector<ir::Stmt> stmts) { return ir::seq(std::move(stmts)); }
/// for name in 0..extent
ir::Stmt each(std::string_view name, const ir::Expr& extent,
              FunctionRef<ir::Stmt(const ir::Expr&)> body);
/// Nested loops over the extents, the last innermost.
ir::Stmt each(const std::vector<ir::Expr>& extents, FunctionRef<ir::Stmt(const Coords&)> body);
/// `value` under a name, computed once.
ir::Stmt let(std::string_view name, const ir::Expr& value,
             FunctionRef<ir::Stmt(const ir::Expr&)> body);

/// What is allocated around a body: variables, and buffers of these shapes.
struct Local {
  ir::Buffer buffer;
  Local(const Scalar& scalar) : buffer(scalar.buffer) {}
  Local(ir::Buffer b) : buffer(std::move(b)) {}
};
ir::Stmt with(const std::vector<Local>& locals, ir::Stmt body);

/// All of a buffer.
ir::Region whole(const ir::Buffer& buffer);
/// The elements at these indices; all of a dimension whose index is null.
ir::Region part(const ir::Buffer& buffer, const Coords& at);

/// Loops over the extents around an opaque block whose instances are independent.
ir::Stmt independent(std::string_view name, const std::vector<ir::Expr>& extents,
                     FunctionRef<std::vector<ir::Region>(const Coords&)> reads,
                     FunctionRef<std::vector<ir::Region>(const Coords&)> writes,
                     FunctionRef<ir::Stmt(const Coords&)> body);
/// A block that stores each element of the buffer, which schedules know.
ir::Stmt stored(std::string_view name, const ir::Buffer& buffer,
                FunctionRef<ir::Expr(const Coords&)> value);
/// One opaque block that reads and writes all of these buffers.
ir::Stmt alone(std::string_view name, const std::vector<ir::Buffer>& reads,
               const std::vector<ir::Buffer>& writes, ir::Stmt body);

/// Puts order[0..n) = 0 … n - 1 in order; equal ones keep theirs. `compare(i, j)` sets `sign` to a
/// negative number when i comes before j, 0 when they are equal. `scratch` has the shape of
/// `order`.
ir::Stmt sort_indices(const ir::Buffer& order, const ir::Buffer& scratch, const ir::Expr& n,
                      const Scalar& sign,
                      FunctionRef<ir::Stmt(const ir::Expr& i, const ir::Expr& j)> compare);

/// The indices with that of `axis` replaced.
Coords replaced(Coords at, int axis, const ir::Expr& by);
/// Extents but that of `axis`; and their indices with `by` put in for it.
std::vector<ir::Expr> without(std::vector<ir::Expr> extents, int axis);
Coords inserted(Coords at, int axis, const ir::Expr& by);
/// An index that counts from the end when it is negative.
ir::Expr from_end(const ir::Expr& index, const ir::Expr& extent);
/// The row-major number of an element, and back.
ir::Expr linear(const Coords& at, const std::vector<ir::Expr>& extents);
Coords unravel(const ir::Expr& index, const std::vector<ir::Expr>& extents);

}  // namespace tilewright::ops
