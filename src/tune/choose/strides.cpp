// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/strides.h"

#include <algorithm>

#include "arith/affine.h"
#include "ir/build.h"
#include "ir/equal.h"

namespace tilewright::tune {
namespace {

struct Place {
  ir::Buffer buffer;
  const std::vector<ir::Expr>* indices;
  bool store;
};

std::vector<Place> places_of(const Stage& stage) {
  std::vector<Place> out;
  for (const ir::Load* l : stage.loads()) out.push_back({l->buffer, &l->indices, false});
  ir::walk(
      stage.block->body, [&](const ir::Store& s) { out.push_back({s.buffer, &s.indices, true}); },
      [&](const ir::Update& u) {
        for (const ir::Target& t : u.targets) out.push_back({t.buffer, &t.indices, true});
      });
  return out;
}

bool uses_any(const ir::Expr& e, const std::vector<ir::BlockIter>& iters, size_t first) {
  for (size_t i = first; i < iters.size(); ++i)
    if (ir::uses(e, iters[i].var)) return true;
  return false;
}

/// Is it the first of these iterators plus something that none of them changes?
bool is_shifted(const ir::Expr& index, const std::vector<ir::BlockIter>& iters, size_t first) {
  const auto rest = arith::difference(index, iters[first].var);
  return rest && std::ranges::none_of(rest->terms, [&](const arith::Affine::Term& t) {
           return uses_any(t.expr, iters, first);
         });
}

/// Are the last indices the iterators from `first` on, over whole dimensions but for the first?
bool runs_through(const Place& p, const std::vector<ir::BlockIter>& iters, size_t first) {
  const size_t count = iters.size() - first, rank = p.indices->size();
  const auto none = std::ranges::none_of(
      *p.indices, [&](const ir::Expr& e) { return uses_any(e, iters, first); });
  if (none) return true;
  if (rank < count) return false;
  for (size_t d = 0; d < rank - count; ++d)
    if (uses_any((*p.indices)[d], iters, first)) return false;
  for (size_t i = 0; i < count; ++i) {
    const ir::BlockIter& it = iters[first + i];
    const size_t d = rank - count + i;
    if (i == 0 ? !is_shifted((*p.indices)[d], iters, first) : (*p.indices)[d] != it.var)
      return false;
    if (i > 0 && !ir::equal(p.buffer->shape[d], it.extent)) return false;
  }
  return true;
}

}  // namespace

std::optional<int64_t> stride(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices,
                              const ir::Var& var, const Sizes& sizes) {
  int64_t total = 0, step = 1;
  for (size_t d = indices.size(); d-- > 0;) {
    if (ir::uses(indices[d], var)) {
      const auto form = arith::affine_of(indices[d]);
      if (!form) return std::nullopt;
      for (const arith::Affine::Term& t : form->terms)
        if (t.expr != var && ir::uses(t.expr, var)) return std::nullopt;
      total += form->coefficient(var) * step;
    }
    step *= std::max<int64_t>(sizes.of(buffer->shape[d]), 1);
  }
  return total;
}

size_t best_lane_iter(const Stage& stage, const Sizes& sizes) {
  const std::vector<Place> places = places_of(stage);
  const std::vector<ir::BlockIter>& iters = stage.block->iters;
  // Stored once for all terms; but weights follow the results where they are packed.
  const bool alone = stage.kind == StageKind::Reduce && stage.loads().size() == 1;
  const double scattered = alone ? std::max(16 / stage.terms(sizes), 2.0) : 16;
  size_t best = 0;
  double least = 1e300;
  for (size_t i = 0; i < iters.size(); ++i) {
    const int64_t extent = sizes.of(iters[i].extent);
    double cost = extent < 2 ? 1e6 : extent < 8 ? 8.0 / static_cast<double>(extent) : 0.0;
    // A few terms as lanes cost more to combine than they save.
    if (iters[i].kind == ir::IterKind::Reduction && extent < 16) cost += 100;
    for (const Place& p : places) {
      const auto step = stride(p.buffer, *p.indices, iters[i].var, sizes);
      if (!step || (*step != 0 && *step != 1))
        cost += p.store ? scattered : 8;
      else if (*step == 1)
        cost += 1;
      else  // one value for all lanes; as a result it must be combined
        cost += p.store ? 1.5 : 0.5;
    }
    if (cost <= least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

size_t collapsible(const Stage& stage) {
  const std::vector<Place> places = places_of(stage);
  const std::vector<ir::BlockIter>& iters = stage.block->iters;
  size_t count = 1;
  for (; count < iters.size(); ++count) {
    const size_t first = iters.size() - count - 1;
    if (iters[first].kind != iters.back().kind) break;
    if (!std::ranges::all_of(places, [&](const Place& p) { return runs_through(p, iters, first); }))
      break;
  }
  return count;
}

}  // namespace tilewright::tune
