// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "ir/build.h"
#include "support/str.h"
#include "tune/choose/attempt.h"
#include "tune/choose/lanes.h"
#include "tune/choose/pack.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

// Cycles to move an element into a panel, and to transpose a vector of results, also where some of
// them may not be there.
constexpr double kPack = 1, kTurn = 6, kTurnSome = 30;
// A product of bytes by itself: both are widened, and multiplied as 32 bits.
constexpr double kWidened = 3;

int64_t extent_of(const Stage& stage, size_t iter, const Sizes& sizes) {
  return std::max<int64_t>(sizes.of(stage.block->iters[iter].extent), 1);
}

/// Does the factor read at sums of the two iterators, as a window does?
bool overlap(const ir::Expr& factor, const ir::Var& x, const ir::Var& y) {
  bool found = false;
  ir::walk(factor, [&](const ir::Load& l) {
    for (const ir::Expr& e : l.indices) found = found || (ir::uses(e, x) && ir::uses(e, y));
  });
  return found;
}

/// Is all that depends on the iterator read at nothing but iterators, so that it can be padded?
bool reads_plainly(const ir::Expr& factor, const ir::Var& x) {
  bool plain = true;
  ir::walk(factor, [&](const ir::Load& l) {
    if (!ir::uses(ir::Expr::of(l), x)) return;
    for (const ir::Expr& e : l.indices) plain = plain && e.as<ir::VarNode>();
  });
  return plain;
}

/// Are integers multiplied that are narrower than their sum?
bool widens(const Stage& stage, const Contraction& c) {
  bool narrow = false;
  for (const ir::Expr& factor : {c.a, c.b})
    ir::walk(factor, [&](const ir::Load& l) {
      narrow = narrow || ir::bits(l.buffer->elem) < ir::bits(stage.result()->elem);
    });
  return narrow && !ir::is_float(stage.result()->elem);
}

/// The order of the reduction's loops, and how far the innermost is unrolled. Neighbouring rows of
/// a window read the same elements: were those loops unrolled, all of them would stay in registers.
void order_reduction(Plan& plan, const Stage& stage, const Contraction& c,
                     const ir::Expr& broadcast, Choices& choices) {
  const auto& iters = stage.block->iters;
  std::vector<size_t> windows;
  for (const size_t i : c.reduced)
    if (!plan.dot || i != plan.dot->summed)
      (overlap(broadcast, iters[i].var, iters[plan.row].var) ? windows : plan.reduced).push_back(i);
  if (plan.dot) plan.reduced.push_back(plan.dot->summed);
  const bool inside = !plan.reduced.empty();
  const bool several = plan.reduced.size() > 1 && !windows.empty();
  const bool first = several && choices.yes(stage.name() + ".windows_outside", false);
  plan.reduced.insert(first ? plan.reduced.begin() : plan.reduced.end() - inside, windows.begin(),
                      windows.end());
  const auto inner = ir::const_int(iters[plan.reduced.back()].extent);
  const int64_t group = plan.dot ? plan.dot->group : 1;
  std::vector<int64_t> possible;
  const auto may = [&](int64_t u, int64_t most) {
    return inside && inner && *inner % (u * group) == 0 &&
           u * plan.tile.rows * plan.tile.vectors <= most;
  };
  // Short sums as a whole, when a loop of two iterations ends is often guessed wrong; others as
  // far as the code stays short.
  const int64_t whole = inner ? *inner / group : 0;
  for (const int64_t u : {whole == 16 ? 16 : 8, whole == 6 ? 6 : 8})
    if (may(u, 128) && std::ranges::count(possible, u) == 0) possible.push_back(u);
  for (const int64_t u : {4, 3, 2, 1, 8, 6, 16})
    if (may(u, u > 4 ? 256 : 128) && std::ranges::count(possible, u) == 0) possible.push_back(u);
  if (!possible.empty())
    plan.unroll = choices.number(stage.name() + ".unroll", possible[0], possible);
}

/// Elements that a factor reads in all.
double elements_of(const ir::Expr& factor, const Sizes& sizes) {
  double all = 0;
  ir::walk(factor, [&](const ir::Load& l) {
    double n = 1;
    for (const ir::Expr& e : l.buffer->shape) n *= static_cast<double>(sizes.of(e));
    all += n;
  });
  return all;
}

struct TileOption {
  Tile tile;
  double cycles;  // for one result
};

/// Every tile of so many vectors, or of any number when that is 0, that fits the registers. With an
/// instruction tiles are whole: what they have beyond the columns is computed, too.
std::vector<TileOption> possible_tiles(const Plan& plan, const std::vector<ResultSize>& sizes,
                                       int64_t terms, const ir::TargetSpec& spec, int64_t vectors) {
  int64_t rows = 1, columns = 1;
  for (const ResultSize& size : sizes) {
    rows = std::max(rows, size.rows);
    columns = std::max(columns, size.columns);
  }
  const int64_t most = std::min<int64_t>((columns + plan.lanes - 1) / plan.lanes, 8);
  std::vector<TileOption> out;
  for (int64_t v = 1; v <= most; ++v) {
    if (vectors > 0 && v != vectors) continue;
    std::vector<ResultSize> whole = sizes;
    bool possible = true;
    for (ResultSize& size : whole) {
      if (!plan.dot) continue;
      const int64_t width = v * plan.lanes;
      possible = possible && !size.whole_columns && (!plan.wide || size.columns % width == 0);
      size.columns = (size.columns + width - 1) / width * width;
    }
    for (int64_t r = 1; possible && r <= (plan.one_row ? 1 : rows); ++r) {
      const Tile tile{r, v};
      if (r * v + std::min(r, v) + 1 > spec.vector_registers) break;
      if (!whole[0].fits(tile, plan.lanes)) continue;
      double cycles = 0;
      for (size_t i = 0; i < sizes.size(); ++i)
        cycles += tile_cycles(tile, std::span(&whole[i], 1), terms, plan.lanes, spec.rates) *
                  static_cast<double>(whole[i].columns) / static_cast<double>(sizes[i].columns);
      out.push_back({tile, cycles / static_cast<double>(sizes.size())});
    }
  }
  return out;
}

bool contains(const std::vector<size_t>& all, size_t one) {
  return std::ranges::find(all, one) != all.end();
}

/// Is less read again when the loop over tiles of lanes is the outermost? Then the other factor is
/// read for each of them, else the one with the lanes for each of the other loops' iterations.
bool lanes_first(const Stage& stage, const Plan& plan, const Contraction& c, const Sizes& sizes) {
  const bool in_a = contains(c.of_a, plan.lane);
  const double lanes = elements_of(in_a ? c.a : c.b, sizes),
               rows = elements_of(in_a ? c.b : c.a, sizes);
  double around = 1;  // iterations of the loops that the lanes do not know, but for the tile's
  for (const size_t i : in_a ? c.of_b : c.of_a)
    if (i != plan.row) around *= static_cast<double>(extent_of(stage, i, sizes));
  const size_t across = plan.wide.value_or(plan.lane);
  const double tiles = static_cast<double>(extent_of(stage, across, sizes)) /
                       static_cast<double>(plan.wide ? plan.tile.vectors : plan.width());
  return rows * tiles + lanes < lanes * around + rows;
}

/// How many rows of a factor stay in the first cache while they are read side by side. Those whose
/// distance is a multiple of a page compete for the same places, of which there is one for each
/// page of the cache.
///   f32[128, 3072], 32 KiB: rows are three pages apart, so 8 of them stay
int64_t near_rows(const ir::Expr& factor, const ir::Var& row, const Sizes& sizes,
                  const ir::TargetSpec& spec) {
  constexpr int64_t kPage = 4096;
  int64_t most = INT64_MAX;
  ir::walk(factor, [&](const ir::Load& l) {
    const int64_t bytes =
        stride(l.buffer, l.indices, row, sizes).value_or(0) * ir::bits(l.buffer->elem) / 8;
    if (bytes == 0) return;
    const int64_t places = kPage / std::gcd(bytes, kPage);
    most = std::min(most, places * std::max<int64_t>(spec.l1_bytes / kPage, 1));
  });
  return most;
}

bool rows_lie_in_panels(const Plan& plan, const Stage& stage, const Contraction& c,
                        const Sizes& sizes, const std::vector<std::string>& constants) {
  return constant_rows(stage, contains(c.of_a, plan.lane) ? c.b : c.a, plan, constants, sizes);
}

/// Cycles until a vector of constants comes from memory, where there are rows enough to ask for it
/// before it is needed; 0: it does not come from there, or nobody has the time.
double far_cycles(const Plan& plan, const Stage& stage, const Contraction& c, const Sizes& sizes,
                  const ir::TargetSpec& spec, const std::vector<std::string>& constants) {
  constexpr double kTimely = 1.5;  // rows for each lane
  const bool in_a = contains(c.of_a, plan.lane);
  const Panels panels = panels_for(stage, in_a ? c.a : c.b, plan.lane, constants, sizes);
  double rows = 1;
  for (const size_t i : in_a ? c.of_b : c.of_a)
    rows *= static_cast<double>(extent_of(stage, i, sizes));
  const auto lanes = static_cast<double>(plan.lanes);
  if (plan.turned || plan.dot || !panels.constant || rows < kTimely * lanes ||
      panels.bytes <= static_cast<double>(spec.l2_bytes))
    return 0;
  return panels.bytes * rows / stage.points(sizes) * lanes / spec.rates.bytes[2];
}

/// Arithmetic that makes a factor of what is loaded; where padding begins is no part of that.
double work_of(const ir::Expr& factor) {
  double count = 0;
  ir::walk(factor, [&](const ir::Binary& b) { count += b.a.type() != ir::kIndex; });
  return count;
}

/// What the results of a plan's tiles add up to.
std::vector<ResultSize> results_of(const Plan& plan, const Stage& stage, const Contraction& c,
                                   const Sizes& sizes, const ir::TargetSpec& spec,
                                   const std::vector<std::string>& constants) {
  const auto& iters = stage.block->iters;
  ir::Expr columns = iters[plan.lane].extent;
  if (plan.wide) columns = columns * iters[*plan.wide].extent;
  std::vector<ResultSize> out = extents_of(&iters[plan.row].extent, columns, sizes);
  int64_t window = 1;
  for (const size_t i : c.reduced)
    for (const size_t lane : {plan.lane, plan.wide.value_or(plan.lane)})
      if (overlap(contains(c.of_a, plan.lane) ? c.a : c.b, iters[i].var, iters[lane].var)) {
        window *= extent_of(stage, i, sizes);
        break;
      }
  for (ResultSize& size : out) {
    size.near_bytes = spec.l1_bytes / 4 * 3;
    size.window = window;
    size.far = far_cycles(plan, stage, c, sizes, spec, constants);
    size.for_vector = work_of(contains(c.of_a, plan.lane) ? c.a : c.b);
    size.for_row = work_of(contains(c.of_a, plan.lane) ? c.b : c.a);
  }
  if (rows_lie_in_panels(plan, stage, c, sizes, constants)) return out;
  const int64_t near =
      near_rows(contains(c.of_a, plan.lane) ? c.b : c.a, iters[plan.row].var, sizes, spec);
  for (ResultSize& size : out) size.near_rows = near;
  return out;
}

/// Terms of a sum, or groups of them where an instruction adds one at a time.
int64_t terms_of(const Plan& plan, const Stage& stage, const Contraction& c, const Sizes& sizes) {
  int64_t terms = 1;
  for (const size_t i : c.reduced) terms *= extent_of(stage, i, sizes);
  return plan.dot ? terms / plan.dot->group : terms;
}

/// Every way to run it, each with its best tile, the best first.
std::vector<Plan> all_plans(const Stage& stage, const Contraction& c, const Sizes& sizes,
                            const ir::TargetSpec& spec, const std::vector<std::string>& constants,
                            int64_t vectors, bool dots) {
  const auto& iters = stage.block->iters;
  const int64_t lanes = lanes_of(stage, spec);
  const auto& index = stage.block->body.as<ir::Update>()->targets[0].indices;
  if (lanes == 1 || index.empty()) return {};
  const auto last = static_cast<size_t>(
      std::ranges::find_if(iters, [&](const ir::BlockIter& it) { return it.var == index.back(); }) -
      iters.begin());
  double results = 1;
  for (size_t i = 0; i < iters.size(); ++i)
    if (iters[i].kind == ir::IterKind::Spatial)
      results *= static_cast<double>(extent_of(stage, i, sizes));

  // Lanes in blocks: those of the factor's iterators that count the blocks are more of them.
  const auto wide_of = [&](size_t lane) -> std::optional<size_t> {
    const auto known = ir::const_int(iters[lane].extent);
    if (!known || *known > lanes || !std::has_single_bit(static_cast<uint64_t>(*known)) ||
        *known == 1)
      return std::nullopt;
    std::optional<size_t> found;
    for (const size_t i : contains(c.of_a, lane) ? c.of_a : c.of_b)
      if (i != lane && (!found || extent_of(stage, i, sizes) > extent_of(stage, *found, sizes)))
        found = i;
    return found;
  };
  std::vector<Plan> out;
  const auto consider = [&](size_t lane, size_t row, bool with_dot) {
    const Panels panels =
        panels_for(stage, contains(c.of_a, lane) ? c.a : c.b, lane, constants, sizes);
    if (!panels.possible && (!panels.contiguous || with_dot)) return;
    const bool turned = lane != last;
    if (turned && row != last) return;
    Plan plan{.lane = lane, .row = row, .lanes = lanes, .shared = c.shared, .turned = turned};
    const int64_t rows = extent_of(stage, row, sizes);
    if (const std::optional<size_t> wide = turned ? std::nullopt : wide_of(lane)) {
      plan.wide = wide;
      plan.lanes = extent_of(stage, lane, sizes);
    }
    if (with_dot) {
      plan.dot = dot_for(stage, c, lane, plan.lanes, sizes, spec);
      if (!plan.dot) return;
      plan.one_row = !ir::const_int(iters[row].extent) &&
                     !reads_plainly(contains(c.of_a, lane) ? c.b : c.a, iters[row].var);
    }
    const std::vector<ResultSize> all = results_of(plan, stage, c, sizes, spec, constants);
    const int64_t terms = terms_of(plan, stage, c, sizes);
    if (with_dot) {
      const std::vector<TileOption> tiles = possible_tiles(plan, all, terms, spec, vectors);
      const auto best = std::ranges::min_element(tiles, {}, &TileOption::cycles);
      if (best == tiles.end()) return;
      plan.tile = best->tile;
      plan.cycles = best->cycles;
    } else {
      plan.tile = choose_tile(all, terms, plan.lanes, spec, vectors);
      plan.cycles = tile_cycles(plan.tile, all, terms, plan.lanes, spec.rates);
      if (widens(stage, c)) plan.cycles *= kWidened;
    }
    plan.cycles *= plan.lanes < lanes ? results * spec.rates.half : results;
    if ((panels.wanted || with_dot) && !panels.constant) plan.cycles += kPack * panels.elements;
    if (turned) {
      const int64_t pieces = rows / lanes + std::popcount(static_cast<uint64_t>(rows % lanes));
      plan.cycles += (ir::const_int(iters[row].extent) ? kTurn : kTurnSome) *
                     static_cast<double>(pieces) * results / static_cast<double>(rows);
    }
    out.push_back(plan);
  };
  for (const auto& [one, other] : {std::pair(&c.of_a, &c.of_b), std::pair(&c.of_b, &c.of_a)})
    for (const size_t lane : *one)
      for (const size_t row : *other) {
        consider(lane, row, false);
        if (dots) consider(lane, row, true);
      }
  std::ranges::reverse(out);  // of equals the last: its rows are closest in memory
  std::ranges::stable_sort(out, {}, &Plan::cycles);
  return out;
}

// Tiles that are this much slower by the model, or more of them, are not worth asking about.
constexpr double kSlowTile = 1.6;
constexpr size_t kMostTiles = 24;

/// The model's tile for the plan and the next best ones.
Tile choose_tile_of(const Plan& plan, const Stage& stage, const std::vector<ResultSize>& sizes,
                    int64_t terms, const ir::TargetSpec& spec, int64_t vectors, Choices& choices) {
  std::vector<TileOption> all = possible_tiles(plan, sizes, terms, spec, vectors);
  const auto is_first = [&](const TileOption& o) {
    return o.tile.rows == plan.tile.rows && o.tile.vectors == plan.tile.vectors;
  };
  const auto first = std::ranges::find_if(all, is_first);
  const double best = first == all.end() ? 1e300 : first->cycles;
  std::erase_if(all,
                [&](const TileOption& o) { return is_first(o) || o.cycles > kSlowTile * best; });
  std::ranges::stable_sort(all, {}, &TileOption::cycles);
  if (all.size() > kMostTiles) all.resize(kMostTiles);
  all.insert(all.begin(), {plan.tile, best});
  std::vector<std::string> texts;
  for (const TileOption& o : all) texts.push_back(str(o.tile.rows, "x", o.tile.vectors));
  return all[choices.ask(stage.name() + ".tile", texts)].tile;
}

}  // namespace

std::optional<double> plan_cycles(const Stage& stage, const Contraction& c, const Sizes& sizes,
                                  const ir::TargetSpec& spec,
                                  const std::vector<std::string>& constants) {
  const std::vector<Plan> all = all_plans(stage, c, sizes, spec, constants, 0, true);
  if (all.empty()) return std::nullopt;
  return all[0].cycles;
}

std::optional<Plan> choose_plan(const Stage& stage, const Contraction& c, const Sizes& sizes,
                                const ir::TargetSpec& spec,
                                const std::vector<std::string>& constants, bool dots,
                                Choices& choices) {
  const std::string name = stage.name();
  const auto given = choices.vectors.find(name);
  const int64_t vectors = given == choices.vectors.end() ? 0 : given->second;
  const std::vector<Plan> all = all_plans(stage, c, sizes, spec, constants, vectors, dots);
  if (all.empty()) return std::nullopt;
  std::vector<std::string> texts;
  for (const Plan& p : all) texts.push_back(str("i", p.lane, "_by_i", p.row, p.dot ? "_dot" : ""));
  Plan plan = all[choices.ask(name + ".lanes", texts)];
  plan.tile = choose_tile_of(plan, stage, results_of(plan, stage, c, sizes, spec, constants),
                             terms_of(plan, stage, c, sizes), spec, vectors, choices);
  const auto rows = choices.rows.find(name);
  if (rows != choices.rows.end() && rows_lie_in_panels(plan, stage, c, sizes, constants))
    plan.tile.rows = rows->second;
  order_reduction(plan, stage, c, contains(c.of_a, plan.lane) ? c.b : c.a, choices);
  plan.lanes_first = lanes_first(stage, plan, c, sizes);
  if (plan.turned) return plan;
  const std::string first = "lanes_first", last = "lanes_last";
  const std::vector<std::string> orders = {plan.lanes_first ? first : last,
                                           plan.lanes_first ? last : first, "2", "4", "8"};
  const std::string& order = orders[choices.ask(name + ".order", orders)];
  plan.lanes_first = order == first;
  if (order != first && order != last) plan.block = std::stoll(order);
  plan.by_reuse = choices.yes(name + ".by_reuse", false);
  return plan;
}

std::vector<ResultSize> extents_of(const ir::Expr* rows, const ir::Expr& columns,
                                   const Sizes& sizes) {
  const std::vector<int64_t> down = rows ? sizes.samples(*rows) : std::vector<int64_t>{1};
  const std::vector<int64_t> across = sizes.samples(columns);
  std::vector<ResultSize> out;
  for (size_t i = 0; i < std::max(down.size(), across.size()); ++i)
    out.push_back({.rows = std::max<int64_t>(down[down.size() > 1 ? i : 0], 1),
                   .columns = std::max<int64_t>(across[across.size() > 1 ? i : 0], 1),
                   .whole_rows = down.size() > 1,
                   .whole_columns = across.size() > 1,
                   .most_rows = rows ? sizes.most(*rows) : 1,
                   .most_columns = sizes.most(columns)});
  return out;
}

void round_up_tiles(Schedule& s, const Stage& stage, const BlockRef& block,
                    const std::vector<std::pair<size_t, int64_t>>& tiles, size_t lane,
                    std::optional<size_t> known) {
  std::vector<schedule::Number> multiples(stage.block->iters.size(), 1);
  std::vector<schedule::Number> repeated(stage.block->iters.size(), 1);
  repeated[lane] = 0;
  for (const auto& [iter, size] : tiles)
    if (iter == known || !ir::const_int(stage.block->iters[iter].extent)) multiples[iter] = size;
  s.round_up(block, multiples, repeated);
}

TileLoop tiles_of(const LoopRef& loop, const ir::BlockIter& iter, int64_t size,
                  const Sizes& sizes) {
  const auto known = ir::const_int(iter.extent);
  return {loop, (sizes.of(iter.extent) + size - 1) / size, known && *known % size == 0};
}

size_t order_for_threads(std::vector<TileLoop>& loops, const ir::TargetSpec& spec, bool by_reuse,
                         size_t first) {
  const int64_t wanted = 4 * std::max(spec.cores, 4);
  int64_t tasks = 1;
  size_t count = 0;
  while (count < first || (count < loops.size() && loops[count].exact && tasks < wanted))
    tasks *= loops[count++].count;
  if (tasks >= wanted || count == loops.size()) return count;
  if (count == 0 && loops[0].count >= wanted) return 1;  // enough by itself
  const auto begin = loops.begin() + static_cast<std::ptrdiff_t>(first);
  const auto largest = std::ranges::max_element(begin, loops.end(), {}, &TileLoop::count);
  if (count > first && (by_reuse || largest->exact || largest->count < 2 * tasks)) return count;
  if (by_reuse) return first + 1;
  std::rotate(begin, largest, largest + 1);
  return first + 1;
}

size_t run_in_threads(Schedule& s, const std::vector<TileLoop>& loops, size_t count, double work) {
  if (work < 2 * kTaskWork || loops.empty()) return 0;
  for (; count > 0; --count) {
    const bool done = attempt(s, [&] {
      std::vector<LoopRef> first;
      for (size_t i = 0; i < count; ++i) first.push_back(loops[i].loop);
      s.parallel(count > 1 ? s.fuse(first) : first[0]);
    });
    if (done) return count - 1;
  }
  return 0;
}

std::vector<Piece> pieces_of(int64_t extent, int64_t lanes) {
  std::vector<Piece> out;
  for (int64_t at = 0; at < extent; lanes /= 2) {
    if (extent - at < lanes) continue;
    out.push_back({at, lanes});
    at += (extent - at) / lanes * lanes;
  }
  return out;
}

}  // namespace tilewright::tune
