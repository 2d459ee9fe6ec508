// SPDX-License-Identifier: Apache-2.0
// Recurrences over time. The step sees the state at t - 1 as an ordinary tensor, and makes the
// state at t with as many stages as it likes:
//   Tensor h = scan("h", T, h0, [&](Var t, Tensor prev) {
//     Tensor r = compute({n}, [&](Var i) { return sum(U(i, j) * prev(j), j); });
//     return compute({n}, [&](Var i) { return tanh(x(t, i) + r(i)); });
//   });                                         // h(t, i), of shape {T, n}; prev is h0 at t = 0
#pragma once

#include "te/compute.h"

namespace tilewright::te {

/// A scan in the making: `time` and `prev` are what the step sees.
struct ScanFrame {
  Iter time;
  std::vector<Tensor> prev;
};
ScanFrame begin_scan(const Names& names, const Expr& steps, const std::vector<Tensor>& init);
std::vector<Tensor> end_scan(const Names& names, const ScanFrame& frame,
                             const std::vector<Tensor>& init, const std::vector<Tensor>& results,
                             const Span& span = {});

/// Several states: the step takes (Var t, std::vector<Tensor> prev) and returns the new states, and
/// after them any further tensors that are wanted over time.
template <class Step>
std::vector<Tensor> scan(const Names& names, const Expr& steps, const std::vector<Tensor>& init,
                         Step&& step) {
  const ScanFrame frame = begin_scan(names, steps, init);
  return end_scan(names, frame, init, step(Var(frame.time.var), frame.prev));
}

template <class Step>
Tensor scan(const Names& names, const Expr& steps, const Tensor& init, Step&& step) {
  return scan(names, steps, std::vector<Tensor>{init},
              [&](const Var& t, const std::vector<Tensor>& prev) {
                return std::vector<Tensor>{step(t, prev[0])};
              })[0];
}

}  // namespace tilewright::te
