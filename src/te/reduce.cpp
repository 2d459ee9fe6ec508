// SPDX-License-Identifier: Apache-2.0
#include "te/reduce.h"

#include <algorithm>

#include "support/str.h"

namespace tilewright::te {
namespace {

ir::Reducer builtin(const char* name, ir::BinaryOp op, ir::Elem elem) {
  const bool logical = op == ir::BinaryOp::And || op == ir::BinaryOp::Or;
  if (logical != (elem == ir::Elem::Bool))
    throw Error({.code = "te.reduce.type",
                 .message = str("`", name, "` of ", ir::name(elem), " values"),
                 .help = logical ? "`all` and `any` reduce conditions"
                                 : "reduce conditions with `all` or `any`, or cast them first"});
  return ir::builtin_reducer(op, elem);
}

Expr reduce_one(const char* name, ir::BinaryOp op, const Expr& value, const Axes& axes) {
  return reduce(builtin(name, op, value.elem()), {value}, axes)[0];
}

}  // namespace

Axis reduce_axis(const Expr& extent, std::string name) {
  const ir::Expr n = checked_extent(str("the extent of axis `", name, "`"), extent, {});
  return Axis(ir::Var(std::move(name)), n);
}

Tuple reduce(const ir::Reducer& reducer, const Tuple& values, const Axes& axes, const Span& span) {
  if (!reducer)
    throw Error({.code = "te.reduce.reducer",
                 .at = span,
                 .message = "a reduction without a reducer",
                 .help = "make one with te::reducer, or use sum, max_over, …"});
  if (values.size() != reducer->lhs.size())
    throw Error({.code = "te.reduce.arity",
                 .at = span,
                 .message = str("reducer `", reducer->name, "` combines ", reducer->lhs.size(),
                                " values and is given ", values.size()),
                 .help = "give one value per element of the reducer's tuple"});
  if (axes.empty())
    throw Error({.code = "te.reduce.axes",
                 .at = span,
                 .message = str("`", reducer->name, "` over no axis"),
                 .help = "name the axes it runs over, as in sum(A(i, k), k)"});

  Reduction r{.reducer = reducer};
  for (const Axis& axis : axes) {
    const auto same = [&](const Iter& it) { return it.var == axis.var(); };
    if (std::any_of(r.axes.begin(), r.axes.end(), same))
      throw Error(
          {.code = "te.reduce.axes",
           .at = span,
           .message = str("`", reducer->name, "` runs over axis `", axis.var().name(), "` twice"),
           .help = "name each axis once"});
    r.axes.push_back(axis.iter());
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const ir::Type type = reducer->lhs[i].type();
    const ir::Expr value = values[i].ir(type.elem);
    if (value.type() != type)
      throw Error({.code = "te.reduce.type",
                   .at = span,
                   .message = str("value ", i, " of reducer `", reducer->name, "` is ",
                                  print(value.type()), ", not ", print(type)),
                   .help = "cast the value, or make the reducer for its type"});
    r.values.push_back(Expr::combine(value, {values[i]}));
    r.results.push_back(ir::Var(reducer->name, type));
  }

  const auto shared = std::make_shared<const Reduction>(std::move(r));
  Tuple out;
  for (size_t i = 0; i < values.size(); ++i) out.push_back(Expr::result_of(shared, i));
  return out;
}

Expr sum(const Expr& value, const Axes& axes) {
  return reduce_one("sum", ir::BinaryOp::Add, value, axes);
}
Expr prod(const Expr& value, const Axes& axes) {
  return reduce_one("prod", ir::BinaryOp::Mul, value, axes);
}
Expr max_over(const Expr& value, const Axes& axes) {
  return reduce_one("max_over", ir::BinaryOp::Max, value, axes);
}
Expr min_over(const Expr& value, const Axes& axes) {
  return reduce_one("min_over", ir::BinaryOp::Min, value, axes);
}
Expr all(const Expr& condition, const Axes& axes) {
  return reduce_one("all", ir::BinaryOp::And, condition, axes);
}
Expr any(const Expr& condition, const Axes& axes) {
  return reduce_one("any", ir::BinaryOp::Or, condition, axes);
}

}  // namespace tilewright::te
