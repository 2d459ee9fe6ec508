// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

#include "lower/to_blocks.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using schedule::kOpen;
using schedule::Schedule;

namespace {

/// `vectors` beside each other, as one wide vector: their instructions alternate, which covers the
/// latency of the formula.
Schedule as_vectors(const te::Program& program, int64_t vectors, const ir::TargetSpec& spec) {
  Schedule s(lower::to_blocks(program));
  const auto [o, v] = s.split<2>(s.loops("y")[0], {kOpen, vectors * spec.lanes(32)});
  s.vectorize(v);
  return s;
}

}  // namespace

Schedule schedule_exp(int64_t n, const ir::TargetSpec& spec) {
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {n});
  const te::Tensor y = te::compute("y", {n}, [&](te::Var i) { return te::exp(x(i)); });
  return as_vectors(te::program("exp", {x}, {y}), 2, spec);
}

Schedule schedule_gelu(int64_t n, const ir::TargetSpec& spec) {
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {n});
  const te::Tensor y = te::compute("y", {n}, [&](te::Var i) {
    const te::Expr half = x(i) * 0.5;
    return half + half * te::erf(x(i) * 0.70710678118654752);
  });
  return as_vectors(te::program("gelu", {x}, {y}), spec.vector_registers >= 32 ? 4 : 2, spec);
}

}  // namespace bench
