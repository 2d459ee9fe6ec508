// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include "schedule/loop_checks.h"
#include "support/str.h"

namespace tilewright::schedule {

ir::LoopFunc Schedule::func() const {
  ir::LoopFunc f = program_.func();
  if (!trace_.lines.empty()) f.stage = ir::Stage::Scheduled;
  return f;
}

Number Schedule::decide(std::string name, int64_t value, std::vector<int64_t> candidates) {
  program_.decide(name, value);
  trace_.decisions.push_back({name, value, std::move(candidates)});
  return Number::of_decision(std::move(name));
}

std::string Schedule::fresh_name(const Result& result) const {
  std::string wanted = std::holds_alternative<LoopResult>(result)
                           ? std::get<LoopResult>(result).var.name()
                           : std::get<BlockResult>(result).name;
  for (char& c : wanted)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  std::string name = wanted;
  for (int i = 1; program_.names().contains(name); ++i) name = str(wanted, "_", i);
  return name;
}

std::vector<std::string> Schedule::run(Step step) {
  // A first application finds out what comes back; the recorded line then names it.
  Program next = program_;
  TraceLine line{.results = {}, .step = std::move(step), .at = {}};
  Results results;
  try {
    results = std::visit([&](const auto& s) { return s.apply(next); }, line.step);
    next.drop_lost_prefetches();
    require_bound_loops_fit(next, std::visit([](const auto& s) { return s.name; }, line.step));
  } catch (const Error& e) {
    Diagnostic d = e.diagnostic;
    d.notes.push_back(str("in the step `", print(line), "`"));
    throw Error(std::move(d));
  }
  program_ = std::move(next);
  for (const Result& r : results) {
    const std::string name = fresh_name(r);
    program_.name(name, r);
    line.results.push_back(name);
  }
  trace_.lines.push_back(line);
  return line.results;
}

std::vector<LoopRef> Schedule::run_loops(Step step) {
  std::vector<LoopRef> out;
  for (std::string& name : run(std::move(step))) out.push_back({std::move(name)});
  return out;
}

BlockRef Schedule::block(const std::string& name) { return run_block(GetBlock{name}); }

std::vector<LoopRef> Schedule::loops(const BlockRef& block) { return run_loops(GetLoops{block}); }

std::vector<LoopRef> Schedule::split(const LoopRef& loop, std::vector<Number> factors) {
  return run_loops(Split{loop, std::move(factors)});
}

LoopRef Schedule::fuse(std::vector<LoopRef> loops) {
  return run_loops(Fuse{std::move(loops)}).at(0);
}

std::vector<LoopRef> Schedule::tile(std::vector<LoopRef> loops, std::vector<Number> factors) {
  return run_loops(Tile{std::move(loops), std::move(factors)});
}

std::vector<LoopRef> Schedule::partition(const LoopRef& loop, std::vector<Number> points) {
  return run_loops(Partition{loop, std::move(points)});
}

std::vector<LoopRef> Schedule::fission(const LoopRef& loop, Number after) {
  return run_loops(Fission{loop, std::move(after)});
}

LoopRef Schedule::merge(const LoopRef& first, const LoopRef& second) {
  return run_loops(Merge{first, second}).at(0);
}

LoopRef Schedule::swizzle_order(const LoopRef& y, const LoopRef& x, Number group) {
  return run_loops(SwizzleOrder{y, x, std::move(group)}).at(0);
}

std::array<LoopRef, 2> Schedule::specialize(const LoopRef& loop, std::string condition) {
  const std::vector<std::string> names = run(Specialize{loop, std::move(condition)});
  return {LoopRef{names.at(0)}, LoopRef{names.at(1)}};
}

std::array<BlockRef, 2> Schedule::specialize(const BlockRef& block, std::string condition) {
  const std::vector<std::string> names = run(Specialize{block, std::move(condition)});
  return {BlockRef{names.at(0)}, BlockRef{names.at(1)}};
}

BlockRef Schedule::reindex(const BlockRef& block, std::string buffer) {
  return run_block(Reindex{block, std::move(buffer)});
}

std::vector<BlockRef> Schedule::pad(const BlockRef& block, std::vector<Number> multiples) {
  std::vector<BlockRef> out;
  for (std::string& name : run(Pad{block, std::move(multiples)})) out.push_back({std::move(name)});
  return out;
}

BlockRef Schedule::cache_read(const BlockRef& block, std::string buffer, ScopeRef scope) {
  return run_block(CacheRead{block, std::move(buffer), std::move(scope.scope)});
}

BlockRef Schedule::cache_write(const BlockRef& block, std::string buffer, ScopeRef scope) {
  return run_block(CacheWrite{block, std::move(buffer), std::move(scope.scope)});
}

BlockRef Schedule::decompose_reduction(const BlockRef& block, const LoopRef& loop) {
  return run_block(DecomposeReduction{block, loop});
}

std::array<BlockRef, 2> Schedule::rfactor(const BlockRef& block, const LoopRef& loop) {
  const std::vector<std::string> names = run(RFactor{block, loop});
  return {BlockRef{names.at(0)}, BlockRef{names.at(1)}};
}

LoopRef Schedule::pipeline(const LoopRef& loop, Number stages, Overlap overlap) {
  return run_loops(Pipeline{loop, std::move(stages), overlap}).at(0);
}

LoopRef Schedule::stagger(const LoopRef& loop, std::vector<Number> delays,
                          std::vector<Number> order) {
  return run_loops(Stagger{loop, std::move(delays), std::move(order)}).at(0);
}

std::vector<LoopRef> Schedule::agents(const LoopRef& loop, std::vector<std::string> roles,
                                      std::vector<Number> statements, Number slots) {
  return run_loops(Agents{loop, std::move(roles), std::move(statements), std::move(slots)});
}

std::array<LoopRef, 2> Schedule::persistent(const LoopRef& loop, Number count, Workers workers) {
  return exactly<2>(run_loops(Persistent{loop, std::move(count), workers}));
}

BlockRef Schedule::blockize(const LoopRef& loop) { return run_block(Blockize{loop}); }

BlockRef Schedule::tensorize(const AnyRef& nest, std::string instruction) {
  return run_block(Tensorize{nest, std::move(instruction)});
}

void wrong_count(size_t wanted, size_t found) {
  throw Error({.code = "schedule.loops.count",
               .message = str(wanted, " loops are asked for, there are ", found),
               .notes = {},
               .help = "ask for as many as there are"});
}

}  // namespace tilewright::schedule
