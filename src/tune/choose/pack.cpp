// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/pack.h"

#include <algorithm>

#include "ir/build.h"
#include "tune/choose/attempt.h"
#include "tune/choose/lanes.h"
#include "tune/choose/plan.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

/// A load of the factor, and the dimension that the iterator alone indexes.
struct Operand {
  const ir::Load* load = nullptr;
  size_t dim = 0;
};

/// The loads that the iterator moves, such as weights and their scales; none where one of them
/// cannot be packed along it.
std::vector<Operand> operands_of(const ir::Expr& factor, const ir::Var& lane) {
  std::vector<Operand> out;
  bool possible = true;
  ir::walk(factor, [&](const ir::Load& l) {
    const auto uses = [&](const ir::Expr& e) { return ir::uses(e, lane); };
    if (!uses(ir::Expr::of(l))) return;
    const auto at = std::ranges::find(l.indices, ir::Expr(lane));
    possible =
        possible && at != l.indices.end() && std::ranges::count_if(l.indices, uses) == 1 &&
        std::ranges::none_of(out, [&](const Operand& o) { return o.load->buffer == l.buffer; });
    if (possible) out.push_back({&l, static_cast<size_t>(at - l.indices.begin())});
  });
  if (!possible) out.clear();
  return out;
}

double elements_of(const ir::Buffer& buffer, const Sizes& sizes) {
  double all = 1;
  for (const ir::Expr& e : buffer->shape) all *= static_cast<double>(sizes.of(e));
  return all;
}

double bytes_of(const ir::Buffer& buffer, const Sizes& sizes) {
  return elements_of(buffer, sizes) * static_cast<double>(ir::bits(buffer->elem)) / 8;
}

// A block of eight rows and lanes is transposed in registers.
constexpr int64_t kBlock = 8;

/// Copies blocks of eight neighbours of the panel and eight along the last dimension of the
/// operand, where that is another one. False, and nothing done, when they do not come in whole
/// blocks.
bool turn_copy(Schedule& s, const BlockRef& copy, const ir::Buffer& operand, size_t dim) {
  const size_t last = operand->shape.size() - 1;
  const auto whole = [&](size_t d) {
    const auto known = ir::const_int(operand->shape[d]);
    return known && *known % kBlock == 0;
  };
  if (dim == last || !whole(dim) || !whole(last)) return false;
  return attempt(s, [&] {
    const std::vector<LoopRef> loops = s.loops(copy);
    const auto [p0, p1] = s.split<2>(loops[dim], {kOpen, kBlock});
    const auto [c0, c1] = s.split<2>(loops[last], {kOpen, kBlock});
    s.reorder({p0, c0, c1, p1});
    s.unroll(c1);
    s.vectorize(p1);
  });
}

}  // namespace

Panels panels_for(const Stage& stage, const ir::Expr& factor, size_t lane,
                  const std::vector<std::string>& constants, const Sizes& sizes) {
  const ir::Var var = stage.block->iters[lane].var;
  Panels out{.contiguous = true};
  ir::walk(factor, [&](const ir::Load& l) {
    const auto step = stride(l.buffer, l.indices, var, sizes);
    out.contiguous = out.contiguous && (step == 1 || step == 0);
  });
  const std::vector<Operand> operands = operands_of(factor, var);
  out.possible = out.constant = !operands.empty();
  if (!out.possible) return out;
  bool far_rows = false;
  for (const Operand& operand : operands) {
    const ir::Buffer& buffer = operand.load->buffer;
    out.constant = out.constant && std::ranges::count(constants, buffer->name) > 0;
    out.elements += elements_of(buffer, sizes);
    out.bytes += bytes_of(buffer, sizes);
    far_rows = far_rows || sizes.of(buffer->shape.back()) * 4 >= 2048;
  }
  // How often each element is used; a copy moves it three times.
  const double uses = stage.points(sizes) / std::max(out.elements, 1.0);
  out.wanted = out.constant || (out.contiguous ? far_rows && uses >= 64 : true);
  return out;
}

/// Copies one of the factor's operands; false when that is not possible.
static bool pack_operand(Schedule& s, const Stage& stage, const Operand& operand, const Plan& plan,
                         const Panels& panels, const ir::TargetSpec& spec) {
  const auto& iters = stage.block->iters;
  const ir::Load& load = *operand.load;
  const std::string buffer = load.buffer->name;
  const size_t rank = load.indices.size();
  // Dimensions outside of the whole operation stay there; what is summed comes in the order of the
  // loops.
  const auto loop_of = [&](size_t d) -> size_t {
    for (size_t i = 0; i < iters.size(); ++i)
      if (iters[i].kind == ir::IterKind::Spatial && load.indices[d] == iters[i].var) return 0;
    for (size_t i = 0; i < plan.reduced.size(); ++i)
      if (load.indices[d] == iters[plan.reduced[i]].var) return i + 1;
    return rank + plan.reduced.size();
  };
  std::optional<size_t> wide;
  std::vector<size_t> others;
  for (size_t d = 0; d < rank; ++d) {
    if (plan.wide && load.indices[d] == iters[*plan.wide].var)
      wide = d;
    else if (d != operand.dim)
      others.push_back(d);
  }
  if (plan.wide && !wide) return false;
  std::ranges::stable_sort(others, {}, loop_of);
  return attempt(s, [&] {
    const BlockRef copy = s.cache_read(s.block(stage.name()), buffer, ir::ScopeKind::Global);
    std::vector<ir::Var> vars;
    std::vector<ir::Expr> places;
    for (size_t d = 0; d < rank; ++d) vars.emplace_back("i" + std::to_string(d));
    // Groups for an instruction stay together.
    std::vector<ir::Expr> groups;
    for (const size_t d : others) {
      const bool in_groups = plan.dot && load.indices[d] == iters[plan.dot->summed].var;
      places.push_back(in_groups ? vars[d] / plan.dot->group : ir::Expr(vars[d]));
      if (in_groups) groups.push_back(vars[d] % plan.dot->group);
    }
    const auto batch = std::ranges::count_if(others, [&](size_t d) { return loop_of(d) == 0; });
    const size_t across = wide.value_or(operand.dim);
    const int64_t width = wide ? plan.tile.vectors : plan.width();
    places.insert(places.begin() + batch, vars[across] / width);
    places.push_back(vars[across] % width);
    if (wide) places.push_back(vars[operand.dim]);
    places.insert(places.end(), groups.begin(), groups.end());
    if (plan.in_tiles) s.cache_read(s.block(stage.name()), buffer + "_global", ir::ScopeKind::Tile);
    s.transform_layout(copy, buffer + "_global", {vars, places});
    // What only padded the operand becomes part of the copy.
    const ir::LoopFunc func = s.func();
    for (const Stage& made : stages_of(func))
      if (plan.dot && made.kind == StageKind::Map && made.result()->name == buffer)
        attempt(s, [&] { s.compute_inline(s.block(made.name())); });
    const bool blocks = !wide && !plan.dot && width % kBlock == 0;  // none lies in two panels
    if (blocks && turn_copy(s, copy, load.buffer, operand.dim)) {
      if (!panels.constant) run_parallel(s, copy.name, 1, 4 * panels.elements, spec);
      return;
    }
    attempt(s, [&] {
      std::vector<LoopRef> loops = s.loops(copy);
      std::vector<LoopRef> order(loops.begin(), loops.end());
      std::swap(order[operand.dim], order.back());
      if (operand.dim + 1 < loops.size()) s.reorder(order);
      const auto [outer, inner] =
          s.split<2>(loops[operand.dim], {kOpen, wide ? plan.lanes : width});
      s.vectorize(inner);
    });
    if (!panels.constant) run_parallel(s, copy.name, 1, 4 * panels.elements, spec);
  });
}

std::string pack_panels(Schedule& s, const Stage& stage, const ir::Expr& factor, const Plan& plan,
                        const std::vector<std::string>& constants, const ir::TargetSpec& spec) {
  const Sizes sizes(s.func());
  const Panels panels = panels_for(stage, factor, plan.lane, constants, sizes);
  if (!panels.possible || (!panels.wanted && !plan.dot)) return {};
  std::string largest;
  double most = 0;
  for (const Operand& operand : operands_of(factor, stage.block->iters[plan.lane].var)) {
    const bool packed = pack_operand(s, stage, operand, plan, panels, spec);
    const double bytes = bytes_of(operand.load->buffer, sizes);
    if (!packed || !panels.constant || bytes <= most) continue;
    most = bytes;
    largest = operand.load->buffer->name + "_global";
  }
  return largest;
}

bool constant_rows(const Stage& stage, const ir::Expr& factor, const Plan& plan,
                   const std::vector<std::string>& constants, const Sizes& sizes) {
  const Panels panels = panels_for(stage, factor, plan.row, constants, sizes);
  return panels.possible && panels.constant && !plan.dot;
}

void pack_constant_rows(Schedule& s, const Stage& stage, const ir::Expr& factor, const Plan& plan,
                        const std::vector<std::string>& constants, const ir::TargetSpec& spec) {
  if (!constant_rows(stage, factor, plan, constants, Sizes(s.func()))) return;
  const Plan rows{.lane = plan.row,
                  .row = plan.row,
                  .tile = {1, plan.tile.rows},
                  .lanes = 1,
                  .reduced = plan.reduced};
  pack_panels(s, stage, factor, rows, constants, spec);
}

}  // namespace tilewright::tune
