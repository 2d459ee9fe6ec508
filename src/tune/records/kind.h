// SPDX-License-Identifier: Apache-2.0
// Which kernels are alike: the same computation on other sizes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::tune {

/// A workload without its sizes, and they alone. Fractions, such as the scale of an attention,
/// which follows from its size, are no part of either.
///   for y in 0..56 { … X[y * 2 + 1] + 0.5 }  ->  for y in #..# { … X[y * # + #] + ~ };  0 56 2 1
struct Kind {
  std::string text;
  std::vector<int64_t> numbers;
};
Kind kind_of(std::string_view workload);

/// How far the sizes of two kernels of one kind are apart: by how many doublings, on average of
/// those that differ in one of the two. 0: they are equal.
double distance(const Kind& a, const Kind& b);

}  // namespace tilewright::tune
