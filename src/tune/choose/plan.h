// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tune/choose/choices.h"
#include "tune/choose/contraction.h"
#include "tune/choose/dots.h"
#include "tune/choose/model.h"

namespace tilewright::tune {

/// How a contraction runs: which iterators (by number) are the lanes and the rows of its tiles.
struct Plan {
  size_t lane = 0, row = 0;
  /// When the lanes are a whole vector already: the iterator that gives the tile its vectors.
  std::optional<size_t> wide = {};
  Tile tile;
  int64_t lanes = 1;
  std::vector<size_t> shared;   // iterators of both factors: around all others
  std::vector<size_t> reduced;  // reduction iterators, outermost first
  int64_t unroll = 1;           // of the innermost of them
  bool lanes_first = false;     // tiles along the lanes change slowest
  int64_t block = 1;            // so many of them change fastest but for the rows: what they read
                                // stays near while the loops between them run
  bool by_reuse = false;        // loops stay in this order, although threads may get less of them
  std::optional<Dot> dot = {};  // adds groups of the innermost of them; tiles are then whole
  bool one_row = false;         // tiles have one row: more could not be made whole
  bool in_tiles = false;        // it takes the factor with the lanes from tile registers
  std::string panels = {};      // of constants, packed: the buffer; empty where there are none
  bool turned = false;          // lanes are not neighbours in the result: tiles are transposed
  double cycles = 0;

  int64_t width() const { return tile.vectors * lanes; }
};

/// The cycles of the best plan by the model; nothing when none is possible.
std::optional<double> plan_cycles(const Stage& stage, const Contraction& c, const Sizes& sizes,
                                  const ir::TargetSpec& spec,
                                  const std::vector<std::string>& constants);
/// The plan with the fewest cycles by the model where `choices` does not say otherwise, with tiles
/// of as many vectors as it lists for the stage; nothing when none is possible. Without `dots` it
/// uses no instruction.
std::optional<Plan> choose_plan(const Stage& stage, const Contraction& c, const Sizes& sizes,
                                const ir::TargetSpec& spec,
                                const std::vector<std::string>& constants, bool dots,
                                Choices& choices);

/// The sizes that tiles are chosen for; without rows there is one.
std::vector<ResultSize> extents_of(const ir::Expr* rows, const ir::Expr& columns,
                                   const Sizes& sizes);

/// Lets the block compute whole tiles, given as iterators and sizes, where the run alone tells how
/// far an iterator goes, and along one that is named although its extent is known. Beyond the end
/// the last element is read again, but for `lane`: lanes of vectors have masks. Its result is
/// allocated, and nothing is tiled yet.
void round_up_tiles(schedule::Schedule& s, const Stage& stage, const schedule::BlockRef& block,
                    const std::vector<std::pair<size_t, int64_t>>& tiles, size_t lane,
                    std::optional<size_t> known = {});

/// Makes whole tiles, given as iterators and sizes, of a contraction's results, for instructions
/// compute no less. Copies of operands with a margin are stages; those of constants are added to
/// `known`, where constants are listed.
void pad_tiles(schedule::Schedule& s, const std::string& name,
               const std::vector<std::pair<size_t, int64_t>>& tiles, const ir::TargetSpec& spec,
               std::vector<std::string>& known);

/// A loop over tiles, or over what is not tiled.
struct TileLoop {
  schedule::LoopRef loop;
  int64_t count;
  bool exact;  // no tile is cut short
};
/// The loop over pieces of `size` of an iterator.
TileLoop tiles_of(const schedule::LoopRef& loop, const ir::BlockIter& iter, int64_t size,
                  const Sizes& sizes);

/// Puts the loops in an order in which the first few, whose number it gives, occupy all threads as
/// one loop. A loop with a tile that is cut short cannot be fused: its tail could not be told apart
/// any more. `by_reuse`: the order stays. The loops before `first` stay the outermost.
size_t order_for_threads(std::vector<TileLoop>& loops, const ir::TargetSpec& spec,
                         bool by_reuse = false, size_t first = 0);
/// Fuses the first loops and runs them in parallel, when there is work enough. Gives how many loops
/// fewer there are.
size_t run_in_threads(schedule::Schedule& s, const std::vector<TileLoop>& loops, size_t count,
                      double work);

/// Pieces of `extent` elements, each a number of vectors of some lanes: whole ones first, then the
/// powers of two that are left, so that none needs a mask. 60 with 16 lanes: 48 by 16, 8 by 8, 4 by
/// 4.
struct Piece {
  int64_t begin, lanes;
};
std::vector<Piece> pieces_of(int64_t extent, int64_t lanes);

/// The tile's results go straight from registers into the result, or into the stage `after`.
void schedule_straight(schedule::Schedule& s, const Stage& stage, const Plan& plan,
                       const std::optional<Stage>& after, const ir::TargetSpec& spec,
                       Choices& choices);
/// The tiles of some rows are kept lane by lane, then transposed into the result or into `after`.
void schedule_turned(schedule::Schedule& s, const Stage& stage, const Plan& plan,
                     const std::optional<Stage>& after, const ir::TargetSpec& spec,
                     Choices& choices);

/// Which dimension of a reduction's result an iterator is; their number when it is none alone.
size_t dim_of(const Stage& stage, size_t iter);
/// Row tiles that are turned around together: what they hold stays in the first cache.
int64_t tiles_together(int64_t rows, const Plan& plan, const ir::TargetSpec& spec);
/// Lets the stage `out`, behind `outside` loops, read columns of tiles that are kept, a vector of
/// rows for each lane, so that a block of them is a transposition in registers.
void turn(schedule::Schedule& s, const std::string& out, size_t outside, size_t lane_dim,
          size_t row_dim, int64_t lanes);

}  // namespace tilewright::tune
