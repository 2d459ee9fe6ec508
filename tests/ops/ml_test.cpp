// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Attributes = std::vector<std::pair<std::string, graph::OnnxAttr>>;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

TestNode ml(std::string op, Attributes attributes, size_t outputs = 1, int opset = 3) {
  return {.op = std::move(op),
          .opset = opset,
          .attributes = std::move(attributes),
          .outputs = outputs,
          .domain = "ai.onnx.ml"};
}

// x0 <= 1 ? (x1 < 5 ? leaf 3 : leaf 4) : leaf 2
const Attributes kTree = {
    {"nodes_treeids", Ints{0, 0, 0, 0, 0}},
    {"nodes_nodeids", Ints{0, 1, 2, 3, 4}},
    {"nodes_featureids", Ints{0, 1, 0, 0, 0}},
    {"nodes_values", Floats{1, 5, 0, 0, 0}},
    {"nodes_modes", Strings{"BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"}},
    {"nodes_truenodeids", Ints{1, 3, 0, 0, 0}},
    {"nodes_falsenodeids", Ints{2, 4, 0, 0, 0}}};

TEST(TreeEnsemble, WalksToTheLeaves) {
  Attributes attributes = kTree;
  for (const auto& a : Attributes{{"target_treeids", Ints{0, 0, 0}},
                                  {"target_nodeids", Ints{2, 3, 4}},
                                  {"target_ids", Ints{0, 0, 0}},
                                  {"target_weights", Floats{10, 20, 30}},
                                  {"base_values", Floats{1}},
                                  {"n_targets", int64_t{1}}})
    attributes.push_back(a);
  TestNode test = ml("TreeEnsembleRegressor", attributes);
  for (const bool symbolic : {false, true}) {
    test.symbolic = symbolic;
    const auto y = run_node(test, {floats({4, 2}, {2, 0, 1, 5, 1, 4, 0, 9})});
    EXPECT_EQ(numbers(y[0]), (std::vector<double>{11, 31, 21, 31}));
  }
}

TEST(TreeEnsemble, ClassifiesByTheGreatestScore) {
  Attributes attributes = kTree;
  for (const auto& a : Attributes{{"class_treeids", Ints{0, 0, 0}},
                                  {"class_nodeids", Ints{2, 3, 4}},
                                  {"class_ids", Ints{0, 1, 2}},
                                  {"class_weights", Floats{1, 1, 1}},
                                  {"classlabels_int64s", Ints{7, 8, 9}}})
    attributes.push_back(a);
  const auto y =
      run_node(ml("TreeEnsembleClassifier", attributes, 2), {floats({2, 2}, {2, 0, 1, 5})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{7, 9}));
  EXPECT_EQ(numbers(y[1]), (std::vector<double>{1, 0, 0, 0, 0, 1}));
}

TEST(TreeEnsemble, RefusesWaysInCircles) {
  Attributes attributes = {{"nodes_treeids", Ints{0}},
                           {"nodes_nodeids", Ints{0}},
                           {"nodes_featureids", Ints{0}},
                           {"nodes_values", Floats{1}},
                           {"nodes_modes", Strings{"BRANCH_LEQ"}},
                           {"nodes_truenodeids", Ints{0}},
                           {"nodes_falsenodeids", Ints{0}}};
  const Diagnostic e = diagnostic_of(
      [&] { run_node(ml("TreeEnsembleRegressor", attributes), {floats({1, 1}, {0})}); });
  EXPECT_EQ(e.code, "ops.trees.shape");
}

TEST(LabelEncoder, MapsKeysAndLeavesTheRestToTheDefault) {
  const auto y = run_node(ml("LabelEncoder", {{"keys_int64s", Ints{3, 5}},
                                              {"values_floats", Floats{0.5, 1.5}},
                                              {"default_float", -1.0F}}),
                          {ints({3}, {5, 4, 3})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{1.5, -1, 0.5}));
}

TEST(Scaler, ShiftsThenScales) {
  const auto y = run_node(ml("Scaler", {{"offset", Floats{1, 2}}, {"scale", Floats{2, 3}}}),
                          {floats({1, 2}, {5, 5})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{8, 9}));
}

TEST(Normalizer, DividesByTheNorm) {
  const auto y =
      run_node(ml("Normalizer", {{"norm", std::string("L1")}}), {floats({2, 2}, {1, -3, 0, 0})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{0.25, -0.75, 0, 0}));
}

TEST(LinearClassifier, GivesTwoScoresForOneRow) {
  const auto y = run_node(ml("LinearClassifier",
                             {{"coefficients", Floats{1, -1}},
                              {"intercepts", Floats{0.5}},
                              {"classlabels_ints", Ints{3, 4}}},
                             2),
                          {floats({2, 2}, {1, 0, 0, 2})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{4, 3}));
  EXPECT_EQ(numbers(y[1]), (std::vector<double>{-1.5, 1.5, 1.5, -1.5}));
}

TEST(LinearClassifier, LeavesOutCoefficientsBeyondTheFeatures) {
  const auto y = run_node(ml("LinearClassifier",
                             {{"coefficients", Floats{1, 2, 3, 4, 50, 60, 70, 80}},
                              {"intercepts", Floats{0, 0}},
                              {"classlabels_ints", Ints{3, 4}}},
                             2),
                          {floats({1, 2}, {1, 10})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{4}));
  EXPECT_EQ(numbers(y[1]), (std::vector<double>{21, 43}));
}

TEST(TfIdf, CountsGramsWithSkips) {
  const TestNode test{.op = "TfIdfVectorizer",
                      .attributes = {{"mode", std::string("TF")},
                                     {"min_gram_length", int64_t{1}},
                                     {"max_gram_length", int64_t{2}},
                                     {"max_skip_count", int64_t{1}},
                                     {"ngram_counts", Ints{0, 2}},
                                     {"ngram_indexes", Ints{0, 1, 2}},
                                     {"pool_int64s", Ints{2, 3, 2, 4}}}};
  // 2 occurs twice, 3 once; (2, 4) once side by side and once with one between.
  const auto y = run_node(test, {ints({5}, {2, 3, 4, 2, 4})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{2, 1, 2}));
}

}  // namespace
}  // namespace tilewright::ops
