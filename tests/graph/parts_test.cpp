// SPDX-License-Identifier: Apache-2.0
#include "graph/parts.h"

#include <gtest/gtest.h>

#include "graph/parse.h"
#include "graph/passes/passes.h"
#include "ir/print.h"
#include "ops/all.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

/// `a in c at 0, b in c at 64 if n == 1`
std::string parts_of(const std::string& text) {
  const Graph g = parse(text, ops::find);
  const Parts parts = parts_in_place(g);
  std::string out;
  for (const auto& [id, part] : parts.places)
    out += str(out.empty() ? "" : ", ", g.value(id).name, " in ", g.value(part.whole).name, " at ",
               ir::print(part.offset), part.when ? str(" if ", ir::print(part.when)) : "");
  EXPECT_EQ(parts.some.empty(), out.find(" if ") == std::string::npos);
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

TEST(Parts, OfAFreeBatchLieInPlaceWhereItIsOne) {
  const std::string symbols = "symbol n in 0..99 = dim(%x, 0)\nsymbol w in 1..99 = dim(%x, 2)\n";
  EXPECT_EQ(parts_of(symbols + R"(graph main(%x: f32[n, 4, w]) {
    %a: f32[n, 4, w] = relu(%x)
    %b: f32[n, 4, w] = exp(%x)
    %c: f32[n, 8, w] = concat(%a, %b) {axis = 1}
    %p: f32[n, 4, w], %q: f32[n, 4, w] = split(%c) {axis = 1, outputs = 2}
    %y: f32[n, 4, w] = mul(%p, %q)
    return %y })"),
            "a in c at 0 if n == 1 && w * n * 16 % 64 == 0, b in c at w * n * 16 if n == 1 && w * "
            "n * 16 % 64 "
            "== 0, p in c at 0 if n == 1 && w * n * 16 % 64 == 0, q in c at w * n * 16 if n == 1 "
            "&& w * n * 16 "
            "% 64 == 0");
  // A batch that is not 1, and rows that only the run tells, are joined by a kernel.
  EXPECT_EQ(parts_of(symbols + R"(graph main(%x: f32[n, 4, w]) {
    %a: f32[n, 4, w] = relu(%x)
    %b: f32[n, 4, w] = exp(%x)
    %c: f32[n, 4, w + w] = concat(%a, %b) {axis = 2}
    return %c })"),
            "");
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

TEST(Parts, AConcatBeginsWithAnEarlierOneOfItsFirstInputs) {
  const Graph g = parse(R"(graph main(%x: f32[1, 16]) {
    %a: f32[1, 16] = relu(%x)
    %b: f32[1, 16] = exp(%x)
    %c: f32[1, 32] = concat(%a, %b) {axis = 1}
    %p: f32[1, 1] = matmul(%c, %c) {trans_b = 1}
    %d: f32[1, 16] = mul(%x, %p)
    %e: f32[1, 48] = concat(%a, %b, %d) {axis = 1}
    %f: f32[1, 64] = concat(%a, %b, %d, %x) {axis = -1}
    %g: f32[1, 48] = concat(%b, %a, %d) {axis = 1}
    return %p, %e, %f, %g })",
                        ops::find);
  PassContext context;
  context.services.find_op = ops::find;
  std::string concats;
  const Graph after = nest_concats(g, context);
  for (const Node& n : after.main().nodes) {
    if (n.op->name != "concat") continue;
    for (const ValueId id : n.inputs) concats += after.value(id).name + " ";
    concats += "\n";
  }
  EXPECT_EQ(concats, "a b \nc d \ne x \nb a d \n");
}

/// Layers that each read all maps before them: %c1 of %m0 and %m1, %c2 of %m0, %m1 and %m2, …
std::string dense_block(int layers, const std::string& before_conv) {
  std::string text = R"(constant %w0: f32[16, 16, 1, 1] = splat 1
    )";
  std::string body = "%m0: f32[1, 16, 4, 4] = conv(%x, %w0)\n", maps = "%m0", whole = "%m0";
  for (int i = 1; i <= layers; ++i) {
    const std::string type = str("f32[1, ", 16 * i, ", 4, 4]");
    text += str("constant %w", i, ": f32[16, ", 16 * i, ", 1, 1] = splat 1\n");
    if (i > 1) body += str("%c", i, ": ", type, " = concat(", maps, ") {axis = 1}\n");
    if (i > 1) whole = str("%c", i);
    if (!before_conv.empty())
      body += str("%r", i, ": ", type, " = ", before_conv, "(", whole, ")\n");
    body += str("%m", i, ": f32[1, 16, 4, 4] = conv(", before_conv.empty() ? whole : str("%r", i),
                ", %w", i, ")\n");
    maps += str(", %m", i);
  }
  return str(text, "graph main(%x: f32[1, 16, 4, 4]) {\n", body, "%y: f32[1, ", 16 * (layers + 1),
             ", 4, 4] = concat(", maps, ") {axis = 1}\n%z: f32[1, ", 16 * (layers + 1),
             ", 4, 4] = softmax(%y)\nreturn %z }");
}

/// The groups that copy parts into a whole: concats that are alone and not in place.
int copies_in(const std::string& text, bool nest = true) {
  PassContext context;
  context.services.find_op = ops::find;
  Graph g = parse(text, ops::find);
  g = fuse(nest ? nest_concats(std::move(g), context) : std::move(g), context);
  const Parts parts = parts_in_place(g);
  int copies = 0;
  for (const Node& n : g.main().nodes) {
    const std::vector<Node>& inside = n.bodies[0].nodes;
    copies += inside.size() == 1 && inside[0].op->name == "concat" && !parts.nodes.contains(&n);
  }
  return copies;
}

TEST(Parts, DenseBlocksCopyNothing) {
  EXPECT_EQ(copies_in(dense_block(5, ""), false), 3);
  EXPECT_EQ(copies_in(dense_block(5, "")), 0);
  EXPECT_EQ(copies_in(dense_block(5, "relu")), 0);
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
