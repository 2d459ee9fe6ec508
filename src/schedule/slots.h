// SPDX-License-Identifier: Apache-2.0
// Buffers that a loop's body allocates, taken out of the loop: iterations use places of their own
// in turn, so that one can be filled while another is read.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedule/program.h"

namespace tilewright::schedule {

/// A loop's body as its statements, and the buffers that live for one iteration.
struct OpenBody {
  std::vector<ir::Buffer> buffers;
  std::vector<ir::Stmt> stmts;
};
OpenBody open_body(const ir::Stmt& body);
/// The allocations of `buffers` around a statement.
ir::Stmt allocated(const std::vector<ir::Buffer>& buffers, ir::Stmt body);

/// Throws unless the statements of the loop's body may run apart from each other: the loop is
/// serial and not part of a block, its range is known before it runs, nothing inside synchronises,
/// and no allocation depends on the loop.
void require_divisible(const Program& program, const ir::For& loop, std::string_view step);

/// Which buffers a statement writes, and which it reads or writes.
struct Touches {
  std::vector<ir::Buffer> written, all;
  explicit Touches(const std::vector<ir::Stmt>& stmts);
  bool writes(const ir::Buffer& b) const;
  bool touches(const ir::Buffer& b) const;
};

/// The block with an iterator that counts the iterations of `loop`, and that iterator. It is
/// ordered, so that what the block touches may depend on which iteration runs.
std::pair<ir::Stmt, ir::Var> in_turn(const ir::Block& block, const ir::For& loop);

/// alloc B: f32[64] in every iteration, which touches 8 elements from k*8 on
///   ->  alloc B: f32[slots, 8] outside, where iteration k uses B[k % slots, i % 8] for B[i]
/// A window of 8 elements has 8 different remainders, wherever it starts.
class Slots {
 public:
  /// `buffer` is one of open_body's. Throws where its shape depends on the loop.
  Slots(const Program& program, const ir::For& loop, const ir::Buffer& buffer, int64_t count,
        std::string_view step);

  const ir::Buffer& buffer() const { return now_; }
  /// The statement of the loop's body with every mention of the old buffer changed.
  ir::Stmt apply(const ir::Stmt& s) const;
  /// The bytes that one iteration fills at most.
  ir::Expr bytes() const { return bytes_; }

 private:
  std::vector<ir::Expr> indices(const ir::Expr& slot, const std::vector<ir::Expr>& old) const;
  void change(std::vector<ir::Region>& regions, const ir::Expr& slot) const;
  bool fits_instructions(const Program& program, size_t dim, int64_t window) const;

  const ir::For& loop_;
  ir::Buffer old_, now_;
  std::vector<ir::Expr> windows_;  // by dimension; null: all of it is kept
  ir::Expr bytes_;
  int64_t count_;
};

}  // namespace tilewright::schedule
