// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/inline.h"

#include <algorithm>

#include "ir/equal.h"
#include "tune/choose/attempt.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {
namespace {

// What storing an element and reading it back costs, in operations.
constexpr double kKeepCost = 4;

/// The loads of `buffer` in a stage that differ from each other.
int64_t distinct_loads(const Stage& stage, const ir::Buffer& buffer) {
  std::vector<const ir::Load*> found;
  for (const ir::Load* l : stage.loads()) {
    const auto same = [&](const ir::Load* other) {
      return ir::equal(ir::Expr::of(*other), ir::Expr::of(*l));
    };
    if (l->buffer == buffer && std::ranges::none_of(found, same)) found.push_back(l);
  }
  return static_cast<int64_t>(found.size());
}

bool has_guard(const ir::Expr& value) {
  bool found = false;
  ir::walk(value, [&](const ir::Guard&) { found = true; });
  return found;
}

/// Does a stage ask whether the elements equal others? Computed twice they may be rounded in two
/// ways, so that nothing is equal to what was found among them.
bool asks_for_equals(const Stage& stage, const ir::Buffer& buffer) {
  bool found = false;
  for (const ir::Expr& value : stage.values())
    ir::walk(value, [&](const ir::Binary& b) {
      if ((b.op == ir::BinaryOp::Eq || b.op == ir::BinaryOp::Ne) && ir::is_float(b.a.type().elem))
        for (const ir::Expr& e : {b.a, b.b})
          ir::walk(e, [&](const ir::Load& l) { found = found || l.buffer == buffer; });
    });
  return found;
}

/// Is the choice of the guards the same for all neighbours in memory, and are few elements summed,
/// so that they are loops of their own where nothing has to be chosen?
bool chooses_between_vectors(const Stage& producer, const Stage& consumer, const Sizes& sizes) {
  double terms = 1;
  for (const ir::BlockIter& it : consumer.block->iters)
    if (it.kind == ir::IterKind::Reduction) terms *= static_cast<double>(sizes.of(it.extent));
  const auto* store = producer.block->body.as<ir::Store>();
  if (!store || store->indices.empty() || terms > kUnrolledTaps) return false;
  bool found = false;
  ir::walk(producer.values().front(), [&](const ir::Guard& g) {
    for (const ir::Var& v : ir::vars_of(store->indices.back()))
      found = found || ir::uses(g.cond, v);
  });
  return !found;
}

/// Does it move constants to other places, V[c, p, j] = W[c, 2 * j + p], for a sum? Those lie in
/// the order of its loops when it is not part of them.
bool reorders_constants(const Stage& producer, const std::vector<Stage>& stages,
                        const std::vector<std::string>& constants) {
  if (std::ranges::find(constants, producer.result()->name) == constants.end()) return false;
  const auto plain = [](const ir::Load* l) {
    return std::ranges::all_of(l->indices, [](const ir::Expr& e) { return e.as<ir::VarNode>(); });
  };
  return !std::ranges::all_of(producer.loads(), plain) &&
         std::ranges::any_of(stages, [&](const Stage& c) {
           return c.kind == StageKind::Reduce && c.reads(producer.result());
         });
}

bool worth_inlining(const Stage& producer, const std::vector<Stage>& stages, const Sizes& sizes,
                    Choices& choices) {
  double reads = 0;  // of each element
  int readers = 0;
  bool compared = false;
  bool in_reduction = false, in_windows = true, in_maps = true;
  const double elements = std::max(producer.points(sizes), 1.0);
  for (const Stage& c : stages) {
    if (c.block == producer.block || !c.reads(producer.result())) continue;
    if (c.kind == StageKind::Other) return false;
    const double per_element = c.points(sizes) / elements;
    ++readers;
    compared = compared || asks_for_equals(c, producer.result());
    reads += static_cast<double>(distinct_loads(c, producer.result())) * per_element;
    in_reduction = in_reduction || (c.kind == StageKind::Reduce && per_element > 1.5);
    const bool in_vectors = chooses_between_vectors(producer, c, sizes);
    in_windows = in_windows && c.kind == StageKind::Reduce && in_vectors;
    in_maps = in_maps && c.kind == StageKind::Map && in_vectors;
  }
  if (readers > 1 && compared) return false;
  if (reads <= 1.01) return true;
  const ir::Expr value = producer.values().front();
  const auto* guard = value.as<ir::Guard>();
  const bool padding =
      guard && guard->yes.as<ir::Load>() && !ir::has_load(guard->no) && !ir::has_load(guard->cond);
  // Tests in the innermost loop of a reduction hinder everything that makes it fast.
  const bool hinders = in_reduction && (has_guard(value) || operations(value) > 0);
  const auto cost = static_cast<double>(operations(value));
  const bool cut_out = padding && (in_windows || in_maps);
  const bool worth = cut_out || (!hinders && cost * (reads - 1) <= kKeepCost);
  const bool open = (cost <= kKeepCost || (padding && in_maps)) && !producer.block->iters.empty();
  return open ? choices.yes(producer.name() + ".inlined", worth) : worth;
}

}  // namespace

void inline_stages(schedule::Schedule& s, const std::vector<std::string>& given, Choices& choices) {
  const Sizes sizes(s.func());
  const std::vector<std::string> constants = with_derived(s.func(), given);
  std::vector<std::string> names;
  for (const Stage& stage : stages_of(s.func()))
    if (stage.kind == StageKind::Map) names.push_back(stage.name());
  // Producers first: what a stage costs then includes what was put into it.
  for (const std::string& name : names) {
    const ir::LoopFunc func = s.func();
    const std::vector<Stage> stages = stages_of(func);
    const auto stage = std::ranges::find(stages, name, [](const Stage& t) { return t.name(); });
    const bool output = std::ranges::any_of(
        func.params, [&](const ir::Param& p) { return stage->writes(p.buffer); });
    if (!output && !reorders_constants(*stage, stages, constants) &&
        worth_inlining(*stage, stages, sizes, choices))
      attempt(s, [&] { s.compute_inline(s.block(name)); });
  }
}

}  // namespace tilewright::tune
