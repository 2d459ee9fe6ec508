// SPDX-License-Identifier: Apache-2.0
#include "graph/parts.h"

#include <gtest/gtest.h>

#include "graph/parse.h"
#include "ir/print.h"
#include "ops/all.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

/// `a in c at 0, b in c at 64`
std::string parts_of(const std::string& text) {
  const Graph g = parse(text, ops::find);
  const Parts parts = parts_in_place(g);
  std::string out;
  for (const auto& [id, part] : parts.places)
    out += str(out.empty() ? "" : ", ", g.value(id).name, " in ", g.value(part.whole).name, " at ",
               ir::print(part.offset));
  return out;
}

TEST(Parts, InputsOfAConcatAreWrittenWhereTheResultHasThem) {
  EXPECT_EQ(parts_of(R"(graph main(%x: f32[1, 4, 8]) {
    %a: f32[1, 4, 8] = relu(%x)
    %b: f32[1, 4, 8] = exp(%x)
    %c: f32[1, 8, 8] = concat(%a, %b) {axis = -2}
    %y: f32[1, 8, 8] = relu(%c)
    return %y })"),
            "a in c at 0, b in c at 128");
}

TEST(Parts, AConcatCanBeAPart) {
  EXPECT_EQ(parts_of(R"(graph main(%x: f32[16]) {
    %a: f32[16] = relu(%x)
    %b: f32[16] = exp(%x)
    %c: f32[32] = concat(%a, %b) {axis = 0}
    %d: f32[48] = concat(%b, %c) {axis = 0}
    %e: f32[16] = neg(%x)
    %f: f32[48] = concat(%e, %c) {axis = 0}
    %g: f32[48] = mul(%f, %d)
    return %g })"),
            "a in c at 0, b in c at 64, c in f at 64, e in f at 0");  // %d has %b elsewhere
}

TEST(Parts, SizesMayBeFormulasOfTheInputs) {
  EXPECT_EQ(parts_of(R"(symbol n in 0..64 = dim(%x, 0)
    graph main(%x: f32[n, 32]) {
    %a: f32[n, 32] = relu(%x)
    %b: f32[n, 32] = exp(%x)
    %c: f32[n * 2, 32] = concat(%a, %b) {axis = 0}
    %y: f32[n * 2, 32] = relu(%c)
    return %y })"),
            "a in c at 0, b in c at n * 128");
}

TEST(Parts, ResultsOfASplitAreReadWhereTheInputHasThem) {
  EXPECT_EQ(parts_of(R"(graph main(%x: f32[1, 48, 2]) {
    %a: f32[1, 16, 2], %b: f32[1, 16, 2], %c: f32[1, 16, 2] = split(%x) {axis = 1, outputs = 3}
    %y: f32[1, 16, 2] = mul(%a, %b)
    %z: f32[1, 16, 2] = mul(%y, %c)
    return %z })"),
            "a in x at 0, b in x at 128, c in x at 256");
}

constexpr const char* kNone[] = {
    // the axis is not the outermost
    R"(graph main(%x: f32[2, 16]) {
    %a: f32[2, 16] = relu(%x)
    %b: f32[2, 16] = exp(%x)
    %c: f32[2, 32] = concat(%a, %b) {axis = 1}
    %y: f32[2, 32] = relu(%c)
    return %y })",
    // kernels take addresses that are multiples of 64
    R"(graph main(%x: f32[5]) {
    %a: f32[5] = relu(%x)
    %b: f32[5] = exp(%x)
    %c: f32[10] = concat(%a, %b) {axis = 0}
    %y: f32[10] = relu(%c)
    return %y })",
    // an input of the model is where the caller has it
    R"(graph main(%x: f32[16]) {
    %a: f32[16] = relu(%x)
    %c: f32[32] = concat(%x, %a) {axis = 0}
    %y: f32[32] = relu(%c)
    return %y })",
    // so is an output
    R"(graph main(%x: f32[16]) {
    %a: f32[16] = relu(%x)
    %b: f32[16] = exp(%x)
    %c: f32[32] = concat(%a, %b) {axis = 0}
    %y: f32[32] = relu(%c)
    return %y, %b })",
    // a value cannot be in two places
    R"(graph main(%x: f32[16]) {
    %a: f32[16] = relu(%x)
    %c: f32[32] = concat(%a, %a) {axis = 0}
    %y: f32[32] = relu(%c)
    return %y })",
    // blocks of channels and rows are different orders
    R"(graph main(%x: f32[1, 16, 4, 4]) {
    %a: f32[1, 16, 4, 4] blocks(16) = relu(%x)
    %b: f32[1, 16, 4, 4] = exp(%x)
    %c: f32[1, 32, 4, 4] blocks(16) = concat(%a, %b) {axis = 1}
    %y: f32[1, 32, 4, 4] = relu(%c)
    return %y })",
    // rows of blocks do not follow on each other
    R"(graph main(%x: f32[1, 1, 16, 4]) {
    %a: f32[1, 1, 16, 4] blocks(1) = relu(%x)
    %b: f32[1, 1, 16, 4] blocks(1) = exp(%x)
    %c: f32[1, 1, 32, 4] blocks(1) = concat(%a, %b) {axis = 2}
    %y: f32[1, 1, 32, 4] = relu(%c)
    return %y })",
};

TEST(Parts, OtherwiseElementsAreCopied) {
  for (const char* text : kNone) EXPECT_EQ(parts_of(text), "") << text;
}

}  // namespace
}  // namespace tilewright::graph
