// SPDX-License-Identifier: Apache-2.0
// The catalogue of schedule steps. A step is a small value: its fields give its text, its log and
// its replay; `apply` is a checked rewrite of the program in steps/<name>.cpp. A step may change
// speed, never results: it proves its own legality or throws an Error that names the loop and the
// reason.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ir/buffer.h"
#include "ir/stmt.h"
#include "schedule/index_map.h"
#include "schedule/program.h"
#include "schedule/refs.h"

namespace tilewright::schedule {

using ir::members;

// Look-ups.

/// The block of that name.
struct GetBlock {
  std::string block;
  static constexpr std::string_view name = "block";
  static constexpr auto fields = members(&GetBlock::block);
  Results apply(Program& program) const;
};

/// The loops around a block, outermost first.
struct GetLoops {
  BlockRef block;
  static constexpr std::string_view name = "loops";
  static constexpr auto fields = members(&GetLoops::block);
  Results apply(Program& program) const;
};

// Loops.

/// for i in 0..n { S }
///   ->  for i_0 in 0..ceil(n/f) { for i_1 in 0..f { if i_0*f + i_1 < n { S } } }
/// The condition is dropped when the prover shows that the factors' product is n; it goes into the
/// predicates of the blocks below. One factor may be open. Legal on every serial loop.
struct Split {
  LoopRef loop;
  std::vector<Number> factors;
  static constexpr std::string_view name = "split";
  static constexpr auto fields = members(&Split::loop, &Split::factors);
  Results apply(Program& program) const;
};

/// for i in 0..n { for j in 0..m { S } }  ->  for i_j in 0..n*m { S[i := i_j / m, j := i_j % m] }
/// Legal on perfectly nested serial loops whose extents do not depend on each other.
struct Fuse {
  std::vector<LoopRef> loops;
  static constexpr std::string_view name = "fuse";
  static constexpr auto fields = members(&Fuse::loops);
  Results apply(Program& program) const;
};

/// for i { for j { S } }  ->  for j { for i { S } }
/// The named loops take each other's places in the given order; loops between them stay. Legal when
/// no pair of accesses is carried by two loops whose order changes; reductions may be reordered.
struct Reorder {
  std::vector<LoopRef> loops;
  static constexpr std::string_view name = "reorder";
  static constexpr auto fields = members(&Reorder::loops);
  Results apply(Program& program) const;
};

/// split each loop by its factor, then order all outer parts before all inner parts.
struct Tile {
  std::vector<LoopRef> loops;
  std::vector<Number> factors;
  static constexpr std::string_view name = "tile";
  static constexpr auto fields = members(&Tile::loops, &Tile::factors);
  Results apply(Program& program) const;
};

/// for i { S } -> vectorized for i { S }. Legal when no iteration needs another's result, but for
/// reductions; the extent is a constant of at most 1024.
struct Vectorize {
  LoopRef loop;
  static constexpr std::string_view name = "vectorize";
  static constexpr auto fields = members(&Vectorize::loop);
  Results apply(Program& program) const;
};

/// for i { S } -> unrolled for i { S }. The extent is a constant of at most 4096.
struct Unroll {
  LoopRef loop;
  static constexpr std::string_view name = "unroll";
  static constexpr auto fields = members(&Unroll::loop);
  Results apply(Program& program) const;
};

/// for i { S } -> parallel for i { S }. Legal when no two iterations touch one element, one
/// writing.
struct Parallel {
  LoopRef loop;
  static constexpr std::string_view name = "parallel";
  static constexpr auto fields = members(&Parallel::loop);
  Results apply(Program& program) const;
};

/// for i { S } -> bind(axis) for i { S }: one hardware block or thread for each iteration.
struct Bind {
  LoopRef loop;
  ir::ThreadAxis axis{};
  static constexpr std::string_view name = "bind";
  static constexpr auto fields = members(&Bind::loop, &Bind::axis);
  Results apply(Program& program) const;
};

/// for i { S } -> vthread for i { S }: independent iterations that a target interleaves.
struct VThread {
  LoopRef loop;
  static constexpr std::string_view name = "vthread";
  static constexpr auto fields = members(&VThread::loop);
  Results apply(Program& program) const;
};

/// for i in 0..n { S }  ->  for i_0 in 0..p { S }  for i_1 in p..q { S }  for i_2 in q..n { S }
/// Peels borders and tails, so that what is guarded at the borders is free in the middle.
struct Partition {
  LoopRef loop;
  std::vector<Number> points;
  static constexpr std::string_view name = "partition";
  static constexpr auto fields = members(&Partition::loop, &Partition::points);
  Results apply(Program& program) const;
};

/// for i { S; T }  ->  for i { S }  for i_1 { T }, between the statements `after` and the next.
/// Legal when nothing in S of a later iteration touches what T of an earlier one touches.
struct Fission {
  LoopRef loop;
  Number after;
  static constexpr std::string_view name = "fission";
  static constexpr auto fields = members(&Fission::loop, &Fission::after);
  Results apply(Program& program) const;
};

/// for i in 0..n { S }  for j in 0..n { T }  ->  for i in 0..n { S; T[j := i] }
/// Legal on neighbours of equal range when T of an iteration touches nothing that S of a later one
/// touches. Buffers declared between them are declared before both.
struct Merge {
  LoopRef first, second;
  static constexpr std::string_view name = "merge";
  static constexpr auto fields = members(&Merge::first, &Merge::second);
  Results apply(Program& program) const;
};

/// for y in 0..Y { for x in 0..X { S } }          group 4
///   ->  for y_x in 0..ceil(Y/4)*X*4 { S[y := y_x / (X*4) * 4 + y_x % 4, x := y_x / 4 % X] }
/// Goes through a grid of tiles in bands of `group` rows, down the columns of a band, so that what
/// neighbours in time share stays in cache. Legal when all iterations of the two loops are
/// independent; S runs where y < Y.
struct SwizzleOrder {
  LoopRef y, x;
  Number group;
  static constexpr std::string_view name = "swizzle_order";
  static constexpr auto fields = members(&SwizzleOrder::y, &SwizzleOrder::x, &SwizzleOrder::group);
  Results apply(Program& program) const;
};

/// for i { S }          "n % 16 == 0"
///   ->  if n % 16 == 0 { for i { S } } else { for i { S_else } }
/// A variant for a condition on symbols, lets and loops around; what the condition makes true or
/// false disappears from the predicates of the first copy. Gives both loops, or both blocks.
struct Specialize {
  AnyRef target;  // a block means its own loops
  std::string condition;
  static constexpr std::string_view name = "specialize";
  static constexpr auto fields = members(&Specialize::target, &Specialize::condition);
  Results apply(Program& program) const;
};

/// for i { S }  ->  for i hints (key = value) { S }
/// Leaves a hint on a loop or block that later parts may read; no meaning depends on it.
struct Annotate {
  AnyRef target;
  std::string key;
  HintValue value;
  static constexpr std::string_view name = "annotate";
  static constexpr auto fields = members(&Annotate::target, &Annotate::key, &Annotate::value);
  Results apply(Program& program) const;
};

// Where a block is computed.

/// Moves a producer into a loop of its consumers, computing there just the region they need.
struct ComputeAt {
  BlockRef block;
  LoopRef loop;
  static constexpr std::string_view name = "compute_at";
  static constexpr auto fields = members(&ComputeAt::block, &ComputeAt::loop);
  Results apply(Program& program) const;
};

/// for y { for r in 0..3 { B[y + r] = f(A[y + r]) }  C[y] = g(B[y +: 3]) }
///   ->  for r in 0..n { B[r] = f(A[r]) }  for y { C[y] = g(B[y +: 3]) }
/// Moves a producer out of all loops: the whole of it is computed first. Undoes compute_at.
struct ComputeRoot {
  BlockRef block;
  static constexpr std::string_view name = "compute_root";
  static constexpr auto fields = members(&ComputeRoot::block);
  Results apply(Program& program) const;
};

/// Moves a consumer into a loop of its producer, right after the region it reads is complete.
struct ReverseComputeAt {
  BlockRef block;
  LoopRef loop;
  static constexpr std::string_view name = "reverse_compute_at";
  static constexpr auto fields = members(&ReverseComputeAt::block, &ReverseComputeAt::loop);
  Results apply(Program& program) const;
};

/// Puts the producer's expression in the place of every load of its result.
struct ComputeInline {
  BlockRef block;
  static constexpr std::string_view name = "compute_inline";
  static constexpr auto fields = members(&ComputeInline::block);
  Results apply(Program& program) const;
};

/// Lets the producer store what the consumer would have made of its result.
struct ReverseComputeInline {
  BlockRef block;
  static constexpr std::string_view name = "reverse_compute_inline";
  static constexpr auto fields = members(&ReverseComputeInline::block);
  Results apply(Program& program) const;
};

// Memory.

/// Copies a buffer that `block` reads into a new one of the given scope, and lets it read that.
struct CacheRead {
  BlockRef block;
  std::string buffer;
  ir::Scope scope;
  static constexpr std::string_view name = "cache_read";
  static constexpr auto fields = members(&CacheRead::block, &CacheRead::buffer, &CacheRead::scope);
  Results apply(Program& program) const;
};

/// Lets `block` write a new buffer of the given scope, which a new block copies out.
struct CacheWrite {
  BlockRef block;
  std::string buffer;
  ir::Scope scope;
  static constexpr std::string_view name = "cache_write";
  static constexpr auto fields =
      members(&CacheWrite::block, &CacheWrite::buffer, &CacheWrite::scope);
  Results apply(Program& program) const;
};

/// Moves the buffer that `block` writes to another scope. Parameters stay global.
struct SetScope {
  BlockRef block;
  std::string buffer;
  ir::Scope scope;
  static constexpr std::string_view name = "set_scope";
  static constexpr auto fields = members(&SetScope::block, &SetScope::buffer, &SetScope::scope);
  Results apply(Program& program) const;
};

/// alloc B: f32[n]  for y { B[y] = f(A[y])  C[y] = g(B[y]) }
///   ->  for y { alloc B: f32[n]  B[y] = f(A[y])  C[y] = g(B[y]) }
/// Lets the buffer that `block` writes live for one iteration of the loop. Legal when all that an
/// iteration reads of it is written before in the same iteration.
struct StoreAt {
  BlockRef block;
  LoopRef loop;
  static constexpr std::string_view name = "store_at";
  static constexpr auto fields = members(&StoreAt::block, &StoreAt::loop);
  Results apply(Program& program) const;
};

/// for y { alloc B: f32[n]  for r in 0..3 { B[y + r] = f(A[y + r]) }  C[y] = g(B[y +: 3]) }
///   ->  alloc B: f32[3]
///       for y { for r in 0..3 { if y <= 0 || r >= 2 { B[(y + r) % 3] = f(A[y + r]) } }
///               C[y] = g(B[(y +: 3) % 3]) }
/// Keeps what iterations of `loop` share in a ring: the first iteration computes its whole window,
/// each later one only what is new. Legal when the window has a constant size and moves by a
/// constant number of rows along one dimension, and consumers read inside of it.
struct RollingBuffer {
  BlockRef block;
  LoopRef loop;
  static constexpr std::string_view name = "rolling_buffer";
  static constexpr auto fields = members(&RollingBuffer::block, &RollingBuffer::loop);
  Results apply(Program& program) const;
};

/// alloc A: f32[8, 8]
///   ->  alloc A: f32[8, 8] layout (i, j) -> [address: i, address: j ^ i] extents [8, 8]
/// Places the elements of a buffer by a layout function; indices stay as they are.
struct SetLayout {
  BlockRef block;  // one that touches the buffer
  std::string buffer;
  ir::Layout layout;
  static constexpr std::string_view name = "set_layout";
  static constexpr auto fields = members(&SetLayout::block, &SetLayout::buffer, &SetLayout::layout);
  Results apply(Program& program) const;
};

/// for y { for k { C[y] += A[y*2 + k] } }
///   ->  for y { for k { A_reindex[y, k] = A[y*2 + k] } }
///       for y { for k { C[y] += A_reindex[y, k] } }
/// Lets `block` read or write a buffer at exactly its iterators, through a copy that has one
/// dimension for each iterator that the old index used.
struct Reindex {
  BlockRef block;
  std::string buffer;
  static constexpr std::string_view name = "reindex";
  static constexpr auto fields = members(&Reindex::block, &Reindex::buffer);
  Results apply(Program& program) const;
};

/// for y in 0..5 { for k in 0..7 { C[y] += A[y, k] } }          multiples [4, 8]
///   ->  for y in 0..8 { for k in 0..8 { A_pad[y, k] = guard(y < 5 && k < 7, A[y, k], 0.0) } }
///       for y in 0..8 { for k in 0..8 { C_pad[y] += A_pad[y, k] } }
///       for y in 0..5 { C[y] = C_pad[y] }
/// Makes each iterator's extent a multiple, so that instructions fit. Padding is 0 or the reducer's
/// identity; the step refuses when neither makes the terms that it adds neutral. Gives the blocks
/// that fill the padded inputs, then those that copy the results out.
struct Pad {
  BlockRef block;
  std::vector<Number> multiples;  // one for each iterator
  static constexpr std::string_view name = "pad";
  static constexpr auto fields = members(&Pad::block, &Pad::multiples);
  Results apply(Program& program) const;
};

/// alloc C: f32[n]      for y in 0..n { C[y] = A[y] }                            multiples [4]
///   ->  alloc C: f32[ceil(n/4)*4]
///       for y in 0..ceil(n/4)*4 { C[y] = guard(y < n, A[y], 0.0) }    repeated [0]
///       for y in 0..ceil(n/4)*4 { C[y] = A[min(y, n - 1)] }           repeated [1]
/// Computes elements that nobody reads, so that tiles of spatial iterators are never cut short:
/// what remains of a tail are guarded loads, or loads of the last element again, which cost nothing
/// where the iterator is not the lanes of vectors. Nothing else may fill the result, which must be
/// allocated.
struct RoundUp {
  BlockRef block;
  std::vector<Number> multiples;  // one for each iterator
  /// For each iterator: 1 reads the last element again. Nothing: none does.
  std::optional<std::vector<Number>> repeated;
  static constexpr std::string_view name = "round_up";
  static constexpr auto fields = members(&RoundUp::block, &RoundUp::multiples, &RoundUp::repeated);
  Results apply(Program& program) const;
};

/// Keeps a buffer in another order: every access B[i, j] becomes B[map(i, j)].
struct TransformLayout {
  BlockRef block;  // one that touches the buffer
  std::string buffer;
  IndexMap map;
  static constexpr std::string_view name = "transform_layout";
  static constexpr auto fields =
      members(&TransformLayout::block, &TransformLayout::buffer, &TransformLayout::map);
  Results apply(Program& program) const;
};

// Reductions.

/// Splits `init` off a reduction, into a block of its own before `loop`.
struct DecomposeReduction {
  BlockRef block;
  LoopRef loop;
  static constexpr std::string_view name = "decompose_reduction";
  static constexpr auto fields = members(&DecomposeReduction::block, &DecomposeReduction::loop);
  Results apply(Program& program) const;
};

/// for ko { for ki { C[y] += A[y, ko, ki] } }      at ko
///   ->  for ko { for ki { C_rf[y, ko] += A[y, ko, ki] } }   for ko { C[y] += C_rf[y, ko] }
/// Makes partial results along one reduction loop, which then may run in parallel or as lanes.
struct RFactor {
  BlockRef block;
  LoopRef loop;
  static constexpr std::string_view name = "rfactor";
  static constexpr auto fields = members(&RFactor::block, &RFactor::loop);
  Results apply(Program& program) const;
};

// Overlap.

/// for k { S(A[k]) }  ->  for k { prefetch 1 A[min(k + distance, n - 1)]  S(A[k]) }
/// Asks, at the head of `at`, for the element of `buffer` that its body touches first when `along`
/// (that loop or one around it) is `distance` iterations further on; clamped to the buffer. Legal
/// on parameters: only what the caller made is far away.
struct Prefetch {
  LoopRef at, along;
  std::string buffer;
  Number distance, level;
  static constexpr std::string_view name = "prefetch";
  static constexpr auto fields = members(&Prefetch::at, &Prefetch::along, &Prefetch::buffer,
                                         &Prefetch::distance, &Prefetch::level);
  Results apply(Program& program) const;
};

/// for p { for r in 0..4 { for k { S(B[p, k, …]) } } }
///   ->  for p { for r in 0..4 { for k { prefetch 2 B[(p + 1) % n, k, r * 16]  S(B[p, k, …]) } } }
/// Asks, at the head of `at`, for what its body touches of `buffer` in the next iteration of
/// `along`, a loop around it. Loops between the two that touch the same ask for a part each. Legal
/// on buffers in memory of which an iteration touches a row of known length.
struct PrefetchNext {
  LoopRef at, along;
  std::string buffer;
  Number level;
  static constexpr std::string_view name = "prefetch_next";
  static constexpr auto fields =
      members(&PrefetchNext::at, &PrefetchNext::along, &PrefetchNext::buffer, &PrefetchNext::level);
  Results apply(Program& program) const;
};

/// for k { alloc B: f32[8]  S(B[i]) }  ->  alloc B: f32[2, 8]  for k { S(B[k % 2, i]) }
/// Neighbouring iterations use different halves. Legal on buffers that one iteration allocates.
struct DoubleBuffer {
  LoopRef loop;
  std::string buffer;
  static constexpr std::string_view name = "double_buffer";
  static constexpr auto fields = members(&DoubleBuffer::loop, &DoubleBuffer::buffer);
  Results apply(Program& program) const;
};

/// How a pipeline's producers run: in the loop itself, or as asynchronous operations on a channel.
enum class Overlap : uint8_t { Sync, Async };

/// for k in 0..n { alloc B  B[i] = A[k, i]  S(B) }      3 stages
///   ->  alloc B: f32[3, …]
///       for k in 0..n + 2 { if k < n { B[k % 3, i] = A[k, i] }  if 2 <= k { S(B[(k - 2) % 3]) } }
/// The statements at the head of the body that only fill buffers of the iteration run `stages` - 1
/// iterations ahead of the rest. Lowering cuts the loop into prologue, steady state and epilogue.
/// With `async` they are issued on a channel of as many slots, which the rest waits for:
///   if k < n { acquire ch[k]  async -> ch[k] { … }  commit ch[k] bytes … }
///   if 2 <= k { wait ch[k - 2]  S  release ch[k - 2] }
struct Pipeline {
  LoopRef loop;
  Number stages;
  Overlap overlap{};
  static constexpr std::string_view name = "pipeline";
  static constexpr auto fields = members(&Pipeline::loop, &Pipeline::stages, &Pipeline::overlap);
  Results apply(Program& program) const;
};

/// for k in 0..n { alloc B  B[i] = f(A[k, i])  C[k] = g(B) }      delays [0, 1], order [1, 0]
///   ->  alloc B: f32[2, …]
///       for k in 0..n + 1 { if 1 <= k { C[k - 1] = g(B[(k - 1) % 2]) }
///                           if k < n { B[k % 2, i] = f(A[k, i]) } }
/// Each statement of the body runs `delays` iterations late, in the new `order` of their numbers,
/// so that an iteration works on several old ones, whose loops can be merged. Legal when accesses
/// that meet keep their order: in one iteration always, in different ones where the buffer lives
/// longer than an iteration. Other buffers get a slot for each iteration in flight.
struct Stagger {
  LoopRef loop;
  std::vector<Number> delays, order;
  static constexpr std::string_view name = "stagger";
  static constexpr auto fields = members(&Stagger::loop, &Stagger::delays, &Stagger::order);
  Results apply(Program& program) const;
};

/// for k { alloc B  B[i] = A[k, i]  S(B) }      ["load", "compute"] [1, 1], 2 slots
///   ->  alloc B: f32[2, …]  channel load[2]
///       agents { load: for k { acquire load[k]  B[k % 2, i] = A[k, i]  commit load[k] }
///                compute: for k { wait load[k]  S(B[k % 2])  release load[k] } }
/// Agent number r runs the whole loop over the next `statements`[r] statements of its body. Legal
/// when whatever one agent writes and another one touches lives for one iteration, is written by
/// one agent only and handed on to later ones.
struct Agents {
  LoopRef loop;
  std::vector<std::string> roles;
  std::vector<Number> statements;
  Number slots;
  static constexpr std::string_view name = "agents";
  static constexpr auto fields =
      members(&Agents::loop, &Agents::roles, &Agents::statements, &Agents::slots);
  Results apply(Program& program) const;
};

/// What a loop's iterations run on, each on its own: threads as there happen to be, or an axis.
struct Workers {
  std::optional<ir::ThreadAxis> axis;  // none: `parallel`
};

/// for i in 0..n { S }
///   ->  parallel for i_0 in 0..count { for i_1 in 0..ceil(n/count) {
///         if i_1*count + i_0 < n { S[i := i_1*count + i_0] } } }
/// A fixed number of workers takes the iterations in turn; with an axis their loop is bound to it.
/// Legal when the iterations are independent.
struct Persistent {
  LoopRef loop;
  Number count;
  Workers workers;
  static constexpr std::string_view name = "persistent";
  static constexpr auto fields =
      members(&Persistent::loop, &Persistent::count, &Persistent::workers);
  Results apply(Program& program) const;
};

/// for i { S } -> bind(cluster.x) for i { S }
/// Blocks that run together and see each other's shared memory. The extent is a constant, at most
/// 16 with the other cluster loops around, and every rank has work: no condition inside depends on
/// the loop.
struct Cluster {
  LoopRef loop;
  ir::ThreadAxis axis{};
  static constexpr std::string_view name = "cluster";
  static constexpr auto fields = members(&Cluster::loop, &Cluster::axis);
  Results apply(Program& program) const;
};

/// for k { m[i] max= x[i, k] }   for k { s[i] sum= exp(x[i, k] - m[i]) }
///   ->  for k { was[i] = m[i]  m[i] max= x[i, k]
///               s[i] = rescale(s[i] | was[i], m[i])  s[i] sum= exp(x[i, k] - m[i]) }
/// The reductions that follow `loop`, the first one's, use its running result, and their partial
/// results move along with it by the rescale law of their reducers. Equal over the reals. Legal on
/// neighbouring loops of equal range over one block each, when each later term depends on the
/// first result by the law alone: g * e(x, m), where the law is p * e(from, to) and x the first
/// term.
struct FuseReductions {
  LoopRef loop;
  std::vector<BlockRef> blocks;
  static constexpr std::string_view name = "fuse_reductions";
  static constexpr auto fields = members(&FuseReductions::loop, &FuseReductions::blocks);
  Results apply(Program& program) const;
};

// Hardware instructions.

/// for i in 0..4 { for j in 0..8 { block C(v = io*4 + i, w = jo*8 + j) … } }      at i
///   ->  block C_outer(v = io, w = jo) { for i { for j { block C(v*4 + i, w*8 + j) … } } }
/// Makes the nest from a loop down one block, whose instances are whole tiles of the inner one.
struct Blockize {
  LoopRef loop;
  static constexpr std::string_view name = "blockize";
  static constexpr auto fields = members(&Blockize::loop);
  Results apply(Program& program) const;
};

/// block C_outer(…) { for i { for j { C[…] += A[…] * B[…] } } }
///   ->  block C_outer(…) { call outer_product.update(C[…], A[…], B[…]) }
/// Puts a call of the instruction in the place of a nest that computes just what it means: the same
/// expression, loops and regions. A loop is blockized first; an init becomes a call of `reset`.
struct Tensorize {
  AnyRef nest;
  std::string instruction;
  static constexpr std::string_view name = "tensorize";
  static constexpr auto fields = members(&Tensorize::nest, &Tensorize::instruction);
  Results apply(Program& program) const;
};

using AllSteps =
    std::tuple<GetBlock, GetLoops, Split, Fuse, Reorder, Tile, Vectorize, Unroll, Parallel, Bind,
               VThread, Partition, Fission, Merge, SwizzleOrder, Specialize, Annotate, ComputeAt,
               ComputeRoot, ReverseComputeAt, ComputeInline, ReverseComputeInline, CacheRead,
               CacheWrite, SetScope, StoreAt, RollingBuffer, SetLayout, Reindex, Pad, RoundUp,
               TransformLayout, DecomposeReduction, RFactor, Prefetch, PrefetchNext, DoubleBuffer,
               Pipeline, Stagger, Agents, Persistent, Cluster, FuseReductions, Blockize, Tensorize>;

}  // namespace tilewright::schedule
