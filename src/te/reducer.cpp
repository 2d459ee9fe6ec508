// SPDX-License-Identifier: Apache-2.0
// Reducers: those of the user, and argmax and argmin, which are made the same way.
#include <limits>
#include <map>
#include <mutex>

#include "ir/rewrite.h"
#include "support/str.h"
#include "te/math.h"
#include "te/reduce.h"

namespace tilewright::te {
namespace {

[[noreturn]] void refuse(const std::string& name, std::string what, std::string help) {
  throw Error({.code = "te.reducer.law",
               .message = str("reducer `", name, "`: ", what),
               .help = std::move(help)});
}

Tuple variables(const char* stem, const std::vector<ir::Elem>& elems, std::vector<ir::Var>& into) {
  Tuple out;
  for (size_t i = 0; i < elems.size(); ++i) {
    into.emplace_back(elems.size() == 1 ? std::string(stem) : str(stem, i), ir::Type{elems[i], 1});
    out.push_back(Var(into.back()));
  }
  return out;
}

/// The tuple as expressions of the given types over `allowed` variables alone.
std::vector<ir::Expr> checked(const std::string& name, const char* what, const Tuple& tuple,
                              const std::vector<ir::Elem>& elems,
                              std::initializer_list<const std::vector<ir::Var>*> allowed) {
  if (tuple.size() != elems.size())
    refuse(name, str(what, " has ", tuple.size(), " values, the tuple ", elems.size()),
           "give one value per element of the tuple");
  std::vector<ir::Expr> out;
  for (size_t i = 0; i < tuple.size(); ++i) {
    if (!tuple[i].reads().empty() || !tuple[i].reductions().empty())
      refuse(name, str(what, " reads a tensor or reduces"),
             "a reducer is a function of the values that it combines");
    out.push_back(tuple[i].ir(elems[i]));
    if (out[i].type() != ir::Type{elems[i], 1})
      refuse(name,
             str("value ", i, " of ", what, " is ", print(out[i].type()), ", not ",
                 ir::name(elems[i])),
             "cast it, or declare the tuple with that type");
    std::unordered_set<ir::Var> free = ir::vars_of(out[i]);
    for (const std::vector<ir::Var>* vars : allowed)
      for (const ir::Var& v : *vars) free.erase(v);
    if (!free.empty())
      refuse(name, str(what, " mentions `", free.begin()->name(), "`"),
             "a reducer is a function of the values that it combines");
  }
  return out;
}

std::vector<ir::Elem> elems_of(const std::vector<ir::Var>& vars) {
  std::vector<ir::Elem> out;
  for (const ir::Var& v : vars) out.push_back(v.type().elem);
  return out;
}

/// `beats(x, y)` says that y is better than x; NaN is better than any number.
ir::Reducer arg_reducer(const char* name, ir::BinaryOp op, ir::Elem elem) {
  if (elem == ir::Elem::Bool)
    refuse(name, "it compares bool values", "cast the condition to u8 first");
  const bool greatest = op == ir::BinaryOp::Max;
  const auto combine = [&](const Tuple& a, const Tuple& b) -> Tuple {
    const Expr &i = a[0], &x = a[1], &j = b[0], &y = b[1];
    Expr better = greatest ? y > x : y < x;
    Expr equal = x == y;
    if (ir::is_float(elem)) {
      better = better || (isnan(y) && !isnan(x));
      equal = equal || (isnan(y) && isnan(x));
    }
    const Expr take = better || (equal && j < i);
    return {select(take, j, i), select(take, y, x)};
  };
  return reducer(name, {ir::Elem::I64, elem}, combine,
                 {std::numeric_limits<int64_t>::max(), ir::builtin_reducer(op, elem)->identity[0]});
}

/// One node per type, so that equal reducers are the same.
ir::Reducer kept(const char* name, ir::BinaryOp op, ir::Elem elem) {
  static std::mutex mutex;
  static std::map<std::pair<ir::BinaryOp, ir::Elem>, ir::Reducer> made;
  const std::lock_guard lock(mutex);
  ir::Reducer& known = made[{op, elem}];
  if (!known) known = arg_reducer(name, op, elem);
  return known;
}

}  // namespace

ir::Reducer reducer(std::string name, const std::vector<ir::Elem>& elems,
                    FunctionRef<Tuple(const Tuple& x, const Tuple& y)> combine,
                    const Tuple& identity) {
  if (elems.empty()) refuse(name, "it combines nothing", "give the types of its tuple");
  ir::ReducerNode node{.name = std::move(name)};
  const Tuple x = variables("x", elems, node.lhs), y = variables("y", elems, node.rhs);
  node.combine = checked(node.name, "combine", combine(x, y), elems, {&node.lhs, &node.rhs});
  node.identity = checked(node.name, "identity", identity, elems, {});
  return ir::Reducer(std::make_shared<const ir::ReducerNode>(std::move(node)));
}

ir::Reducer with_rescale(
    const ir::Reducer& reducer, const std::vector<ir::Elem>& of,
    FunctionRef<Tuple(const Tuple& partial, const Tuple& from, const Tuple& to)> rescale) {
  ir::ReducerNode node = *reducer;
  const std::vector<ir::Elem> elems = elems_of(node.lhs);
  node.partial.clear(), node.from.clear(), node.to.clear();
  const Tuple partial = variables("p", elems, node.partial);
  const Tuple from = variables("from", of, node.from), to = variables("to", of, node.to);
  node.rescale = checked(node.name, "rescale", rescale(partial, from, to), elems,
                         {&node.partial, &node.from, &node.to});
  return ir::Reducer(std::make_shared<const ir::ReducerNode>(std::move(node)));
}

ir::Reducer argmax_reducer(ir::Elem elem) { return kept("argmax", ir::BinaryOp::Max, elem); }
ir::Reducer argmin_reducer(ir::Elem elem) { return kept("argmin", ir::BinaryOp::Min, elem); }

Tuple argmax(const Expr& value, const Axis& axis) {
  return reduce(argmax_reducer(value.elem()), {axis, value}, axis);
}
Tuple argmin(const Expr& value, const Axis& axis) {
  return reduce(argmin_reducer(value.elem()), {axis, value}, axis);
}

}  // namespace tilewright::te
