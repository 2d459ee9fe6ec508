// SPDX-License-Identifier: Apache-2.0
#include "driver/repro.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "driver/reference.h"
#include "driver/text_file.h"
#include "graph/parse.h"
#include "graph/verify.h"
#include "ops/all.h"
#include "target/host.h"

namespace tilewright::driver {
namespace {

constexpr const char* kModel = R"(
symbol n in 1..64 = dim(%x, 0)
constant %w: f32[3, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
graph main(%x: f32[n, 3]) {
  %p: f32[n, 4] = matmul(%x, %w)
  %a: f32[n, 4] = relu(%p)
  return %a
})";

struct Checked {
  graph::Graph model = graph::parse(kModel, ops::find);
  std::map<std::string, graph::Constant> values;

  Checked() {
    const std::vector<float> x = {1, -2, 3, 4, 5, -6};
    const auto* bytes = reinterpret_cast<const std::byte*>(x.data());
    values["x"] = graph::make_constant(ir::Elem::F32, {2, 3}, {bytes, bytes + 24});
    run_reference(model, {values["x"]}, &values);
  }
};

ModelOptions host() {
  ModelOptions options;
  options.target = target::parse_target("host");
  return options;
}

TEST(Repro, is_one_operator_with_the_shapes_of_the_run) {
  const Checked checked;
  const std::optional<Repro> repro = repro_of(checked.model, "p", checked.values);
  ASSERT_TRUE(repro);
  graph::verify(repro->graph);
  ASSERT_EQ(repro->graph.main().nodes.size(), 1u);
  ASSERT_EQ(repro->inputs.size(), 1u);  // the weight is a constant
  EXPECT_EQ(repro->inputs[0].name, "x");
  EXPECT_EQ(graph::print(repro->graph.type(repro->graph.main().outputs[0])), "f32[2, 4]");
  EXPECT_FALSE(repro_of(checked.model, "no such value", checked.values));
}

TEST(Repro, tells_whether_the_operator_is_at_fault) {
#ifndef TILEWRIGHT_LLVM
  GTEST_SKIP() << "kernels need LLVM";
#endif
  Checked checked;
  const Repro right = *repro_of(checked.model, "p", checked.values);
  EXPECT_NE(culprit_of(right, host(), 1e-6).find("right alone"), std::string::npos);
  checked.values["p"] = graph::make_constant(ir::Elem::F32, {2, 4}, std::vector<std::byte>(32));
  const Repro wrong = *repro_of(checked.model, "p", checked.values);
  EXPECT_NE(culprit_of(wrong, host(), 1e-6).find("definition"), std::string::npos);
}

TEST(Repro, reads_back) {
  const Checked checked;
  const Repro repro = *repro_of(checked.model, "p", checked.values);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tilewright_repro_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  write_repro(repro, (folder / "r").string(), "two\nlines");
  const graph::Graph graph = read_graph_file(folder / "r.tw");
  const std::vector<frontend::NamedTensor> inputs = frontend::read_npz(folder / "r.npz");
  ASSERT_EQ(inputs.size(), 1u);
  const graph::Constant p = run_reference(graph, {inputs[0].value})[0];
  EXPECT_TRUE(std::ranges::equal(p->bytes, checked.values.at("p")->bytes));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tilewright::driver
