// SPDX-License-Identifier: Apache-2.0
// A function compiled for the interpreter's machine: instructions over registers, with tables for
// what does not fit into one. A task is a program counter and registers, so that thousands of
// threads can wait for each other without a stack of their own.
#pragma once

#include <vector>

#include "ir/func.h"
#include "ir/interpret/array.h"

namespace tilewright::ir::run {

/// A register when >= 0, else the constant number ~reg. Vectors lie in consecutive registers.
using Reg = int32_t;
constexpr Reg kNoReg = INT32_MIN;

enum class Op : uint8_t {
  // Pure operations r[dst] = f(r[a], r[b], r[c]); `x` and `y` hold operators and element types.
  Move,
  Select,
  I64Add,
  I64Sub,
  I64Mul,
  I64Div,
  I64Mod,
  I64Lt,
  I64Le,
  I64Eq,
  I64Ne,
  IntBinary,
  IntUnary,
  IntCall,
  WrapInt,
  NotZero,
  F64Add,
  F64Sub,
  F64Mul,
  F64Div,
  F32Add,
  F32Sub,
  F32Mul,
  F32Div,
  FloatBinary,
  FloatCompare,
  FloatUnary,
  FloatCall,
  IntToFloat,
  FloatToInt,
  FloatToFloat,
  Reinterpret,
  ExactAdd,
  ExactSub,
  ExactMul,
  ExactBinary,
  ExactCompare,
  ExactUnary,
  ExactCall,
  ExactFromInt,
  ExactToInt,
  ExactReinterpret,
  LastPure = ExactReinterpret,

  Lanes,  // the next operation, for `dst` lanes; bits 0, 1, 2 of x: a, b, c have one register a
          // lane
  Ramp,   // r[dst + l] = wrap(r[a] + l * r[b]), l < c
  Jump,   // to dst
  JumpIf,
  JumpIfNot,   // on r[a]
  ForBegin,    // r[a] = r[b], r[a + 1] = r[b] + r[c]; to dst when empty
  ForNext,     // ++r[a]; to dst when below r[a + 1]; c: instructions of the body
  Back,        // to dst; c: instructions of the body
  Load,        // r[dst] = slot a [operands b …], x dimensions; y: flags; c: access
  Store,       // slot a [operands b …] = r[dst]
  LoadLanes,   // r[dst …] by access c
  StoreLanes,  // by access c; r[dst …], x: its stride
  Distinct,    // lanes of access c name different elements
  Alloc,
  Free,        // a: allocation
  BlockEnter,  // a: block
  Activate,    // r[dst] = new notes of the runs of blocks; Deactivate frees them
  Deactivate,
  Region,       // a: region check
  CheckIndex,   // 0 <= r[a] < r[b], an index of instruction operand c
  CheckExtent,  // r[a] == r[b], an extent of instruction operand c
  Fork,         // a: fork; r[b], r[c]: min and extent; dst: where the parent goes on
  Agents,       // a: agents; dst: where the parent goes on
  TaskEnd,
  ChannelOpen,
  ChannelClose,  // a: channel
  ChannelOp,     // a: channel operation
  Async,         // a: async; dst: where the issuer goes on
  Barrier,       // a: barrier
  Atomic,        // a: atomic
};

struct Inst {
  Op op{};
  uint8_t x = 0, y = 0;
  Reg dst = 0, a = 0, b = 0, c = 0;
};

/// Flags of Load and Store.
constexpr uint8_t kRaceChecked = 1;  // others may reach the buffer at the same time
constexpr uint8_t kSlowAccess = 2;   // lanes, packed elements or another block's instance

/// An operand of a vector operation: lane l is r[reg + l * stride].
struct Operand {
  Reg reg = 0;
  int32_t stride = 0;
};

struct AccessInfo {
  const BufferNode* buffer = nullptr;
  int32_t slot = 0;
  int32_t rank = 0;
  int32_t first = 0;  // of its indices in Program::operands
  int32_t lanes = 1;
  Operand mask{kNoReg, 0};
  Reg peer = kNoReg;  // rank of the block in the cluster
  bool race_checked = false;
  bool in_instruction = false;  // the lane rule does not hold
  bool delivers = false;        // an asynchronous operation writes outside of registers
};

/// Who shares one instance of an allocation or a channel.
enum class Share : uint8_t { Task, Warp, Agent, Block, Cluster, Device };

struct AllocInfo {
  const BufferNode* buffer = nullptr;
  int32_t slot = 0;
  std::vector<Reg> shape;
  Share share = Share::Task;
  int32_t site = -1;  // number among the shared ones
  bool race_checked = false;
  std::vector<std::pair<const VarNode*, Reg>> layout_vars;  // free variables of the layout
};

struct Box {
  std::vector<std::pair<Reg, Reg>> ranges;  // min and extent
};
struct BlockInfo {
  const Block* block = nullptr;
  std::vector<std::pair<Reg, Reg>> iters;  // value and extent; reductions last
  std::vector<int> order;                  // which of the block's iterators each of them is
  size_t reductions = 0;
  // Where the runs of its instances are noted: with an instance of a buffer, or an activation.
  int32_t home_slot = -1;
  Reg home_activation = kNoReg;
  bool once = false;  // instances of a reduction run once after its init
  // The elements it reduces into, by which the parts of a block that was cut know one `init`.
  int32_t target_slot = -1;
  Box target;
};

struct RegionInfo {
  const Block* block = nullptr;
  const BufferNode* buffer = nullptr;
  int32_t first = 0, rank = 0, lanes = 1;
  Operand mask{kNoReg, 0};
  bool write = false;
  std::vector<Box> boxes;
};

struct ForkInfo {
  const For* loop = nullptr;
  Reg var = 0;
};

struct AgentsInfo {
  struct Entry {
    const Agent* agent = nullptr;
    Reg index = kNoReg, thread = kNoReg;
    int32_t body = 0;
  };
  std::vector<Entry> entries;
};

struct ChannelInfo {
  const ChannelNode* channel = nullptr;
  Reg reg = 0;  // holds the instance
  Share share = Share::Task;
  int32_t site = -1;
};

struct ChannelOpInfo {
  const ChannelOp* op = nullptr;
  Reg channel = 0, item = 0, bytes = kNoReg, peer = kNoReg;
};

struct AsyncInfo {
  const Async* async = nullptr;
  Reg channel = 0, item = 0, bytes = kNoReg, peer = kNoReg;
  bool per_thread = false;
  std::vector<int32_t> slots;  // buffers that must live until it has run
};

struct AtomicInfo {
  const Atomic* atomic = nullptr;
  int32_t access = 0, old_access = -1;
  Reg value = 0, expected = kNoReg;
};

struct Program {
  Arithmetic arithmetic{};
  std::vector<Inst> code;
  std::vector<const StmtNode*> origin;  // of each instruction
  std::vector<uint64_t> constants;
  int32_t registers = 0, slots = 0, sites = 0;
  std::vector<Operand> operands;
  std::vector<AccessInfo> accesses;
  std::vector<AllocInfo> allocs;
  std::vector<BlockInfo> blocks;
  std::vector<RegionInfo> regions;
  std::vector<ForkInfo> forks;
  std::vector<AgentsInfo> agents;
  std::vector<ChannelInfo> channels;
  std::vector<ChannelOpInfo> channel_ops;
  std::vector<AsyncInfo> asyncs;
  std::vector<const Barrier*> barriers;
  std::vector<AtomicInfo> atomics;
  std::vector<const BufferNode*> instr_operands;
  Reg root_activation = kNoReg;
  std::vector<Reg> symbol_regs;
  std::vector<std::vector<Reg>> param_shapes;  // registers after the prologue
  int32_t body = 0;                            // the code before computes the shapes of parameters
};

/// `check`: with the rules of blocks and the marks for races. Parameter i is slot i, symbol i
/// register i.
Program compile(const LoopFunc& f, Arithmetic arithmetic, bool check);

/// r[dst] = f(r[a], r[b], r[c]) for a pure operation.
void execute_pure(const Inst& inst, uint64_t* r);

}  // namespace tilewright::ir::run
