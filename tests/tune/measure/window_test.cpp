// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/window.h"

#include <gtest/gtest.h>

#include "ir/interpret/interpret.h"
#include "tune/measure/reference.h"
#include "tune/measure/tasks.h"

namespace tilewright::tune {
namespace {

/// A padded convolution and what follows, so that each stage reads more of the one before.
constexpr const char* kConvolution =
    "te c(X: f32[3, 30, 30], W: f32[5, 3, 3, 3]) {\n"
    "  P[c in 3, y in 32, x in 32] = guard(y >= 1 && y < 31 && x >= 1 && x < 31, "
    "X[c, y - 1, x - 1], 0.0)\n"
    "  C[o in 5, y in 30, x in 30] = sum(c in 3, ky in 3, kx in 3) P[c, y + ky, x + kx] * "
    "W[o, c, ky, kx]\n"
    "  R[o in 5, y in 30, x in 30] = max(C[o, y, x], 0.0)\n  return R\n}";

TEST(Window, PartsOfTheResultsAreWhatTheWholeHas) {
  const auto task = task_of(kConvolution);
  Arguments arguments(*task);
  arguments.fill(3);
  std::vector<ir::Array> whole;
  for (size_t i = 0; i < arguments.count(); ++i) {
    std::vector<int64_t> shape;
    for (const ir::Expr& e : task->func.params[i].buffer->shape) shape.push_back(*ir::const_int(e));
    const auto bytes = static_cast<size_t>(arguments.bytes(i));
    whole.push_back(ir::from_bytes(arguments.elem(i), shape, {arguments.content(i).data(), bytes}));
  }
  std::vector<ir::Array> part = whole;
  ir::interpret(task->func, whole, {}, {});
  for (const bool at_end : {false, true}) {
    const std::optional<Window> window = window_of(*task, 5000, at_end);
    ASSERT_TRUE(window);
    std::vector<ir::Array> got = part;
    ir::interpret(window->func, got, {}, {.check = false});
    const std::vector<IndexRange>& box = window->results.at(0);
    ASSERT_EQ(box.size(), 3u);
    int64_t compared = 0;
    for (int64_t o = box[0].low; o < box[0].high; ++o)
      for (int64_t y = box[1].low; y < box[1].high; ++y)
        for (int64_t x = box[2].low; x < box[2].high; ++x, ++compared) {
          const auto place = static_cast<size_t>((o * 30 + y) * 30 + x);
          ASSERT_EQ(whole[2].cells[place], got[2].cells[place]) << o << " " << y << " " << x;
        }
    EXPECT_GT(compared, 8);
    EXPECT_EQ(at_end ? box[2].high : box[2].low, at_end ? 30 : 0);
  }
}

TEST(Window, WhatIsSmallIsTakenWhole) {
  const auto task = product_task();
  const std::optional<Window> window = window_of(*task, 1'000'000, true);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->results[0][0].size() * window->results[0][1].size(), 48 * 80);
}

TEST(Reference, TheDefaultScheduleAgreesWithTheInterpreter) {
  for (const auto& task : {task_of(kConvolution, {"W"}), product_task()})
    EXPECT_EQ(make_reference(*task, {}, nullptr).problem, "");
}

TEST(Reference, AWrongResultAtEitherEndIsNoticed) {
  const auto task = product_task();
  Reference reference = make_reference(*task, {}, nullptr);
  ASSERT_EQ(reference.problem, "");
  for (const int64_t at : {int64_t{0}, reference.arguments.elements(2) - 1}) {
    auto* result = reinterpret_cast<float*>(reference.results[0].data()) + at;
    const float right = *result;
    *result += 1;
    EXPECT_NE(differs_from_interpreter(*task, reference), "") << at;
    *result = right;
  }
  EXPECT_EQ(differs_from_interpreter(*task, reference), "");
}

}  // namespace
}  // namespace tilewright::tune
