// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/trace.h"

namespace tilewright::schedule {

/// Schedules a function step by step; every call is one checked step that is also recorded, so that
/// the same schedule can be printed, replayed and tuned.
///   Schedule s(func);
///   auto [y, x, k] = s.loops<3>("C");
///   auto [y0, y1] = s.split<2>(y, {kOpen, 14});
///   s.reorder({y0, x, k, y1});
class Schedule {
 public:
  explicit Schedule(ir::LoopFunc func, std::vector<ir::Instruction> instructions = {})
      : program_(std::move(func), std::move(instructions)) {
    trace_.name = program_.func().name;
  }

  /// The program as it stands.
  ir::LoopFunc func() const;
  const Trace& trace() const { return trace_; }

  /// A decision that steps may use: `s.split(y, {kOpen, s.decide("rows", 14, {6, 14})})`.
  Number decide(std::string name, int64_t value, std::vector<int64_t> candidates = {});

  BlockRef block(const std::string& name);
  std::vector<LoopRef> loops(const BlockRef& block);
  std::vector<LoopRef> loops(const std::string& name) { return loops(block(name)); }
  template <size_t N>
  std::array<LoopRef, N> loops(const std::string& name) {
    return exactly<N>(loops(name));
  }
  std::vector<LoopRef> split(const LoopRef& loop, std::vector<Number> factors);
  template <size_t N>
  std::array<LoopRef, N> split(const LoopRef& loop, std::vector<Number> factors) {
    return exactly<N>(split(loop, std::move(factors)));
  }
  LoopRef fuse(std::vector<LoopRef> loops);
  void reorder(std::vector<LoopRef> loops) { run(Reorder{std::move(loops)}); }
  std::vector<LoopRef> tile(std::vector<LoopRef> loops, std::vector<Number> factors);
  void vectorize(const LoopRef& loop) { run(Vectorize{loop}); }
  void unroll(const LoopRef& loop) { run(Unroll{loop}); }
  void parallel(const LoopRef& loop) { run(Parallel{loop}); }
  void bind(const LoopRef& loop, ir::ThreadAxis axis) { run(Bind{loop, axis}); }
  void vthread(const LoopRef& loop) { run(VThread{loop}); }
  std::vector<LoopRef> partition(const LoopRef& loop, std::vector<Number> points);
  std::vector<LoopRef> fission(const LoopRef& loop, Number after);
  LoopRef merge(const LoopRef& first, const LoopRef& second);
  LoopRef swizzle_order(const LoopRef& y, const LoopRef& x, Number group);
  /// The copy for which the condition holds, and the other one.
  std::array<LoopRef, 2> specialize(const LoopRef& loop, std::string condition);
  std::array<BlockRef, 2> specialize(const BlockRef& block, std::string condition);
  void annotate(const AnyRef& target, std::string key, HintValue value) {
    run(Annotate{target, std::move(key), std::move(value)});
  }
  void compute_at(const BlockRef& block, const LoopRef& loop) { run(ComputeAt{block, loop}); }
  void compute_root(const BlockRef& block) { run(ComputeRoot{block}); }
  void reverse_compute_at(const BlockRef& block, const LoopRef& loop) {
    run(ReverseComputeAt{block, loop});
  }
  void compute_inline(const BlockRef& block) { run(ComputeInline{block}); }
  void reverse_compute_inline(const BlockRef& block) { run(ReverseComputeInline{block}); }
  BlockRef cache_read(const BlockRef& block, std::string buffer, ScopeRef scope);
  BlockRef cache_write(const BlockRef& block, std::string buffer, ScopeRef scope);
  void set_scope(const BlockRef& block, std::string buffer, ScopeRef scope) {
    run(SetScope{block, std::move(buffer), std::move(scope.scope)});
  }
  void store_at(const BlockRef& block, const LoopRef& loop) { run(StoreAt{block, loop}); }
  void rolling_buffer(const BlockRef& block, const LoopRef& loop) {
    run(RollingBuffer{block, loop});
  }
  void set_layout(const BlockRef& block, std::string buffer, ir::Layout layout) {
    run(SetLayout{block, std::move(buffer), std::move(layout)});
  }
  BlockRef reindex(const BlockRef& block, std::string buffer);
  /// The blocks that fill padded inputs, then those that copy results out.
  std::vector<BlockRef> pad(const BlockRef& block, std::vector<Number> multiples);
  void round_up(const BlockRef& block, std::vector<Number> multiples,
                std::optional<std::vector<Number>> repeated = {}) {
    run(RoundUp{block, std::move(multiples), std::move(repeated)});
  }
  void transform_layout(const BlockRef& block, std::string buffer, IndexMap map) {
    run(TransformLayout{block, std::move(buffer), std::move(map)});
  }
  BlockRef decompose_reduction(const BlockRef& block, const LoopRef& loop);

  /// The block of partial results, and the one that combines them.
  std::array<BlockRef, 2> rfactor(const BlockRef& block, const LoopRef& loop);

  void prefetch(const LoopRef& at, const LoopRef& along, std::string buffer, Number distance,
                Number level) {
    run(Prefetch{at, along, std::move(buffer), std::move(distance), std::move(level)});
  }
  void prefetch_next(const LoopRef& at, const LoopRef& along, std::string buffer, Number level) {
    run(PrefetchNext{at, along, std::move(buffer), std::move(level)});
  }
  void double_buffer(const LoopRef& loop, std::string buffer) {
    run(DoubleBuffer{loop, std::move(buffer)});
  }

  /// The loop that runs both parts.
  LoopRef pipeline(const LoopRef& loop, Number stages, Overlap overlap = Overlap::Sync);
  /// The loop that runs all statements.
  LoopRef stagger(const LoopRef& loop, std::vector<Number> delays, std::vector<Number> order);
  /// The loop of each agent.
  std::vector<LoopRef> agents(const LoopRef& loop, std::vector<std::string> roles,
                              std::vector<Number> statements, Number slots);
  /// The loop over workers, and that of one worker.
  std::array<LoopRef, 2> persistent(const LoopRef& loop, Number count, Workers workers = {});
  void cluster(const LoopRef& loop, ir::ThreadAxis axis) { run(Cluster{loop, axis}); }
  void fuse_reductions(const LoopRef& loop, std::vector<BlockRef> blocks) {
    run(FuseReductions{loop, std::move(blocks)});
  }

  BlockRef blockize(const LoopRef& loop);
  /// The block around the call; `instruction` is one of those given to the constructor.
  BlockRef tensorize(const AnyRef& nest, std::string instruction);

  /// Applies and records any step; gives the names of its results.
  std::vector<std::string> run(Step step);

 private:
  template <size_t N>
  static std::array<LoopRef, N> exactly(const std::vector<LoopRef>& loops);
  BlockRef run_block(Step step) { return {run(std::move(step)).at(0)}; }
  std::vector<LoopRef> run_loops(Step step);
  std::string fresh_name(const Result& result) const;

  Program program_;
  Trace trace_;
};

inline const Number kOpen = Number::open_one();

[[noreturn]] void wrong_count(size_t wanted, size_t found);

template <size_t N>
std::array<LoopRef, N> Schedule::exactly(const std::vector<LoopRef>& loops) {
  if (loops.size() != N) wrong_count(N, loops.size());
  std::array<LoopRef, N> out;
  for (size_t i = 0; i < N; ++i) out[i] = loops[i];
  return out;
}

}  // namespace tilewright::schedule
