// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ir/target_spec.h"
#include "tune/choose/choices.h"
#include "tune/choose/stage.h"
#include "tune/space/knobs.h"

namespace tilewright::tune {

/// A reduction whose results run in tiles: what its knobs are about.
struct Tiled {
  /// An input that is indexed by plain iterators, so that it can lie in the order of the tiles.
  struct Operand {
    std::string buffer;
    std::vector<size_t> iters;  // by dimension
    bool constant = false;
  };
  /// Lanes along an iterator that is not contiguous in the results: tiles are transposed.
  struct Turned {
    size_t lane = 0;
    int64_t lanes = 1;
  };

  ir::LoopFunc func;  // that `stage` and `after` are of
  Stage stage;
  size_t lane = 0;  // contiguous in the results
  int64_t lanes = 1;
  std::vector<size_t> spatial, reduced;
  /// By spatial iterator: does what is read as vectors change along it, and what is read as numbers
  /// not? A tile has rows along the others. W[k, n], A[m, k]: n; W[n0, n1, k], A[y, x, k]: n0, n1.
  std::vector<bool> column;
  std::optional<Stage> after;  // the stage that follows, element by element
  std::vector<Operand> operands;
  std::vector<std::string> producers;  // stages that only this one reads
  std::optional<Turned> turned;
  /// Where an instruction of the target computes such products: what is open about its use.
  std::vector<Choices::Question> of_instruction;
  double work = 0;
};

/// Nothing when the stage is no reduction with contiguous results.
std::optional<Tiled> as_tiled(const ir::LoopFunc& func, const Stage& stage,
                              const ir::TargetSpec& spec,
                              const std::vector<std::string>& constants);

/// Values of the knobs of such a stage.
struct TiledValues {
  enum class Form : uint8_t { Straight, Turned, Instruction };
  Form form = Form::Straight;
  std::vector<Value> tiles;        // by spatial iterator: blocks of caches, size in registers
  Value order;                     // of spatial iterators, outermost first
  int64_t band = 1;                // blocks along the outermost loop that run in the others of them
  size_t inner = 0;                // the iterator whose loop is the innermost around a tile
  Value terms;                     // order of the reduced ones
  int64_t unroll = 1;              // terms that are written out
  bool columns_first = false;      // in a tile: all rows of a vector, instead of vectors of a row
  bool in_registers = false;       // the stage after works on registers
  std::vector<size_t> operands;    // 0: as they lie, 1: copied, 2: copied for each block
  std::vector<int64_t> producers;  // 0: before all loops, n: inside of the n-th
  int64_t threads = 0;             // outer loops that run in parallel
  Value turned_tile = {1, 1};      // rows, vectors
  std::vector<std::string> of_instruction;  // answers
};

/// Declares the knobs of the stage and what must hold between them.
TiledValues declare_tiled(Knobs& k, const Tiled& tiled, const ir::TargetSpec& spec);

/// The steps for these values.
///   for y, x, k { C sum= … }  for y, x { D = f(C) }
///   ->  parallel for y0 { for x0 { for y1 { for x1 {
///         init  for k0 { unrolled k1, y2, x2 { vectorized x3 { C sum= … } } }  D = f(C) } } } }
/// and in bands:  for y0 { for x0 { …  ->  for y00 { for x0 { for y01 in band { …
void schedule_tiled(schedule::Schedule& s, const Tiled& tiled, const TiledValues& values,
                    const ir::TargetSpec& spec, const std::vector<std::string>& constants);

}  // namespace tilewright::tune
