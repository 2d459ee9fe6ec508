// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "arith/affine.h"
#include "ir/build.h"
#include "support/str.h"
#include "tune/choose/contraction.h"
#include "tune/choose/lanes.h"
#include "tune/choose/pack.h"
#include "tune/choose/plan.h"
#include "tune/choose/strides.h"
#include "tune/space/tiled.h"

namespace tilewright::tune {
namespace {

constexpr int64_t kMostVectors = 8, kMostTerms = 64;
// Statements that the innermost body may have, and operations of the stage after for one tile.
constexpr int64_t kMostUnrolled = 256, kMostAfter = 1024;
constexpr size_t kMostOrdered = 6;

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The parameters that are indexed by plain iterators, in one way.
std::vector<Tiled::Operand> operands_of(const ir::LoopFunc& func, const Stage& stage,
                                        const std::vector<std::string>& constants) {
  std::vector<Tiled::Operand> out;
  std::set<std::string> seen;
  const auto& iters = stage.block->iters;
  for (const ir::Load* l : stage.loads()) {
    const bool param =
        std::ranges::any_of(func.params, [&](const ir::Param& p) { return p.buffer == l->buffer; });
    if (!param && !holds(constants, l->buffer->name)) continue;
    Tiled::Operand operand{
        .buffer = l->buffer->name, .iters = {}, .constant = holds(constants, l->buffer->name)};
    for (const ir::Expr& e : l->indices) {
      const auto it =
          std::ranges::find_if(iters, [&](const ir::BlockIter& b) { return b.var == e; });
      const auto i = static_cast<size_t>(it - iters.begin());
      if (it != iters.end() && !std::ranges::count(operand.iters, i)) operand.iters.push_back(i);
    }
    // Read in two ways, it could lie well for one of them only.
    if (!seen.insert(operand.buffer).second)
      std::erase_if(out, [&](const Tiled::Operand& o) { return o.buffer == operand.buffer; });
    else if (operand.iters.size() == l->indices.size() && operand.iters.size() > 1)
      out.push_back(std::move(operand));
  }
  return out;
}

/// See Tiled::column; the lanes alone where all is read as vectors.
std::vector<bool> columns_of(const Stage& stage, const std::vector<size_t>& spatial, size_t lane) {
  const auto& iters = stage.block->iters;
  const auto changes = [&](const ir::Load& l, size_t i) {
    return std::ranges::any_of(l.indices,
                               [&](const ir::Expr& e) { return ir::uses(e, iters[i].var); });
  };
  std::vector<bool> out;
  for (const size_t i : spatial) {
    bool by_vectors = false, by_numbers = false, numbers = false;
    for (const ir::Load* l : stage.loads()) {
      const bool vectors = changes(*l, lane);
      numbers = numbers || !vectors;
      if (changes(*l, i)) (vectors ? by_vectors : by_numbers) = true;
    }
    out.push_back(i == lane || (numbers && by_vectors && !by_numbers));
  }
  return out;
}

/// Stages whose result nothing but this stage reads.
std::vector<std::string> producers_of(const ir::LoopFunc& func, const Stage& stage) {
  std::vector<std::string> out;
  const std::vector<Stage> stages = stages_of(func);
  for (const Stage& p : stages) {
    if (p.kind != StageKind::Map || !stage.reads(p.result())) continue;
    const bool only = std::ranges::all_of(stages, [&](const Stage& s) {
      return s.block == stage.block || s.block == p.block ||
             !(s.reads(p.result()) || s.writes(p.result()));
    });
    const bool param = std::ranges::any_of(
        func.params, [&](const ir::Param& q) { return q.buffer == p.result(); });
    if (only && !param) out.push_back(p.name());
  }
  return out;
}

std::optional<Tiled::Turned> turned_of(const Stage& stage, size_t last, const Sizes& sizes,
                                       const ir::TargetSpec& spec,
                                       const std::vector<std::string>& constants) {
  const auto c = as_contraction(stage);
  const int64_t lanes = lanes_of(stage, spec);
  if (!c) return std::nullopt;
  const bool last_in_a = std::ranges::count(c->of_a, last) > 0;
  if (!last_in_a && !std::ranges::count(c->of_b, last)) return std::nullopt;
  std::optional<Tiled::Turned> out;
  int64_t largest = lanes - 1;
  for (const size_t i : last_in_a ? c->of_b : c->of_a) {
    const auto extent = ir::const_int(stage.block->iters[i].extent);
    const Panels panels = panels_for(stage, last_in_a ? c->b : c->a, i, constants, sizes);
    if (!extent || *extent <= largest || !(panels.possible || panels.contiguous)) continue;
    largest = *extent;
    out = {.lane = i, .lanes = lanes};
  }
  return out;
}

/// What the schedule of a contraction by instructions asks; nothing where none computes it.
std::vector<Choices::Question> of_instruction(const ir::LoopFunc& func, const Stage& stage,
                                              const ir::TargetSpec& spec,
                                              const std::vector<std::string>& constants) {
  if (spec.instructions.empty()) return {};
  schedule::Schedule s(func, spec.instructions);
  Choices choices;
  if (!schedule_contraction(s, stage.name(), spec, constants, choices)) return {};
  const auto uses_one = [](const schedule::TraceLine& line) {
    return std::holds_alternative<schedule::Tensorize>(line.step);
  };
  if (std::ranges::none_of(s.trace().lines, uses_one)) return {};
  std::vector<Choices::Question> out = choices.asked();
  // Without one it is another form.
  for (Choices::Question& q : out) {
    std::erase(q.options, "none");
    if (q.name.ends_with(".lanes"))
      std::erase_if(q.options, [](const std::string& o) { return !o.ends_with("_dot"); });
  }
  return out;
}

/// Elements of an access that a box of iterators touches.
struct Footprint {
  double bytes_each = 4;
  std::vector<std::vector<std::pair<size_t, int64_t>>> dims;  // iterator and step, by dimension

  double bytes(const std::vector<double>& box) const {
    double n = bytes_each;
    for (const auto& dim : dims) {
      double range = 1;
      for (const auto& [iter, step] : dim)
        range += static_cast<double>(std::abs(step)) * (box[iter] - 1);
      n *= range;
    }
    return n;
  }
};

std::vector<Footprint> footprints_of(const Stage& stage) {
  std::vector<Footprint> out;
  for (const ir::Load* l : stage.loads()) {
    Footprint f{.bytes_each = ir::bits(l->buffer->elem) / 8.0, .dims = {}};
    for (const ir::Expr& e : l->indices) {
      f.dims.emplace_back();
      const auto form = arith::affine_of(e);
      for (size_t i = 0; form && i < stage.block->iters.size(); ++i)
        if (const int64_t step = form->coefficient(stage.block->iters[i].var))
          f.dims.back().push_back({i, step});
    }
    out.push_back(std::move(f));
  }
  return out;
}

/// Blocks of caches and sizes in registers of an iterator, in units of `unit` elements.
std::vector<Value> tiles_of_iter(const ir::Expr& extent, int64_t unit, int64_t most,
                                 const Sizes& sizes) {
  std::vector<Value> out;
  const auto known = ir::const_int(extent);
  if (!known) {  // whole tiles, smaller than the greatest size: else there would be just one
    for (int64_t c = 1; c <= most && (c == 1 || c * unit < sizes.most(extent)); ++c)
      out.push_back({1, c});
    return out;
  }
  const int64_t units = (*known + unit - 1) / unit;
  for (int64_t c = 1; c <= std::min(units, most); ++c) {
    const int64_t count = (units + c - 1) / c;
    for (int64_t b = 1; b <= count; ++b)
      if (count % b == 0) out.push_back({b, c});
  }
  return out;
}

}  // namespace

std::optional<Tiled> as_tiled(const ir::LoopFunc& func, const Stage& stage,
                              const ir::TargetSpec& spec,
                              const std::vector<std::string>& constants) {
  if (stage.kind != StageKind::Reduce || !stage.block->init) return std::nullopt;
  const auto& update = *stage.block->body.as<ir::Update>();
  const auto& iters = stage.block->iters;
  const int64_t lanes = lanes_of(stage, spec);
  if (lanes == 1 || update.targets.size() != 1 || update.targets[0].indices.empty())
    return std::nullopt;
  const Sizes sizes(func);
  Tiled out{
      .func = func, .stage = stage, .after = epilogue_of(func, stage), .work = stage.work(sizes)};
  for (size_t i = 0; i < iters.size(); ++i) {
    if (ir::is_const(iters[i].extent, 0)) return std::nullopt;
    (iters[i].kind == ir::IterKind::Spatial ? out.spatial : out.reduced).push_back(i);
  }
  for (const ir::Expr& e : update.targets[0].indices)
    if (std::ranges::none_of(out.spatial, [&](size_t i) { return iters[i].var == e; }))
      return std::nullopt;
  const auto lane = std::ranges::find_if(
      out.spatial, [&](size_t i) { return iters[i].var == update.targets[0].indices.back(); });
  if (lane == out.spatial.end() || out.spatial.size() > kMostOrdered ||
      out.reduced.size() > kMostOrdered)
    return std::nullopt;
  out.lane = *lane;
  const auto columns = ir::const_int(iters[out.lane].extent);
  out.lanes = lanes;
  if (columns && *columns < lanes)
    out.lanes = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(*columns)));
  if (out.lanes < 2) return std::nullopt;
  out.column = columns_of(stage, out.spatial, out.lane);
  out.operands = operands_of(func, stage, constants);
  out.producers = producers_of(func, stage);
  out.turned = turned_of(stage, out.lane, sizes, spec, constants);
  out.of_instruction = of_instruction(func, stage, spec, constants);
  return out;
}

TiledValues declare_tiled(Knobs& k, const Tiled& t, const ir::TargetSpec& spec) {
  const Stage& stage = t.stage;
  const auto& iters = stage.block->iters;
  const std::string prefix = stage.name() + ".";
  const Sizes sizes(t.func);
  TiledValues v;

  std::vector<std::string> tile_knobs, straight;
  int64_t most_terms = 1;
  std::vector<double> extents;
  for (const ir::BlockIter& it : iters)
    extents.push_back(static_cast<double>(std::max<int64_t>(sizes.of(it.extent), 1)));
  for (const size_t i : t.reduced) most_terms *= static_cast<int64_t>(extents[i]);

  using Form = TiledValues::Form;
  std::vector<Form> forms = {Form::Straight};
  std::vector<std::string> labels = {"straight"};
  if (t.turned) {
    forms.push_back(Form::Turned);
    labels.push_back("turned");
  }
  if (!t.of_instruction.empty()) {
    forms.push_back(Form::Instruction);
    labels.push_back("instruction");
  }
  if (forms.size() > 1) v.form = forms[k.choice(prefix + "form", labels)];
  for (const size_t i : t.spatial) {
    std::string name = prefix + iters[i].var.name();
    while (holds(tile_knobs, name)) name += "_";
    const bool lane = i == t.lane;
    v.tiles.push_back(k.values(
        name, KnobKind::Split,
        tiles_of_iter(iters[i].extent, lane ? t.lanes : 1,
                      lane ? kMostVectors : static_cast<int64_t>(spec.vector_registers), sizes)));
    tile_knobs.push_back(name);
  }
  straight = tile_knobs;
  const size_t lane_at =
      static_cast<size_t>(std::ranges::find(t.spatial, t.lane) - t.spatial.begin());

  // Accumulators, a vector of each row's operand or of the columns', and one for the other side.
  const int64_t registers = spec.vector_registers;
  k.require(
      str("tiles of ", stage.name(), " fit ", registers, " vector registers"), tile_knobs,
      [=, column = t.column](const Values& values) {
        int64_t rows = 1, vectors = 1;
        for (size_t j = 0; j < values.size(); ++j) (column[j] ? vectors : rows) *= (*values[j])[1];
        return rows * vectors + std::min(rows, vectors) + 1 <= registers;
      },
      true);
  const std::vector<Footprint> footprints = footprints_of(stage);
  k.require(
      str("what a block of ", stage.name(), " reads fits ", spec.l2_bytes >> 10,
          " KiB of cache, or it is a single tile"),
      tile_knobs,
      [=, spatial = t.spatial, lanes = t.lanes,
       l2 = static_cast<double>(spec.l2_bytes)](const Values& values) {
        bool single = true;
        std::vector<double> box = extents;
        for (size_t j = 0; j < values.size(); ++j) {
          single = single && (*values[j])[0] == 1;
          const double unit = j == lane_at ? static_cast<double>(lanes) : 1;
          const double size = static_cast<double>((*values[j])[0] * (*values[j])[1]) * unit;
          box[spatial[j]] = std::min(box[spatial[j]], size);
        }
        double bytes = 0;
        for (const Footprint& f : footprints) bytes += f.bytes(box);
        return single || bytes <= l2;
      },
      true);

  v.order = k.order(prefix + "order", t.spatial.size());
  std::vector<int64_t> known;  // extents; 0 where the run alone tells
  for (const size_t i : t.spatial) known.push_back(ir::const_int(iters[i].extent).value_or(0));
  const auto width_at = [lane_at, lanes = t.lanes](const Values& values, size_t at) {
    return (*values[at])[1] * (at == lane_at ? lanes : 1);
  };
  // Those with more than one block, in their order.
  const auto outer_loops = [=](const Values& values, const Value& order) {
    std::vector<size_t> out;
    for (const int64_t j : order) {
      const auto at = static_cast<size_t>(j);
      const int64_t n = known[at], width = width_at(values, at);
      if (n == 0 || (n + width - 1) / width > (*values[at])[0]) out.push_back(at);
    }
    return out;
  };
  v.band = k.number(prefix + "band", {1, 2, 3, 4, 6, 8});
  straight.push_back(prefix + "band");
  const auto tiles_order_and = [&](const char* knob) {
    std::vector<std::string> out = tile_knobs;
    out.insert(out.end(), {prefix + "order", prefix + knob});
    return out;
  };
  k.require(str("bands of blocks of ", stage.name(),
                " divide those along the outermost loop, and there are other loops"),
            tiles_order_and("band"), [=](const Values& values) {
              const int64_t band = values.back()->front();
              if (band == 1) return true;
              const std::vector<size_t> outer = outer_loops(values, *values[values.size() - 2]);
              if (outer.size() < 2 || known[outer[0]] == 0) return false;
              const int64_t width = width_at(values, outer[0]) * (*values[outer[0]])[0];
              const int64_t blocks = (known[outer[0]] + width - 1) / width;
              return blocks > band && blocks % band == 0;
            });
  std::vector<std::string> names;
  for (const std::string& knob : tile_knobs) names.push_back(knob.substr(prefix.size()));
  v.inner = k.choice(prefix + "inner", names);
  straight.push_back(prefix + "order");
  straight.push_back(prefix + "inner");
  v.terms = k.order(prefix + "terms", t.reduced.size());
  std::vector<int64_t> budgets;
  for (int64_t u = 1; u <= std::min(kMostTerms, 2 * most_terms - 1); u *= 2) {
    budgets.push_back(u);
    if (u > 1 && u * 3 / 2 <= std::min(kMostTerms, most_terms)) budgets.push_back(u * 3 / 2);
  }
  v.unroll = k.number(prefix + "unroll", budgets);
  v.columns_first = k.boolean(prefix + "columns_first");
  straight.push_back(prefix + "columns_first");
  std::vector<std::string> with_unroll = tile_knobs;
  with_unroll.push_back(prefix + "unroll");
  k.require(
      str("the body of ", stage.name(), " has at most ", kMostUnrolled, " vectors of terms"),
      with_unroll,
      [](const Values& values) {
        int64_t n = 1;
        for (size_t j = 0; j + 1 < values.size(); ++j) n *= (*values[j])[1];
        return n * (*values.back())[0] <= kMostUnrolled;
      },
      true);

  if (t.after) {
    v.in_registers = k.choice(prefix + "after", {"tile", "registers"}) == 1;
    straight.push_back(prefix + "after");
    int64_t cost = 1;
    for (const ir::Expr& e : t.after->values()) cost += operations(e);
    std::vector<std::string> knobs = tile_knobs;
    knobs.push_back(prefix + "after");
    k.require(
        str("what follows ", stage.name(), " in registers has at most ", kMostAfter,
            " operations for a tile"),
        knobs,
        [cost](const Values& values) {
          int64_t n = cost;
          for (size_t j = 0; j + 1 < values.size(); ++j) n *= (*values[j])[1];
          return (*values.back())[0] == 0 || n <= kMostAfter;
        },
        true);
  }
  for (const Tiled::Operand& operand : t.operands) {
    std::vector<std::string> labels = {"direct", "packed"};
    if (!operand.constant) labels.push_back("packed_block");
    const std::string name = prefix + "operand_" + operand.buffer;
    v.operands.push_back(k.choice(name, labels));
    straight.push_back(name);
  }
  for (const std::string& producer : t.producers) {
    const std::string name = prefix + "place_" + producer;
    std::vector<int64_t> depths = {0};
    for (size_t d = 1; d <= t.spatial.size(); ++d) depths.push_back(static_cast<int64_t>(d));
    v.producers.push_back(k.number(name, depths));
    straight.push_back(name);
  }
  std::vector<int64_t> loops;
  if (t.work < 50 * kTaskWork) loops.push_back(0);
  for (size_t n = 1; t.work >= 2 * kTaskWork && n <= std::min<size_t>(t.spatial.size(), 3); ++n)
    loops.push_back(static_cast<int64_t>(n));
  v.threads = k.number(prefix + "threads", loops);
  straight.push_back(prefix + "threads");
  k.require(str("loops of ", stage.name(),
                " that are joined for threads have whole tiles, and there are as many"),
            tiles_order_and("threads"), [=, least = loops.front()](const Values& values) {
              const auto threads = static_cast<size_t>(values.back()->front());
              const std::vector<size_t> outer = outer_loops(values, *values[values.size() - 2]);
              for (size_t i = 0; threads > 1 && i < std::min(threads, outer.size()); ++i) {
                const int64_t n = known[outer[i]];
                if (n == 0 || n % width_at(values, outer[i]) != 0) return false;
              }
              return threads <=
                     std::max(outer.size(), static_cast<size_t>(std::max<int64_t>(least, 1)));
            });

  for (const std::string& producer : t.producers) {
    const std::string name = prefix + "place_" + producer;
    k.require(str(name, " stands inside of the loops that are joined for threads"),
              {name, prefix + "threads"}, [](const Values& values) {
                return values[0]->front() == 0 || values[0]->front() >= values[1]->front();
              });
  }

  if (t.turned) {
    std::vector<Value> tiles;
    const auto columns = static_cast<int64_t>(extents[t.turned->lane]);
    for (int64_t c = 1; c <= std::min(kMostVectors, columns / t.turned->lanes); ++c)
      for (int64_t r = 1;
           r <= static_cast<int64_t>(extents[t.lane]) && r * c + std::min(r, c) + 1 <= registers;
           ++r)
        tiles.push_back({r, c});
    v.turned_tile = k.values(prefix + "turned", KnobKind::Split, tiles);
  }
  std::vector<std::string> of_instruction;
  for (const Choices::Question& q : t.of_instruction) {
    of_instruction.push_back("instruction." + q.name);
    v.of_instruction.push_back(q.options[k.choice(of_instruction.back(), q.options)]);
  }

  // A knob that does not count in a form has its first value there.
  const auto only = [&](const std::string& knob, const std::vector<Form>& where) {
    k.require(str(knob, " counts in some forms of ", stage.name(), " only"),
              {prefix + "form", knob},
              [where, forms, first = k.first_of(knob)](const Values& values) {
                const Form form = forms[static_cast<size_t>(values[0]->front())];
                return std::ranges::count(where, form) > 0 || *values[1] == first;
              });
  };
  if (forms.size() == 1) return v;
  for (const std::string& knob : straight) only(knob, {Form::Straight});
  if (t.turned) only(prefix + "turned", {Form::Turned});
  if (!t.of_instruction.empty())
    for (const char* knob : {"terms", "unroll"})
      only(prefix + knob, {Form::Straight, Form::Turned});
  for (const std::string& knob : of_instruction) only(knob, {Form::Instruction});
  return v;
}

}  // namespace tilewright::tune
