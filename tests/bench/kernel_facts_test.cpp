// SPDX-License-Identifier: Apache-2.0
#include "kernel_facts.h"

#include <gtest/gtest.h>

#include "driver/run_model.h"
#include "graph/parse.h"
#include "module/in_memory.h"
#include "ops/all.h"
#include "runtime/api.h"
#include "target/host.h"

namespace bench {
namespace {

using namespace tilewright;

KernelFacts facts(const char* text, std::vector<std::vector<int64_t>> inputs) {
  driver::ModelOptions options;
  options.target = target::parse_target("host");
  options.threads = 1;
  const driver::CompiledModel compiled =
      driver::compile_with_report(graph::parse(text, ops::find), options);
  driver::LoadedModule module(module_in_memory(compiled.module), 1);
  const runtime::LoadedModule& loaded = *runtime::from_c(module.module().get());
  return facts_of(compiled, driver::plan_steps(loaded.view(), loaded.variant(), inputs)).at(0);
}

TEST(KernelFact, a_product_of_matrices_shares_its_operands) {
  const KernelFacts f =
      facts("graph main(%x: f32[5, 3], %w: f32[3, 7]) { %y: f32[5, 7] = matmul(%x, %w) return %y }",
            {{5, 3}, {3, 7}});
  EXPECT_EQ(f.flops, 2 * 5 * 3 * 7);
  EXPECT_EQ(f.product_flops, f.flops);
  double bytes = 0;
  for (const Touch& t : f.touches) bytes += static_cast<double>(t.bytes);
  EXPECT_EQ(bytes, 4 * (15 + 21 + 35));
}

TEST(KernelFact, a_product_with_a_vector_does_not) {
  const KernelFacts f =
      facts("graph main(%x: f32[1, 3], %w: f32[3, 7]) { %y: f32[1, 7] = matmul(%x, %w) return %y }",
            {{1, 3}, {3, 7}});
  EXPECT_EQ(f.flops, 2 * 3 * 7);
  EXPECT_EQ(f.product_flops, 0);
}

}  // namespace
}  // namespace bench
