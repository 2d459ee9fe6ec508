// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/in_blocks.h"

#include <array>
#include <gtest/gtest.h>
#include <random>

#include "support/str.h"
#include "te/parse.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

ir::LoopFunc blocks_of(const char* text) { return lower::to_blocks(te::parse_program(text)); }

/// The elements of an array of shape [n, c, …] as pieces of its dimension `dim` lie in memory.
ir::Array in_pieces(const ir::Array& a, size_t dim, int64_t size) {
  ir::Array out = a;
  int64_t before = 1, after = 1;
  for (size_t d = 0; d < dim; ++d) before *= a.shape[d];
  for (size_t d = dim + 1; d < a.shape.size(); ++d) after *= a.shape[d];
  const int64_t extent = a.shape[dim];
  for (int64_t b = 0; b < before; ++b)
    for (int64_t c = 0; c < extent; ++c)
      for (int64_t i = 0; i < after; ++i)
        out.cells[static_cast<size_t>(((b * (extent / size) + c / size) * after + i) * size +
                                      c % size)] =
            a.cells[static_cast<size_t>((b * extent + c) * after + i)];
  out.shape[dim] = extent / size;
  out.shape.push_back(size);
  return out;
}

/// What differs when the parameters lie in pieces; empty when nothing does.
std::string difference(const ir::LoopFunc& before, const std::vector<Pieces>& pieces,
                       const ir::TargetSpec& spec) {
  const auto after = in_blocks(before, pieces);
  if (!after) return "impossible";
  ir::verify(*after);
  const ir::RunOptions options{.arithmetic = ir::Arithmetic::Exact};
  const auto shapes = shapes_at(before, {}), now = shapes_at(*after, {});
  std::vector<ir::Array> expected, got;
  for (size_t i = 0; i < shapes.size(); ++i)
    expected.push_back(
        ir::random_array(before.params[i].buffer->elem, shapes[i], 17 + i, ir::Arithmetic::Exact));
  const auto arranged = [&](std::vector<ir::Array> all) {
    for (const Pieces& p : pieces) all[p.param] = in_pieces(all[p.param], p.dim, p.size);
    for (size_t i = 0; i < all.size(); ++i) all[i].shape = now[i];
    return all;
  };
  got = arranged(expected);
  ir::interpret(before, expected, {}, options);
  ir::interpret(*after, got, {}, options);
  const std::vector<ir::Array> want = arranged(expected);
  for (size_t i = 0; i < want.size(); ++i)
    if (want[i].cells != got[i].cells) return before.params[i].buffer->name + ir::print(*after);
  return wrong_choice(*after, spec);
}

const char* const kConvolution =
    "te c(X: f32[1, 8, 6, 7], W: f32[12, 8, 3, 3], b: f32[12], R: f32[1, 12, 6, 7]) {\n"
    "  P[n in 1, c in 8, y in 8, x in 9] =\n"
    "      guard(1 <= y && y < 7 && 1 <= x && x < 8, X[n, c, y - 1, x - 1], 0.0)\n"
    "  S[n in 1, m in 12, y in 6, x in 7] =\n"
    "      sum(c in 8, i in 3, j in 3) P[n, c, y + i, x + j] * W[m, c, i, j]\n"
    "  Y[n in 1, m in 12, y in 6, x in 7] = max(S[n, m, y, x] + b[m] + R[n, m, y, x], 0.0)\n"
    "  return Y\n}";

TEST(InBlocks, AConvolutionWithAnyOfItsFeatureMapsInBlocks) {
  const ir::LoopFunc f = blocks_of(kConvolution);
  for (int mask = 0; mask < 8; ++mask) {
    std::vector<Pieces> pieces;
    for (const auto& [bit, param] : {std::pair(1, size_t{0}), {2, size_t{3}}, {4, size_t{4}}})
      if (mask & bit) pieces.push_back({param, 1, 4});
    EXPECT_EQ(difference(f, pieces, small_machine()), "") << mask;
  }
}

TEST(InBlocks, CutsTheIteratorsAlongTheBlocks) {
  const auto f = in_blocks(blocks_of(kConvolution), {{0, 1, 4}, {4, 1, 4}});
  const std::string text = ir::print(*f);
  EXPECT_NE(text.find("Y: out f32[1, 3, 6, 7, 4]"), std::string::npos) << text;
  EXPECT_NE(text.find("X: in f32[1, 2, 6, 7, 4]"), std::string::npos) << text;
  EXPECT_NE(text.find("W: in f32[3, 4, 2, 4, 3, 3]"), std::string::npos) << text;
  EXPECT_EQ(text.find("%"), std::string::npos) << text;
}

TEST(InBlocks, OneChannelAtATime) {
  EXPECT_EQ(difference(blocks_of("te d(X: f32[2, 8, 6, 7], W: f32[8, 1, 3, 3]) {\n"
                                 "  Y[n in 2, c in 8, y in 4, x in 5] =\n"
                                 "      sum(i in 3, j in 3) X[n, c, y + i, x + j] * W[c, 0, i, j]\n"
                                 "  return Y\n}"),
                       {{0, 1, 4}, {2, 1, 4}}, small_machine()),
            "");
}

TEST(InBlocks, ChannelsBesideEachOther) {
  const ir::LoopFunc f = blocks_of(
      "te c(A: f32[1, 8, 5], B: f32[1, 12, 5]) {\n"
      "  Y[n in 1, c in 20, x in 5] = guard(c < 8, A[n, c, x],\n"
      "      guard(8 <= c, B[n, c - 8, x], 0.0))\n  return Y\n}");
  EXPECT_EQ(difference(f, {{0, 1, 4}, {1, 1, 4}, {2, 1, 4}}, small_machine()), "");
  EXPECT_EQ(difference(f, {{1, 1, 4}}, small_machine()), "");
}

TEST(InBlocks, ADimensionInPiecesIsAnotherOfTheResult) {
  // X's pieces cut y of Y too, whose own pieces are of its channels: y stays whole in memory.
  const ir::LoopFunc f = blocks_of(
      "te t(X: f32[2, 8, 6, 12]) {\n"
      "  Y[n in 2, c in 12, y in 8, x in 6] = X[n, y, x, c]\n  return Y\n}");
  EXPECT_EQ(difference(f, {{0, 1, 4}, {1, 1, 4}}, small_machine()), "");
  EXPECT_EQ(difference(f, {{0, 1, 4}}, small_machine()), "");
  EXPECT_EQ(difference(f, {{1, 1, 4}}, small_machine()), "");
}

/// Two arrays with their dimensions in some order, added, the sum reduced or not; any of the three
/// in pieces along any dimension.
TEST(InBlocks, RandomOrdersOfDimensionsAndPieces) {
  std::mt19937 rng(7);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
  };
  for (int round = 0; round < 200; ++round) {
    int64_t extents[4];
    for (int64_t& e : extents) e = 2 * (1 + below(6));
    const std::string names[] = {"a", "b", "c", "d"};
    const auto order = [&] {
      std::array<size_t, 4> out{0, 1, 2, 3};
      for (size_t i = 4; i-- > 1;)
        std::swap(out[i], out[static_cast<size_t>(below(int64_t(i) + 1))]);
      return out;
    };
    const auto x = order(), y = order(), z = order();
    const auto list = [&](const auto& of, const auto& text) {
      std::string out;
      for (const size_t i : of) out += str(out.empty() ? "" : ", ", text(i));
      return out;
    };
    const auto extent = [&](size_t i) { return str(extents[i]); };
    const auto name = [&](size_t i) { return names[i]; };
    const bool reduces = below(3) == 0;
    const auto iter = [&](size_t i) { return str(names[i], " in ", extents[i]); };
    std::vector<size_t> result(z.begin(), z.end());
    if (reduces) result.pop_back();
    const std::string read = str("X[", list(x, name), "] + 2.0 * Y[", list(y, name), "]");
    const std::string text =
        str("te t(X: f32[", list(x, extent), "], Y: f32[", list(y, extent), "]) {\n  Z[",
            list(result, iter), "] = ", reduces ? str("sum(", iter(z[3]), ") (", read, ")") : read,
            "\n  return Z\n}");
    std::vector<Pieces> pieces;
    const auto cut = [&](size_t param, const auto& of) {
      const auto dim = static_cast<size_t>(below(int64_t(of.size())));
      const int64_t size = below(2) ? 2 : extents[of[dim]] / 2;
      if (below(4) != 0) pieces.push_back({param, dim, size});
    };
    cut(0, x);
    cut(1, y);
    cut(2, result);
    EXPECT_EQ(difference(blocks_of(text.c_str()), pieces, small_machine()), "") << text;
  }
}

/// A convolution of 24 channels in groups of `in` that each give `out` features.
std::string in_groups_of(int64_t in, int64_t out) {
  const int64_t features = 24 / in * out;
  return str("te c(X: f32[1, 24, 6, 7], W: f32[", features, ", ", in, ", 3, 3]) {\n",
             "  S[n in 1, m in ", features, ", y in 4, x in 5] =\n      sum(c in ", in,
             ", i in 3, j in 3) X[n, m / ", out, " * ", in, " + c, y + i, x + j] * W[m, c, i, j]\n",
             "  Y[n in 1, m in ", features,
             ", y in 4, x in 5] = max(S[n, m, y, x], 0.0)\n  return Y\n}");
}

TEST(InGroups, GroupsAreAnIteratorOfTheirOwn) {
  const ir::LoopFunc f = in_groups(blocks_of(in_groups_of(8, 4).c_str()));
  ir::verify(f);
  const std::string text = ir::print(f);
  EXPECT_NE(text.find("W: in f32[3, 4, 8, 3, 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("Y: out f32[1, 3, 4, 4, 5]"), std::string::npos) << text;
  EXPECT_NE(text.find("X: in f32[1, 24, 6, 7]"), std::string::npos) << text;
  EXPECT_NE(text.find("* 8 + "), std::string::npos) << text;
  EXPECT_EQ(text.find(" / "), std::string::npos) << text;
}

TEST(InGroups, ConvolutionsOfAnyWidthInAnyLayout) {
  for (const int64_t in : {1, 2, 3, 4, 6, 8, 12, 24})
    for (const int64_t out : {1, 2, 4, 8}) {
      const ir::LoopFunc f = blocks_of(in_groups_of(in, out).c_str());
      for (int mask = 0; mask < 4; ++mask) {
        std::vector<Pieces> pieces;
        if (mask & 1) pieces.push_back({0, 1, 4});
        if (mask & 2) pieces.push_back({2, 1, 24 / in * out % 4 == 0 ? 4 : 1});
        EXPECT_EQ(difference(f, pieces, small_machine()), "") << in << " " << out << " " << mask;
      }
    }
}

TEST(InGroups, HeadsThatShareAKey) {
  const ir::LoopFunc f = blocks_of(
      "te s(Q: f32[8, 5, 16], K: f32[2, 9, 16]) {\n"
      "  S[h in 8, i in 5, j in 9] = sum(k in 16) Q[h, i, k] * K[h / 4, j, k]\n  return S\n}");
  const std::string text = ir::print(in_groups(f));
  EXPECT_NE(text.find("Q: in f32[2, 4, 5, 16]"), std::string::npos) << text;
  EXPECT_EQ(difference(f, {}, small_machine()), "");
}

TEST(InGroups, WhatDoesNotComeInWholeGroupsStays) {
  const ir::LoopFunc f = blocks_of(
      "te s(X: f32[3, 5], W: f32[10, 5]) {\n"
      "  Y[m in 10] = sum(k in 5) X[m / 4, k] * W[m, k]\n  return Y\n}");
  EXPECT_EQ(ir::print(in_groups(f)), ir::print(f));
  EXPECT_EQ(difference(f, {}, small_machine()), "");
}

TEST(InBlocks, RefusesABlockSizeThatLeavesSomeOver) {
  EXPECT_FALSE(in_blocks(blocks_of(kConvolution), {{0, 1, 3}}));
}

}  // namespace
}  // namespace tilewright::tune
