// SPDX-License-Identifier: Apache-2.0
#include "lower/to_instruction.h"

#include <gtest/gtest.h>

#include "common/errors.h"
#include "ir/print.h"
#include "te/te.h"

namespace tilewright::lower {
namespace {

te::Program gemm(int64_t m, int64_t n, int64_t l) {
  const te::Tensor a = te::placeholder("a", ir::Elem::F32, {m, l});
  const te::Tensor b = te::placeholder("b", ir::Elem::F32, {l, n});
  const te::Axis k = te::reduce_axis(l, "k");
  const te::Tensor c =
      te::compute("c", {m, n}, [&](te::Var y, te::Var x) { return te::sum(a(y, k) * b(k, x), k); });
  return te::program("gemm8x8", {a, b}, {c});
}

TEST(ToInstruction, AReductionHasAllThreeForms) {
  const ir::Instruction i = to_instruction(
      gemm(8, 8, 8), {{.name = "c", .scope = {ir::ScopeKind::Register, {}}, .layout = {}}}, "mma8");
  EXPECT_EQ(
      ir::print(i),
      R"(instr gemm8x8(c: inout f32[8, 8] register, a: in f32[8, 8], b: in f32[8, 8]) emit "mma8" {
  compute {
    for i0 in 0..8 {
      for i1 in 0..8 {
        for k in 0..8 {
          block c(vi0: spatial 8 = i0, vi1: spatial 8 = i1, vk: reduce 8 = k)
              reads a[vi0, vk], b[vk, vi1]
              writes c[vi0, vi1] {
            init {
              c[vi0, vi1] = 0.0
            }
            c[vi0, vi1] sum= a[vi0, vk] * b[vk, vi1]
          }
        }
      }
    }
  }
  reset {
    for i0 in 0..8 {
      for i1 in 0..8 {
        block c(vi0: spatial 8 = i0, vi1: spatial 8 = i1) writes c[vi0, vi1] {
          c[vi0, vi1] = 0.0
        }
      }
    }
  }
  update {
    for i0 in 0..8 {
      for i1 in 0..8 {
        for k in 0..8 {
          block c(vi0: spatial 8 = i0, vi1: spatial 8 = i1, vk: reduce 8 = k)
              reads a[vi0, vk], b[vk, vi1]
              writes c[vi0, vi1] {
            c[vi0, vi1] sum= a[vi0, vk] * b[vk, vi1]
          }
        }
      }
    }
  }
}
)");
}

TEST(ToInstruction, WithoutAReductionThereIsOnlyCompute) {
  const te::Tensor a = te::placeholder("a", ir::Elem::F32, {4});
  const te::Tensor c = te::compute("c", {4}, [&](te::Var x) { return te::max(a(x), 0.0); });
  const ir::Instruction i = to_instruction(te::program("relu4", {a}, {c}));
  EXPECT_TRUE(i->compute);
  EXPECT_FALSE(i->reset);
  EXPECT_FALSE(i->update);
  EXPECT_EQ(i->operands[0].access, ir::Access::Out);
}

TEST(ToInstruction, RefusesSeveralStages) {
  const te::Tensor a = te::placeholder("a", ir::Elem::F32, {4});
  const te::Tensor b = te::compute("b", {4}, [&](te::Var x) { return a(x) + 1.0; });
  const te::Tensor c = te::compute("c", {4}, [&](te::Var x) { return b(x) * 2.0; });
  const Diagnostic d = diagnostic_of([&] { to_instruction(te::program("two", {a}, {c})); });
  EXPECT_EQ(d.code, "lower.instruction.meaning");
  EXPECT_NE(d.message.find("`two`"), std::string::npos);
}

TEST(ToInstruction, RefusesATensorThatIsNotThere) {
  const Diagnostic d = diagnostic_of([&] { to_instruction(gemm(2, 2, 2), {{"d", {}, {}}}); });
  EXPECT_NE(d.notes.at(0).find("`d`"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::lower
