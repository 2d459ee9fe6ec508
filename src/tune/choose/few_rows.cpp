// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/few_rows.h"

#include <algorithm>
#include <optional>

#include "ir/reducer.h"
#include "ir/rewrite.h"
#include "tune/choose/contraction.h"

namespace tilewright::tune {
namespace {

/// Products with less than this for each row take no time worth of more code.
constexpr int64_t kLeastTerms = 4096;
constexpr int64_t kUnknown = 64;  // an extent that only the run tells

std::optional<ir::Var> rows_of(const ir::Block& block) {
  const std::optional<Contraction> c = as_contraction(block);
  if (!c) return std::nullopt;
  const auto& target = block.body.as<ir::Update>()->targets[0];
  if (target.indices.empty()) return std::nullopt;
  const auto is_lane = [&](size_t i) { return block.iters[i].var == target.indices.back(); };
  const bool lanes_in_a = std::ranges::any_of(c->of_a, is_lane);
  if (!lanes_in_a && std::ranges::none_of(c->of_b, is_lane)) return std::nullopt;

  int64_t terms = 1;
  for (const auto& some : {lanes_in_a ? c->of_a : c->of_b, c->reduced})
    for (const size_t i : some)
      terms =
          std::min(terms * ir::const_int(block.iters[i].extent).value_or(kUnknown), kLeastTerms);
  std::optional<ir::Var> rows;
  for (const size_t i : lanes_in_a ? c->of_b : c->of_a) {
    const ir::Expr& extent = block.iters[i].extent;
    if (block.iters[i].kind == ir::IterKind::Ordered || ir::is_const(extent, 1)) continue;
    const ir::VarNode* symbol = extent.as<ir::VarNode>();
    if (rows || !symbol) return std::nullopt;
    rows = ir::Var::of(*symbol);
  }
  return terms < kLeastTerms ? std::nullopt : rows;
}

}  // namespace

std::vector<ir::Var> row_symbols(const ir::LoopFunc& func) {
  std::vector<ir::Var> out;
  ir::walk(func.body, [&](const ir::Block& b) {
    const std::optional<ir::Var> rows = rows_of(b);
    if (rows && std::ranges::find(out, *rows) == out.end()) out.push_back(*rows);
    return true;
  });
  return out;
}

}  // namespace tilewright::tune
