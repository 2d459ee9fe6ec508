// SPDX-License-Identifier: Apache-2.0
// The catalogue of schedule steps. A step is a small value: its fields give its text, its log and
// its replay; `apply` is a checked rewrite of the program in steps/<name>.cpp. A step may change
// speed, never results: it proves its own legality or throws an Error that names the loop and the
// reason.
#pragma once

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
/// touches.
struct Merge {
  LoopRef first, second;
  static constexpr std::string_view name = "merge";
  static constexpr auto fields = members(&Merge::first, &Merge::second);
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
  NestRef nest;
  std::string instruction;
  static constexpr std::string_view name = "tensorize";
  static constexpr auto fields = members(&Tensorize::nest, &Tensorize::instruction);
  Results apply(Program& program) const;
};

using AllSteps =
    std::tuple<GetBlock, GetLoops, Split, Fuse, Reorder, Tile, Vectorize, Unroll, Parallel, Bind,
               VThread, Partition, Fission, Merge, ComputeAt, ReverseComputeAt, ComputeInline,
               ReverseComputeInline, CacheRead, CacheWrite, SetScope, TransformLayout,
               DecomposeReduction, RFactor, Blockize, Tensorize>;

}  // namespace tilewright::schedule
