// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/func.h"
#include "support/function_ref.h"
#include "tune/choose/sizes.h"

namespace tilewright::tune {

/// What a block does, as far as schedules care.
enum class StageKind : uint8_t {
  Map,     // each element by itself
  Reduce,  // an update over reduction iterators
  Other,   // scans, opaque blocks, blocks that earlier steps have cut
};

/// A block with the loops around it. Pointers live as long as the function that was looked at.
struct Stage {
  const ir::Block* block = nullptr;
  std::vector<const ir::For*> loops;
  StageKind kind = StageKind::Other;

  const std::string& name() const { return block->name; }
  /// The values that one instance stores or combines.
  std::vector<ir::Expr> values() const;
  /// Every load of these values, those inside of indices included.
  std::vector<const ir::Load*> loads() const;
  const ir::Buffer& result() const { return block->writes[0].buffer; }
  bool reads(const ir::Buffer& buffer) const;
  bool writes(const ir::Buffer& buffer) const;
  /// Instances, and the operations of all of them.
  double points(const Sizes& sizes) const;
  double work(const Sizes& sizes) const;
  /// Instances for each result.
  double terms(const Sizes& sizes) const;
};

/// The blocks of a function in program order. Each is plain: as to_blocks makes it, every iterator
/// bound to a serial loop of its own; otherwise it is `Other`.
std::vector<Stage> stages_of(const ir::LoopFunc& func);
/// The stage of that name, if it is there.
std::optional<Stage> find_stage(const ir::LoopFunc& func, const std::string& name);

/// An access of a block's body.
struct Use {
  ir::Buffer buffer;
  std::vector<ir::Expr> indices;
};
std::vector<Use> uses_of(const ir::Block& block);

/// The body with other buffers and other plain stages; scans and opaque blocks stay as they are.
ir::Stmt with_stages(const ir::LoopFunc& func, FunctionRef<ir::Buffer(const ir::Buffer&)> buffer,
                     FunctionRef<ir::Stmt(const Stage&)> stage);

/// The constants, and what the function computes from nothing else.
std::vector<std::string> with_derived(const ir::LoopFunc& func, std::vector<std::string> constants);

/// Does the function consist of blocks in loops and allocations only?
bool only_blocks(const ir::LoopFunc& func);

}  // namespace tilewright::tune
