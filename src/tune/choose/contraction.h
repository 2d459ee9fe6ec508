// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ir/target_spec.h"
#include "schedule/schedule.h"
#include "tune/choose/choices.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {

/// A sum of products of two values, by which iterators (their numbers in the block) each depends
/// on: matrix products, convolutions, in any layout.
struct Contraction {
  ir::Expr a, b;
  std::vector<size_t> of_a, of_b;  // spatial ones of one factor alone
  std::vector<size_t> shared;      // spatial ones of both, or of none
  std::vector<size_t> reduced;
};

/// The sum of products of a block that reduces, wherever it stands.
std::optional<Contraction> as_contraction(const ir::Block& block);

/// The stage as a contraction with results along both factors; nothing when it is none.
std::optional<Contraction> as_contraction(const Stage& stage);

/// Register tiles with the stage that follows inside, operands in panels. False, and nothing done,
/// when the stage is not a contraction that this works for.
bool schedule_contraction(schedule::Schedule& s, const std::string& name,
                          const ir::TargetSpec& spec, const std::vector<std::string>& constants,
                          Choices& choices);

/// The only stage that reads the result of `producer`, when it does so element by element at its
/// own iterators, the last of which is the last; the others may be in another order.
std::optional<Stage> epilogue_of(const ir::LoopFunc& func, const Stage& producer);

/// Does the stage read the buffer at its own iterators, in their order?
bool reads_in_order(const Stage& stage, const ir::Buffer& buffer);

/// The loop as vectors, unrolled; the last one may be cut short.
void as_vectors(schedule::Schedule& s, const schedule::LoopRef& loop, int64_t lanes);

/// Lets the accumulators of a stage, in `buffer`, be whole vectors along iterator `lane` where the
/// results are not, so that each is one register.
void keep_whole_vectors(schedule::Schedule& s, const Stage& stage, const schedule::BlockRef& block,
                        const std::string& buffer, size_t lane, int64_t lanes);

}  // namespace tilewright::tune
