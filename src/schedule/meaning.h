// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arith/context.h"
#include "ir/stmt.h"

namespace tilewright::schedule {

/// One store or update under loops of constant extents: what a nest computes, or what an
/// instruction means. Iterators of blocks are replaced by their bindings, loops start at 0, those
/// of one iteration are gone.
struct Meaning {
  struct Axis {
    ir::Var var;
    int64_t extent = 1;
  };
  std::vector<Axis> axes;
  ir::Stmt leaf;
};

/// A nest with what it does before its terms.
struct NestMeaning {
  std::optional<Meaning> init;
  Meaning main;
};

/// What `nest` means where `context` holds; `why_not` says why it has no such form.
///   for i in 0..4 { block C(v: spatial 8 = vo*4 + i) { C[v] = A[v] } }
///     ->  i in 0..4: C[vo*4 + i] = A[vo*4 + i]
/// A sequence of a nest of stores and a nest of updates is an init and its terms, like the `init`
/// of a block.
std::optional<NestMeaning> meaning_of(const ir::Stmt& nest, const arith::Context& context,
                                      std::string& why_not);

}  // namespace tilewright::schedule
