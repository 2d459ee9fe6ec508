// SPDX-License-Identifier: Apache-2.0
// Operators that searches are measured with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// Parameters W and wb are constants.
struct TuneCase {
  std::string name, text;
};

/// ResNet-18's convolutions, their channels in blocks, and BERT's products: what trials are counted
/// on.
std::vector<TuneCase> model_cases(int64_t block);
/// One of each kind that the default schedules know.
std::vector<TuneCase> common_cases(int64_t block);
/// Five that nobody has written a schedule for.
std::vector<TuneCase> invented_cases();

}  // namespace bench
