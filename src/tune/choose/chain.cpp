// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/chain.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "support/str.h"
#include "tune/choose/attempt.h"
#include "tune/choose/contraction.h"
#include "tune/choose/lanes.h"
#include "tune/choose/pack.h"
#include "tune/choose/plan.h"
#include "tune/choose/row_stages.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

constexpr int64_t kMostRows = 64, kFewestRows = 8, kMostVectors = 4;
// Terms of a sum in one turn of its loop, and the vectors of a tile that they may come to.
constexpr int64_t kUnroll = 4, kMostUnrolled = 128;
// Elements that the second cache gives in a cycle.
constexpr double kFromCache = 8;

/// The stages of a chain, and which iterators of the products are rows and lanes.
struct Chain {
  Stage first, rows, last;     // S = sum …, P[…, s, t] = …, O = sum P …
  std::vector<Stage> between;  // what leads from S to P, in program order
  std::optional<Stage> after;
  size_t row = 0, lane = 0;              // of the last product
  std::vector<size_t> outer;             // its other results that P has
  size_t first_row = 0, first_lane = 0;  // of the first product
};

/// The number of the iterator that is this index.
std::optional<size_t> iter_of(const Stage& stage, const ir::Expr& index) {
  const auto& iters = stage.block->iters;
  const auto found =
      std::ranges::find_if(iters, [&](const ir::BlockIter& it) { return it.var == index; });
  if (found == iters.end()) return std::nullopt;
  return static_cast<size_t>(found - iters.begin());
}

/// Who makes the buffer, if one stage does.
std::optional<Stage> maker_of(const std::vector<Stage>& stages, const ir::Buffer& buffer) {
  std::optional<Stage> found;
  for (const Stage& s : stages) {
    if (!s.writes(buffer)) continue;
    if (found) return std::nullopt;
    found = s;
  }
  return found;
}

/// The factor as a single load of rows: its last index is what is summed over.
const ir::Load* row_load(const ir::Expr& factor, const Stage& stage, size_t summed) {
  const ir::Load* load = factor.as<ir::Load>();
  if (!load || load->indices.size() < 2 || load->indices.back() != stage.block->iters[summed].var)
    return nullptr;
  return load;
}

std::optional<Chain> chain_of(const ir::LoopFunc& func, const Stage& last, const Sizes& sizes) {
  const auto c = as_contraction(last);
  if (!c || c->reduced.size() != 1 || c->reduced[0] + 1 != last.block->iters.size())
    return std::nullopt;
  const std::vector<Stage> stages = stages_of(func);
  for (const bool left : {true, false}) {
    const ir::Load* load = row_load(left ? c->a : c->b, last, c->reduced[0]);
    const auto rows = load ? maker_of(stages, load->buffer) : std::nullopt;
    if (!rows || rows->kind != StageKind::Map || rows->block->iters.size() != load->indices.size())
      continue;
    Chain out{.first = *rows, .rows = *rows, .last = last};
    out.between = leading_to(stages, *rows, func);
    const size_t leading = load->indices.size() - 1;
    if (rows_of(out.between, *rows, sizes) != leading) continue;
    // Everything that the stages in between read is theirs, an operand, or the first product's.
    std::optional<Stage> first;
    bool one = true;
    std::vector<Stage> readers = out.between;
    readers.push_back(*rows);
    for (const Stage& reader : readers)
      for (const ir::Load* l : reader.loads()) {
        const auto made = maker_of(stages, l->buffer);
        if (!made || !as_contraction(*made)) continue;
        one = one && (!first || first->block == made->block) && l->indices.size() == leading + 1;
        for (size_t d = 0; one && d < leading; ++d)
          one = l->indices[d] == reader.block->iters[d].var;
        first = made;
      }
    if (!first || !one || first->block == last.block) continue;
    // Only those read it.
    for (const Stage& s : stages)
      if (s.block != first->block && s.reads(first->result()))
        one =
            one && std::ranges::any_of(readers, [&](const Stage& r) { return r.block == s.block; });
    for (const Stage& s : stages)
      if (s.block != last.block && s.reads(rows->result())) one = false;
    for (const ir::Param& p : func.params)
      one = one && !first->writes(p.buffer) && !rows->writes(p.buffer);
    if (!one) continue;
    out.first = *first;
    const auto& target = first->block->body.as<ir::Update>()->targets[0].indices;
    if (target.size() != load->indices.size() || as_contraction(*first)->reduced.size() != 1)
      continue;
    const auto first_row = iter_of(*first, target[target.size() - 2]);
    const auto first_lane = iter_of(*first, target.back());
    const auto row = iter_of(last, load->indices[load->indices.size() - 2]);
    const auto& of_other = left ? c->of_b : c->of_a;
    const auto& result = last.block->body.as<ir::Update>()->targets[0].indices;
    const auto lane = result.empty() ? std::nullopt : iter_of(last, result.back());
    if (!first_row || !first_lane || !row || !lane ||
        std::ranges::find(of_other, *lane) == of_other.end())
      continue;
    out.first_row = *first_row;
    out.first_lane = *first_lane;
    out.row = *row;
    out.lane = *lane;
    for (size_t d = 0; d + 2 < load->indices.size(); ++d) {
      const auto i = iter_of(last, load->indices[d]);
      if (!i) return std::nullopt;
      out.outer.push_back(*i);
    }
    size_t results = 0;
    for (const ir::BlockIter& it : last.block->iters) results += it.kind == ir::IterKind::Spatial;
    if (results != out.outer.size() + 2) return std::nullopt;
    out.after = epilogue_of(func, last);
    return out;
  }
  return std::nullopt;
}

/// How many rows run together, and the tiles of the two products for them. 0: all rows.
struct Rows {
  int64_t together = 0;
  Tile first, last;
  double cycles = 1e300;  // of one row
};

/// The best tile whose rows divide these, so that none is cut short inside of a piece.
Tile whole_tile(int64_t rows, int64_t columns, int64_t terms, int64_t lanes,
                const ir::TargetSpec& spec) {
  Tile best;
  double least = 1e300;
  for (int64_t r = 1; r <= rows; ++r) {
    if (rows % r != 0) continue;
    for (int64_t v = 1; v <= kMostVectors && r * v + std::min(r, v) + 1 <= spec.vector_registers;
         ++v) {
      const double cycles = tile_cycles({r, v}, rows, columns, terms, lanes, spec.rates);
      if (cycles >= least) continue;
      least = cycles;
      best = {r, v};
    }
  }
  return best;
}

/// The model's tile for one of the products, or another that is asked for.
Tile asked_tile(const std::string& question, const Tile& model, int64_t rows, bool whole,
                int64_t columns, int64_t terms, int64_t lanes, const ir::TargetSpec& spec,
                Choices& choices) {
  constexpr double kSlow = 1.4;  // times the model's: not worth asking about
  constexpr size_t kMost = 8;
  struct Option {
    Tile tile;
    double cycles;
  };
  const auto cycles = [&](const Tile& t) {
    return tile_cycles(t, rows, columns, terms, lanes, spec.rates);
  };
  std::vector<Option> all;
  const int64_t most = std::min((columns + lanes - 1) / lanes, kMostVectors);
  for (int64_t r = 1; r <= rows; ++r)
    for (int64_t v = 1; v <= most && r * v + std::min(r, v) + 1 <= spec.vector_registers; ++v) {
      const Tile tile{r, v};
      if ((whole && rows % r != 0) || (r == model.rows && v == model.vectors)) continue;
      if (const double c = cycles(tile); c < kSlow * cycles(model)) all.push_back({tile, c});
    }
  std::ranges::stable_sort(all, {}, &Option::cycles);
  if (all.size() > kMost) all.resize(kMost);
  all.insert(all.begin(), {model, 0});
  std::vector<std::string> texts;
  for (const Option& o : all) texts.push_back(str(o.tile.rows, "x", o.tile.vectors));
  return all[choices.ask(question, texts)].tile;
}

/// What the two products need: S rows, T columns of scores, D terms of one, I results of the other.
struct Extents {
  int64_t rows, columns, terms, results;
};

/// Every number of rows that may run together, the best first.
std::vector<Rows> all_rows(const Extents& e, bool known, bool outer, int64_t lanes,
                           const ir::TargetSpec& spec) {
  std::vector<Rows> out;
  const auto consider = [&](int64_t together, const Tile& first, const Tile& last) {
    const int64_t rows = together ? together : e.rows;
    const double read = static_cast<double>(e.columns * (e.terms + e.results)) / kFromCache;
    const double cycles =
        (tile_cycles(first, rows, e.columns, e.terms, lanes, spec.rates) +
         tile_cycles(last, rows, e.results, e.columns, lanes, spec.rates) + read) /
        static_cast<double>(rows);
    out.push_back({together, first, last, cycles});
  };
  // The scores of the rows stay in a part of the second cache.
  const int64_t fit = spec.l2_bytes / 2 / (4 * e.columns);
  if (outer && (!known || e.rows <= fit))
    consider(0, choose_tile(e.rows, e.columns, e.terms, lanes, spec),
             choose_tile(e.rows, e.results, e.columns, lanes, spec));
  for (int64_t n = kFewestRows; known && n <= std::min(fit, kMostRows) && n < e.rows; ++n)
    if (e.rows % n == 0)
      consider(n, whole_tile(n, e.columns, e.terms, lanes, spec),
               whole_tile(n, e.results, e.columns, lanes, spec));
  std::ranges::stable_sort(out, {}, &Rows::cycles);
  return out;
}

/// Register tiles of a product inside of other loops, its result stored by `out`, which follows.
struct Inside {
  size_t outside;             // loops around it
  LoopRef row, lane, summed;  // its own
};
void tile_inside(Schedule& s, const BlockRef& block, const BlockRef& out, const Inside& at,
                 const Tile& tile, int64_t lanes, std::optional<int64_t> terms, int64_t unroll) {
  const auto [l0, l1] = s.split<2>(at.lane, {kOpen, tile.vectors * lanes});
  const auto [r0, r1] = s.split<2>(at.row, {kOpen, tile.rows});
  // As in schedule_straight: the factor with fewer registers in the tile stays in them.
  LoopRef inner = l1;
  if (tile.rows < tile.vectors) {
    const auto [vectors, one] = s.split<2>(l1, {kOpen, lanes});
    s.reorder({l0, r0, at.summed, vectors, r1, one});
    s.unroll(vectors);
    inner = one;
  } else {
    s.reorder({l0, r0, at.summed, r1, l1});
  }
  s.reverse_compute_at(out, r0);
  const BlockRef init = s.decompose_reduction(block, at.summed);
  const int64_t most = unroll > kUnroll ? 2 * kMostUnrolled : kMostUnrolled;
  if (terms && unroll > 1 && *terms % unroll == 0 && unroll * tile.rows * tile.vectors <= most)
    s.unroll(s.split<2>(at.summed, {kOpen, unroll})[1]);
  s.unroll(r1);
  as_vectors(s, inner, lanes);
  for (const BlockRef& b : {out, init}) {
    const std::vector<LoopRef> own = s.loops(b);
    as_vectors(s, own.back(), lanes);
    for (size_t i = at.outside + 2; i + 1 < own.size(); ++i) s.unroll(own[i]);
  }
}

}  // namespace

bool schedule_chain(Schedule& s, const std::string& last_name, const ir::TargetSpec& spec,
                    Choices& choices) {
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage last = *find_stage(func, last_name);
  const auto chain = last.kind == StageKind::Reduce ? chain_of(func, last, sizes) : std::nullopt;
  if (!chain) return false;
  const auto c = as_contraction(chain->first);
  const int64_t lanes =
      std::min({lanes_of(chain->first, spec), lanes_of(last, spec), lanes_of(chain->rows, spec)});
  if (lanes == 1) return false;
  const auto& first_iters = chain->first.block->iters;
  const auto& iters = last.block->iters;
  const auto terms = [](const Stage& stage) -> std::optional<int64_t> {
    return ir::const_int(stage.block->iters.back().extent);
  };
  const auto extent = [&](const ir::BlockIter& it) {
    return std::max<int64_t>(sizes.of(it.extent), 1);
  };
  const Extents extents{.rows = extent(iters[chain->row]),
                        .columns = extent(first_iters[chain->first_lane]),
                        .terms = extent(first_iters.back()),
                        .results = extent(iters[chain->lane])};
  // Less than a vector of results would be computed one by one, several times as slowly as by
  // stages of their own, which round up.
  if (extents.results < lanes) return false;
  const std::vector<Rows> plans =
      all_rows(extents, ir::const_int(iters[chain->row].extent).has_value(), !chain->outer.empty(),
               lanes, spec);
  if (plans.empty()) return false;
  std::vector<std::string> texts;
  for (const Rows& r : plans) texts.push_back(r.together ? std::to_string(r.together) : "all");
  Rows plan = plans[choices.ask(last_name + ".rows", texts)];
  const int64_t together = plan.together ? plan.together : extents.rows;
  const auto asked = [&](const char* which, const Tile& model, int64_t columns, int64_t terms) {
    return asked_tile(last_name + which, model, together, plan.together != 0, columns, terms, lanes,
                      spec, choices);
  };
  plan.first = asked(".tile_of_scores", plan.first, extents.columns, extents.terms);
  plan.last = asked(".tile_of_results", plan.last, extents.results, extents.columns);
  const int64_t unroll = choices.number(last_name + ".unroll_both", kUnroll, {2, 8, 1});
  const double work = last.work(sizes) + chain->first.work(sizes);

  return attempt(s, [&] {
    const bool lane_in_a = std::ranges::count(c->of_a, chain->first_lane) > 0;
    const Plan panels{.lane = chain->first_lane,
                      .row = chain->row,
                      .tile = {1, plan.first.vectors},
                      .lanes = lanes,
                      .reduced = {first_iters.size() - 1}};
    pack_panels(s, chain->first, lane_in_a ? c->a : c->b, panels, {}, spec);
    const BlockRef block = s.block(last_name);
    const std::vector<LoopRef> loops = s.loops(block);
    std::vector<LoopRef> around;
    std::vector<TileLoop> tasks;
    for (const size_t i : chain->outer) {
      around.push_back(loops[i]);
      tasks.push_back({loops[i], sizes.of(iters[i].extent), true});
    }
    LoopRef row = loops[chain->row];
    if (plan.together) {
      const auto [s0, s1] = s.split<2>(row, {kOpen, plan.together});
      around.push_back(s0);
      tasks.push_back(tiles_of(s0, iters[chain->row], plan.together, sizes));
      row = s1;
    }
    const LoopRef at = around.back();
    std::vector<LoopRef> order = around;
    order.push_back(row);
    order.push_back(loops[chain->lane]);
    order.push_back(loops.back());
    s.reorder(order);
    const size_t outside = around.size();

    // From the last stage up, each before those that read it.
    const BlockRef rows = s.block(chain->rows.name());
    s.compute_at(rows, at);
    const std::vector<LoopRef> of_rows = s.loops(rows);
    const size_t inner = of_rows.size() - 1;  // loops around four rows
    const LoopRef some = s.split<2>(of_rows[inner - 1], {kOpen, kRowsAtOnce})[0];
    for (size_t i = chain->between.size(); i-- > 0;)
      s.compute_at(s.block(chain->between[i].name()), some);
    const BlockRef first = s.block(chain->first.name());
    s.compute_at(first, at);
    schedule_row_stages(s, chain->between, chain->rows, inner, chain->outer.size() + 1, lanes);

    const std::vector<LoopRef> own = s.loops(first);
    const BlockRef scores =
        s.cache_write(first, chain->first.result()->name, ir::ScopeKind::Register);
    tile_inside(s, first, scores,
                {.outside = own.size() - 3,
                 .row = own[outside + chain->first_row],
                 .lane = own[outside + chain->first_lane],
                 .summed = own.back()},
                plan.first, lanes, terms(chain->first), unroll);
    keep_whole_vectors(s, chain->first, first, chain->first.result()->name + "_register",
                       chain->first_lane, lanes);
    BlockRef out;
    if (chain->after) {
      out = s.block(chain->after->name());
      s.set_scope(block, last.result()->name, ir::ScopeKind::Register);
    } else {
      out = s.cache_write(block, last.result()->name, ir::ScopeKind::Register);
    }
    tile_inside(
        s, block, out,
        {.outside = outside, .row = row, .lane = loops[chain->lane], .summed = loops.back()},
        plan.last, lanes, terms(last), unroll);
    keep_whole_vectors(s, last, block, last.result()->name + (chain->after ? "" : "_register"),
                       chain->lane, lanes);
    run_in_threads(s, tasks, tasks.size(), work);
  });
}

}  // namespace tilewright::tune
