// SPDX-License-Identifier: Apache-2.0
// Instances of buffers while a function runs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "ir/buffer.h"
#include "ir/interpret/clock.h"
#include "ir/interpret/code.h"
#include "ir/stmt.h"

namespace tilewright::ir::run {

struct Team;

/// An access that later ones are compared with.
struct Seen {
  Epoch epoch;
  int32_t pc = 0;
};

/// What is known of the accesses to one element: the last write, and the reads since then that are
/// not ordered among each other.
struct ShadowCell {
  Seen write, read;
  int32_t readers = -1;  // more than one: a list of Shadow::readers
};

/// The atomic accesses to one element since the last plain write, and what their releases
/// published.
struct AtomicCell {
  std::vector<Seen> seen;
  Clock released;
};

struct Shadow {
  explicit Shadow(int64_t size) : cells(static_cast<size_t>(size)) {}
  std::vector<ShadowCell> cells;
  std::vector<std::vector<Seen>> readers;
  std::vector<int32_t> free_readers;
  std::unordered_map<int64_t, AtomicCell> atomics;
  std::unordered_map<int64_t, std::pair<Seen, int64_t>> bytes;  // packed types: last write, element
};

/// A layout function at one shape, for every element and replica.
struct LayoutTable {
  int64_t replicas = 1;
  std::vector<int64_t> lane;     // empty without a lane dimension
  std::vector<int64_t> address;  // packed types only
};

/// Which instances of a block's reduction have run since their `init`. Points are given with the
/// reduction iterators last.
class RunSet {
 public:
  RunSet(int32_t block, std::vector<int64_t> extents, size_t reductions);
  bool is_for(int32_t block, const std::vector<int64_t>& extents) const {
    return block_ == block && extents_ == extents;
  }
  /// False when the point was there already. The point lies inside the extents.
  bool insert(const std::vector<int64_t>& point);
  /// The point's reduction is the `start`-th into its elements: the points that differ from this
  /// one in the reduction iterators only, and ran in an earlier one, are forgotten.
  void of_start(const std::vector<int64_t>& point, uint32_t start);

 private:
  int64_t index(const std::vector<int64_t>& point) const;
  void forget(const std::vector<int64_t>& point);
  struct Free {
    void operator()(void* p) const;
  };
  int32_t block_;
  std::vector<int64_t> extents_;
  size_t reductions_;
  int64_t reduced_ = 1;  // points of the reduction iterators
  // One bit per point and one start per reduction, or sets when there are too many.
  std::unique_ptr<uint64_t[], Free> bits_;
  std::unique_ptr<uint32_t[], Free> starts_;
  std::set<std::vector<int64_t>> points_;
  std::map<std::vector<int64_t>, uint32_t> starts_of_many_;
};
using RunSets = std::vector<RunSet>;

struct Instance {
  const BufferNode* buffer = nullptr;
  std::vector<int64_t> shape, strides;
  int64_t size = 0;
  uint64_t* cells = nullptr;
  uint8_t* written = nullptr;  // null: every element has a value
  std::vector<uint64_t> own_cells;
  std::vector<uint8_t> own_written;
  std::unique_ptr<Shadow> shadow;
  const LayoutTable* layout = nullptr;
  RunSets runs;
  std::vector<uint32_t> starts;  // of each element: how often a reduction into it began
  // Where others find it: team, which execution of the allocation, which warp.
  const AllocInfo* alloc = nullptr;
  Team* team = nullptr;
  uint32_t execution = 0;
  int64_t part = 0;
  int64_t left = 0;      // threads that have left its scope
  int32_t borrowed = 0;  // asynchronous operations that have not run yet
  bool ended = false;
  bool begun = false;  // not so when another block came first
  Epoch beginning;
  struct User {
    Seen seen;
    int64_t element;  // -1: any
  };
  std::vector<User> users;  // asynchronous operations and other blocks: the last use of each
  Clock leavers;            // what the threads that left have seen

  /// Fills in strides and size; the product is known to fit.
  void set_shape(std::vector<int64_t> extents);
};

using Values = std::vector<std::pair<const VarNode*, int64_t>>;
/// The value of an expression of constants and the given variables by binary operators; nothing for
/// another one.
std::optional<int64_t> evaluate(const Expr& e, const Values& values);

/// The physical places of every element; throws when two coincide or one lies outside.
LayoutTable tabulate(const BufferNode& buffer, const std::vector<int64_t>& shape,
                     const Values& free_vars);

/// `A[1, 2]`
std::string element_name(const Instance& m, int64_t element);

}  // namespace tilewright::ir::run
