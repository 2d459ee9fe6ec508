// SPDX-License-Identifier: Apache-2.0
// Inside of the verifier: one group of rules per verify_<group>.cpp, and what they share.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/evaluate.h"
#include "ir/func.h"
#include "support/function_ref.h"

namespace tilewright::ir::detail {

// Each throws Error at the first finding. The forms of an instruction are verified as functions of
// its operands.
void verify_stage(const LoopFunc& func);                     // what may occur at the stage
void verify_scopes(const LoopFunc& func);                    // variables, buffers, channels
void verify_placement(const LoopFunc& func);                 // what may stand inside what
void verify_memory(const LoopFunc& func, bool instruction);  // parameters, shapes, scopes, sizes
void verify_blocks(const LoopFunc& func);
void verify_sync(const LoopFunc& func);   // synchronisation does not depend on data
void verify_calls(const LoopFunc& func);  // operands of instruction calls
/// One buffer's layout function; does nothing without one.
void verify_layout(const BufferNode& buffer, const std::vector<Symbol>& symbols);

/// All groups of rules.
void verify_function(const LoopFunc& func, bool instruction);

[[noreturn]] void fail(std::string_view code, const Span& at, std::string message,
                       std::vector<std::string> notes, std::string help);

/// `first` when it is a place in a text, else `second`: nodes that passes made have no place.
const Span& place(const Span& first, const Span& second);
/// Where the expression stands; a variable knows only where it is bound.
const Span& place(const Expr& e, const Span& around);

/// A set of kinds of statements; loops count by their ForKind.
class Parts {
 public:
  constexpr Parts(std::initializer_list<StmtKind> stmts,
                  std::initializer_list<ForKind> loops = {}) {
    for (const StmtKind k : stmts) stmts_ |= 1u << static_cast<int>(k);
    for (const ForKind k : loops) loops_ |= 1u << static_cast<int>(k);
  }
  constexpr Parts without(const Parts& other) const {
    Parts p = *this;
    p.stmts_ &= ~other.stmts_;
    p.loops_ &= ~other.loops_;
    return p;
  }
  bool contains(const Stmt& s) const {
    if (const For* loop = s.as<For>()) return loops_ >> static_cast<int>(loop->loop) & 1;
    return stmts_ >> static_cast<int>(s->kind) & 1;
  }

 private:
  uint32_t stmts_ = 0, loops_ = 0;
};

inline constexpr Parts kAllParts = {
#define X(name) StmtKind::name,
    {TW_STMT_KINDS(X)},
#undef X
    {ForKind::Serial, ForKind::Parallel, ForKind::Vectorized, ForKind::Unrolled, ForKind::Bound,
     ForKind::VThread}};

/// "an `update`", "the `vthread` loop `v`", "the block `C`": the statement in a message.
std::string describe(const Stmt& s);

/// One statement around a place; in `agents` which agent, in a block whether it is the init.
struct Around {
  Stmt stmt;
  const Agent* agent = nullptr;
  bool init = false;
};
using Path = std::vector<Around>;  // outermost first

/// Calls f with every statement and what stands around it, outside in.
void walk_paths(const Stmt& body, FunctionRef<void(const Stmt&, const Path&)> f);

/// One mention of a buffer by a statement's own expressions and fields, nested statements apart.
/// The declared regions of a block are not uses.
struct Use {
  const BufferNode* buffer;
  bool reads, writes;
  Expr rank;  // may be null
  Span at;
};
void for_each_use(const Stmt& s, FunctionRef<void(const Use&)> f);

/// The next point of a box in row-major order; false behind the last one, and at the first again.
inline constexpr int64_t kMaxPoints = 1 << 18;  // more are not enumerated
bool next_point(std::vector<int64_t>& point, const std::vector<int64_t>& extents);

bool is_thread(ThreadAxis axis);
bool is_cluster(ThreadAxis axis);
bool is_block(ThreadAxis axis);

/// Does the layout spread the buffer over threads?
bool has_lanes(const BufferNode& buffer);
/// "`buf`".
std::string quoted(std::string_view name);

}  // namespace tilewright::ir::detail
