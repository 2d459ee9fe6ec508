// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/func.h"

namespace tilewright::tune {

/// A kernel in two: what can be computed once from constants, and the rest.
struct Prepacked {
  ir::LoopFunc prepare;  // the constants that it reads, then `packed`, which it fills
  ir::LoopFunc run;      // the parameters that it still reads, `packed`, then those it writes
  std::vector<ir::Buffer> packed;
};

/// Takes the nests out that read nothing but parameters of these names and know no symbols, such as
/// the copy of weights into panels; `packed` is what the rest reads of them. It is empty, and `run`
/// the function itself, when there are none.
///   alloc W_global  for … { W_global[n / 32, k, n % 32] = W[k, n] }  for … { … W_global[…] … }
///   ->  prepare(W: in, W_global: inout) { for … { W_global[…] = W[…] } }
///       run(…, W_global: in) { for … { … W_global[…] … } }
Prepacked prepack(const ir::LoopFunc& func, const std::vector<std::string>& constants);

}  // namespace tilewright::tune
