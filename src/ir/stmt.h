// SPDX-License-Identifier: Apache-2.0
// Every statement of the loop IR. ir/README.md §4–§7 states the meaning of each.
#pragma once

#include <string>
#include <vector>

#include "ir/buffer.h"
#include "ir/expr.h"
#include "ir/reducer.h"

namespace tilewright::ir {

// clang-format off
#define TW_STMT_KINDS(X)                                                                          \
  X(Store) X(Update) X(Seq) X(Let) X(Alloc) X(For) X(While) X(If) X(Block) X(InstrCall)           \
  X(Agents) X(ChannelScope) X(ChannelOp) X(Async) X(Barrier) X(Atomic) X(Prefetch)
// clang-format on

enum class StmtKind : uint8_t {
#define X(name) name,
  TW_STMT_KINDS(X)
#undef X
};

struct StmtNode : std::enable_shared_from_this<StmtNode> {
  StmtKind kind;
  Span span;

 protected:
  explicit StmtNode(StmtKind k) : kind(k) {}
};

class Stmt : public Handle<StmtNode> {
 public:
  using Handle::Handle;
  static Stmt of(const StmtNode& node) { return Stmt(node.shared_from_this()); }

  /// The node as a T, or nullptr.
  template <class T>
  const T* as() const {
    return get() != nullptr && get()->kind == T::kKind ? static_cast<const T*>(get()) : nullptr;
  }
};

template <StmtKind K>
struct StmtOf : StmtNode {
  static constexpr StmtKind kKind = K;
  StmtOf() : StmtNode(K) {}
};

/// buffer[indices] = value. Lanes whose `mask` is false write nothing.
struct Store : StmtOf<StmtKind::Store> {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
  Expr mask;  // may be null
  Expr rank;  // may be null
  static constexpr auto fields =
      members(&Store::buffer, &Store::indices, &Store::value, &Store::mask, &Store::rank);
  void check() const;
};

/// One element that an Update reads and writes.
struct Target {
  Buffer buffer;
  std::vector<Expr> indices;
  static constexpr auto fields = members(&Target::buffer, &Target::indices);
};

/// targets = reducer(targets, values), as one step: all reads happen before all writes.
struct Update : StmtOf<StmtKind::Update> {
  Reducer reducer;
  std::vector<Target> targets;
  std::vector<Expr> values;
  static constexpr auto fields = members(&Update::reducer, &Update::targets, &Update::values);
  void check() const;
};

/// Statements in order. Never empty inside another Seq, never nested: `seq()` flattens.
struct Seq : StmtOf<StmtKind::Seq> {
  std::vector<Stmt> stmts;
  static constexpr auto fields = members(&Seq::stmts);
  void check() const;
};

/// An immutable value, visible in `body`.
struct Let : StmtOf<StmtKind::Let> {
  Var var;
  Expr value;
  Stmt body;
  static constexpr auto fields = members(&Let::var, &Let::value, &Let::body);
  void check() const;
};

/// A buffer that lives while `body` runs; its elements start uninitialised.
struct Alloc : StmtOf<StmtKind::Alloc> {
  Buffer buffer;
  Stmt body;
  static constexpr auto fields = members(&Alloc::buffer, &Alloc::body);
  void check() const;
};

enum class ForKind : uint8_t { Serial, Parallel, Vectorized, Unrolled, Bound, VThread };
/// The hardware index that a Bound loop runs on.
enum class ThreadAxis : uint8_t {
  BlockX,
  BlockY,
  BlockZ,
  ClusterX,
  ClusterY,
  ClusterZ,
  ThreadX,
  ThreadY,
  ThreadZ,
};
std::string_view name(ForKind kind);
std::string_view name(ThreadAxis axis);

/// A hint that later parts may read and no meaning depends on: `depth = 2`, `role = "load"`.
struct Hint {
  std::string key;
  int64_t number = 0;
  std::string text;  // empty: the value is the number
  static constexpr auto fields = members(&Hint::key, &Hint::number, &Hint::text);
};

/// body for var = min … min + extent − 1; no iteration when extent <= 0.
struct For : StmtOf<StmtKind::For> {
  Var var;
  Expr min, extent;
  Stmt body;
  ForKind loop = ForKind::Serial;
  ThreadAxis axis = ThreadAxis::BlockX;  // Bound only
  std::vector<Hint> hints;
  static constexpr auto fields =
      members(&For::var, &For::min, &For::extent, &For::body, &For::loop, &For::axis, &For::hints);
  void check() const;
};

struct While : StmtOf<StmtKind::While> {
  Expr cond;
  Stmt body;
  static constexpr auto fields = members(&While::cond, &While::body);
  void check() const;
};

struct If : StmtOf<StmtKind::If> {
  Expr cond;
  Stmt yes;
  Stmt no;  // may be null
  static constexpr auto fields = members(&If::cond, &If::yes, &If::no);
  void check() const;
};

enum class IterKind : uint8_t { Spatial, Reduction, Ordered };
std::string_view name(IterKind kind);

/// A block iterator: 0 <= var < extent, bound to `binding` by the loops around the block.
struct BlockIter {
  Var var;
  IterKind kind = IterKind::Spatial;
  Expr extent;
  Expr binding;
  static constexpr auto fields =
      members(&BlockIter::var, &BlockIter::kind, &BlockIter::extent, &BlockIter::binding);
};

/// A unit of computation. Instances are the points of its iterators' domain; instances that differ
/// in spatial iterators are independent, those that differ in reduction iterators may run in any
/// order, those that differ in ordered iterators run in that order. An instance runs when
/// `predicate` holds. `init` runs before the body of the instance whose reduction iterators are all
/// 0. Reads and writes cover every access of the body, as regions of the iterators.
struct Block : StmtOf<StmtKind::Block> {
  std::string name;
  std::vector<BlockIter> iters;
  Expr predicate;  // may be null: always
  std::vector<Region> reads, writes;
  Stmt init;  // may be null
  Stmt body;
  bool opaque = false;  // steps see its regions only, never its body
  std::vector<Hint> hints;
  static constexpr auto fields =
      members(&Block::name, &Block::iters, &Block::predicate, &Block::reads, &Block::writes,
              &Block::init, &Block::body, &Block::opaque, &Block::hints);
  void check() const;
};

struct InstructionNode;
using Instruction = Handle<InstructionNode>;
enum class InstrForm : uint8_t { Compute, Reset, Update };
std::string_view name(InstrForm form);

/// One hardware instruction on regions: means the instruction's declared body with its operands
/// replaced by these regions. At stage `final` buffers are flat: an operand's element at the
/// physical place (p, q) is that at `min + p*strides[0] + q*strides[1]`, `min` being the region's.
struct InstrCall : StmtOf<StmtKind::InstrCall> {
  Instruction instr;
  InstrForm form = InstrForm::Compute;
  std::vector<Region> operands;
  std::vector<std::vector<Expr>> strides;  // per operand; empty before stage `final`
  static constexpr auto fields =
      members(&InstrCall::instr, &InstrCall::form, &InstrCall::operands, &InstrCall::strides);
  void check() const;
};

/// One entry of `agents`: `count` agents that differ in `index`, each of `threads` threads.
struct Agent {
  std::string name;
  Var index;  // null when count is 1 and the body does not name it
  int64_t count = 1;
  Var thread;  // the agent's own thread variable, 0 … threads − 1
  int64_t threads = 1;
  int64_t registers = 0;  // budget per thread; 0: none stated
  Stmt body;
  static constexpr auto fields = members(&Agent::name, &Agent::index, &Agent::count, &Agent::thread,
                                         &Agent::threads, &Agent::registers, &Agent::body);
};

/// Runs all agents concurrently and ends when all have ended.
struct Agents : StmtOf<StmtKind::Agents> {
  std::vector<Agent> agents;
  static constexpr auto fields = members(&Agents::agents);
  void check() const;
};

enum class ChannelReach : uint8_t { Agent, Block, Cluster };
std::string_view name(ChannelReach reach);

/// A ring of `slots`; item k is full after `commits` commits, free again after `releases` releases.
struct ChannelNode {
  std::string name;
  int64_t slots = 1;
  int64_t commits = 1;
  int64_t releases = 1;
  ChannelReach reach = ChannelReach::Block;
  Span span;
};
using Channel = Handle<ChannelNode>;

struct ChannelScope : StmtOf<StmtKind::ChannelScope> {
  Channel channel;
  Stmt body;
  static constexpr auto fields = members(&ChannelScope::channel, &ChannelScope::body);
  void check() const;
};

enum class ChannelOpKind : uint8_t { Acquire, Commit, Wait, Release };
std::string_view name(ChannelOpKind kind);

struct ChannelOp : StmtOf<StmtKind::ChannelOp> {
  ChannelOpKind op{};
  Channel channel;
  Expr item;
  Expr bytes;  // Commit only; null: 0
  Expr rank;   // may be null; reach cluster: the block whose channel is meant
  static constexpr auto fields = members(&ChannelOp::op, &ChannelOp::channel, &ChannelOp::item,
                                         &ChannelOp::bytes, &ChannelOp::rank);
  void check() const;
};

/// Issues `body`, which runs at any time between here and the fullness of item `item`. It delivers
/// `bytes`; when null, the bytes it writes outside of registers.
struct Async : StmtOf<StmtKind::Async> {
  Channel channel;
  Expr item;
  Expr bytes;  // may be null
  Expr rank;   // may be null
  Stmt body;
  static constexpr auto fields =
      members(&Async::channel, &Async::item, &Async::bytes, &Async::rank, &Async::body);
  void check() const;
};

enum class BarrierReach : uint8_t { Warp, Agent, Named, Block, Cluster, Grid };
std::string_view name(BarrierReach reach);

/// Waits until all participants have arrived.
struct Barrier : StmtOf<StmtKind::Barrier> {
  BarrierReach reach = BarrierReach::Block;
  std::string name;          // Named only
  int64_t participants = 0;  // Named only: threads that take part
  static constexpr auto fields = members(&Barrier::reach, &Barrier::name, &Barrier::participants);
  void check() const;
};

enum class AtomicOp : uint8_t { Add, Min, Max, Exchange, CompareExchange };
enum class MemoryOrder : uint8_t { Relaxed, Acquire, Release, AcquireRelease };
std::string_view name(AtomicOp op);
std::string_view name(MemoryOrder order);

/// Reads and replaces one element as one step; `old` receives what stood there before.
struct Atomic : StmtOf<StmtKind::Atomic> {
  AtomicOp op{};
  MemoryOrder order = MemoryOrder::Relaxed;
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
  Expr expected;  // CompareExchange only
  Buffer old;     // rank 0, scope register; may be null
  static constexpr auto fields =
      members(&Atomic::op, &Atomic::order, &Atomic::buffer, &Atomic::indices, &Atomic::value,
              &Atomic::expected, &Atomic::old);
  void check() const;
};

/// Asks for the line of one element; has no effect on any value. Level 1 is the nearest cache.
struct Prefetch : StmtOf<StmtKind::Prefetch> {
  Buffer buffer;
  std::vector<Expr> indices;
  int32_t level = 1;
  bool for_write = false;
  static constexpr auto fields =
      members(&Prefetch::buffer, &Prefetch::indices, &Prefetch::level, &Prefetch::for_write);
  void check() const;
};

/// Calls f(const T&) with the node's own type.
template <class F>
decltype(auto) visit(const Stmt& s, F&& f) {
  switch (s->kind) {
#define X(name) \
  case StmtKind::name: return detail::visit_one(f, static_cast<const name&>(*s));
    TW_STMT_KINDS(X)
#undef X
  }
  __builtin_unreachable();
}

/// Builds a statement after its check: `make_stmt<Store>(span, buffer, indices, value)`.
template <class T, class... Fields>
Stmt make_stmt(const Span& span, Fields&&... values) {
  auto node = std::make_shared<T>();
  detail::assign(*node, std::forward<Fields>(values)...);
  node->span = span;
  node->check();
  return Stmt(std::shared_ptr<const StmtNode>(std::move(node)));
}

/// A copy of `node` changed by `edit`, checked again: `with(loop, [&](For& f) { f.body = b; })`.
template <class T, class Edit>
Stmt with(const T& node, Edit&& edit) {
  auto copy = std::make_shared<T>(node);
  edit(*copy);
  copy->check();
  return Stmt(std::shared_ptr<const StmtNode>(std::move(copy)));
}

/// The statements one after another: nested and empty Seqs disappear, one statement stands alone.
Stmt seq(std::vector<Stmt> stmts, const Span& span = {});
/// The statement that does nothing: an empty Seq.
Stmt nothing();
bool is_nothing(const Stmt& s);

}  // namespace tilewright::ir
