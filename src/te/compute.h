// SPDX-License-Identifier: Apache-2.0
// A tensor by its elements:
//   Tensor C = compute("C", {m, n}, [&](Var y, Var x) { return sum(A(k, y) * B(k, x), k); });
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "te/reduce.h"

namespace tilewright::te {

/// The names of a stage's outputs; one name for several outputs is numbered, none is `t`.
class Names {
 public:
  Names() = default;
  Names(const char* one) : names_{one} {}
  Names(std::string one) : names_{std::move(one)} {}
  Names(std::initializer_list<std::string> several) : names_(several) {}
  Names(std::vector<std::string> several) : names_(std::move(several)) {}

  std::string first() const { return names_.empty() ? "t" : names_[0]; }
  /// The names of `count` outputs.
  std::vector<std::string> of(size_t count) const;

 private:
  std::vector<std::string> names_;
};

/// A stage whose outputs are the results, one each, over the axes. A reduction that is a whole
/// result is the stage's own; one inside of a larger expression becomes a stage before this one,
/// over the axes that it mentions.
std::vector<Tensor> make_compute(const Names& names, const std::vector<Iter>& axes,
                                 const Tuple& results, const Span& span = {});

namespace detail {
/// Axes i0, i1, … with these extents.
std::vector<Iter> numbered_axes(const Names& names, const Shape& shape);
[[noreturn]] void refuse_rank(const Names& names, size_t axes, size_t rank);

template <size_t>
using VarAt = const Var&;
template <class F, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, VarAt<I>...>;
}
/// How many axes the user's function takes; kAny when it takes a vector of them.
constexpr size_t kAny = 64;
template <class F, size_t N = 0>
constexpr size_t arity() {
  static_assert(N <= 16, "the function of compute takes Vars, or one const std::vector<Var>&");
  if constexpr (N == 0 && std::is_invocable_v<F&, const std::vector<Var>&>)
    return kAny;
  else if constexpr (takes<F>(std::make_index_sequence<N>()))
    return N;
  else
    return arity<F, N + 1>();
}

template <class F>
auto call_with(F& f, const Names& names, const std::vector<Var>& vars) {
  constexpr size_t kArity = arity<F>();
  if constexpr (kArity == kAny) {
    return f(vars);
  } else {
    if (vars.size() != kArity) refuse_rank(names, kArity, vars.size());
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return f(vars[I]...);
    }(std::make_index_sequence<kArity>());
  }
}
}  // namespace detail

/// The tensor whose element at (i, j, …) is f(i, j, …). A function that returns a Tuple gives one
/// tensor for each of its values.
template <class F>
auto compute(const Names& names, const Shape& shape, F&& f) {
  const std::vector<Iter> axes = detail::numbered_axes(names, shape);
  std::vector<Var> vars;
  for (const Iter& axis : axes) vars.push_back(Var(axis.var));
  const auto result = detail::call_with(f, names, vars);
  if constexpr (std::is_convertible_v<decltype(result), Expr>)
    return make_compute(names, axes, {result})[0];
  else
    return make_compute(names, axes, result);
}

template <class F>
auto compute(const Shape& shape, F&& f) {
  return compute(Names(), shape, std::forward<F>(f));
}

}  // namespace tilewright::te
