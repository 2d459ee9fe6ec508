// SPDX-License-Identifier: Apache-2.0
// The compiler from the loop IR to the machine's instructions. Variables never change once bound,
// so an expression seen before in the same scope is not computed again; the same comparison of
// registers shows most accesses to lie inside their block's regions before anything runs.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/interpret/code.h"

namespace tilewright::ir::run {

/// Where an expression's value is; a scalar stands for all lanes of a vector.
struct Value {
  Reg reg = kNoReg;
  int32_t lanes = 1;
  Operand operand() const { return {reg, lanes > 1 ? 1 : 0}; }
};

class Compiler {
 public:
  Compiler(const LoopFunc& f, Arithmetic arithmetic, bool check);
  Program compile();

 private:
  /// A buffer as the code at hand names it.
  struct Storage {
    const BufferNode* buffer = nullptr;  // the allocated one
    int32_t slot = 0;
    std::vector<Reg> shape;
    int alloc_level = 0;  // number of allocations around; 0: a parameter
    int block_depth = 0;  // blocks around its allocation
    bool race_checked = false;
    bool thread_private = false;
    bool read_only = false;
    // An instruction's operand: its dimensions within the region of the call.
    const BufferNode* operand = nullptr;
    std::vector<std::pair<Reg, Reg>> region;  // per dimension of `buffer`: min and extent
    std::vector<int> dims;                    // dimension of `buffer` for each of the operand's
    bool strided = false;                     // at stage `final`: strides instead of dims
    std::vector<Reg> strides;                 // per physical dimension of the operand
    Expr peer;                                // rank of the region
  };
  struct ActiveBlock {
    const Block* block = nullptr;
    struct Declared {
      const BufferNode* buffer;
      Box box;
    };
    std::vector<Declared> reads, writes;
    Reg activation = kNoReg;  // of what is nested in it
  };
  /// What holds until the end of a scope.
  struct Mark {
    size_t known;
    Reg reg;
    int32_t slot;
  };

  // compile_expr.cpp
  Value expr(const Expr& e);
  Value variable(const VarNode& var);
  Value binary_op(BinaryOp op, Type type, Value a, Value b);
  Value cast(const Cast& c);
  Value math(const Call& c);
  Value guarded(const Guard& g);
  Value vector_reduce(const VectorReduce& v);
  Value load(const Load& l);
  Reg scalar(const Expr& e) { return expr(e).reg; }

  // compile_memory.cpp
  const Storage& storage(const BufferNode& buffer, const Span& at) const;
  std::vector<Value> indices(const std::vector<Expr>& index);
  int32_t access(const Storage& s, std::vector<Value> index, const Expr& mask, const Expr& rank,
                 bool write, bool update_target);
  void check_regions(const AccessInfo& access, const std::vector<Value>& index, bool write,
                     bool update_target);
  void emit_load(Reg dst, int32_t access);
  void emit_store(Value value, int32_t access);
  void store(const Store& s);
  void update(const Update& u);
  void alloc(const Alloc& a);
  Share share_of(const BufferNode& buffer) const;
  void block(const Block& b);
  std::vector<ActiveBlock::Declared> declared(const std::vector<Region>& regions);
  Box box_of(const Storage& s, const Region& region);

  // compile_instr.cpp
  void instr_call(const InstrCall& c);
  Storage view(const InstrCall& call, size_t operand);
  std::vector<Value> within_region(const Storage& s, const std::vector<Value>& index);
  Value layout_value(const Expr& e, const std::unordered_map<const ExprNode*, Value>& at);

  // compile_stmt.cpp
  void stmt(const Stmt& s);
  void loop(const For& l);
  void fork(const For& l);
  void while_loop(const While& w);
  void if_else(const If& i);

  // compile_concurrent.cpp
  void agents(const Agents& a);
  void channel_scope(const ChannelScope& c);
  void channel_op(const ChannelOp& c);
  void async(const Async& a);
  void barrier(const Barrier& b);
  void atomic(const Atomic& a);
  Reg channel_reg(const Channel& channel, const Span& at) const;
  bool names_thread(const Expr& e) const;
  bool names_thread(const Stmt& s, std::vector<int32_t>* slots) const;
  bool depends_on_thread(const ExprNode& var) const { return thread_vars_.count(&var) > 0; }

  // Emitting.
  int32_t here() const { return static_cast<int32_t>(program_.code.size()); }
  int32_t emit(const Inst& inst);
  void set_target(int32_t at) { program_.code[static_cast<size_t>(at)].dst = here(); }
  Reg reserve(int lanes = 1);
  Reg constant(uint64_t bits);
  Value known_or_emit(Inst inst, int lanes, uint8_t strides);
  Mark mark() const { return {known_.size(), next_reg_, next_slot_}; }
  void release(const Mark& m);
  void bind(const Var& var, Value value);
  void mark_thread_var(const Var& var, bool depends);
  bool exact() const { return program_.arithmetic == Arithmetic::Exact; }

  struct Known {
    Inst inst;
    int32_t lanes;
    uint8_t strides;
  };

  const LoopFunc& func_;
  bool check_;
  bool concurrent_ = false;  // anything in the function runs at the same time as something else
  bool has_blocks_ = false;
  Program program_;
  std::vector<Known> known_;
  Reg next_reg_ = 0;
  int32_t next_slot_ = 0;
  int alloc_level_ = 0;
  bool in_threads_ = false;  // inside hardware threads or agents
  bool in_instruction_ = false;
  bool in_async_ = false;
  const StmtNode* origin_ = nullptr;
  std::unordered_map<uint64_t, Reg> constants_;
  std::unordered_map<const ExprNode*, Value> vars_;
  std::unordered_set<const ExprNode*> thread_vars_;
  std::unordered_map<const BufferNode*, Storage> buffers_;
  std::unordered_map<const ChannelNode*, Reg> channels_;
  std::vector<ActiveBlock> blocks_;
};

/// Does `s` contain something that runs concurrently with anything else?
bool has_concurrency(const Stmt& s);
bool has_block(const Stmt& s);

}  // namespace tilewright::ir::run
