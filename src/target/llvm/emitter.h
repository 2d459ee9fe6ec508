// SPDX-License-Identifier: Apache-2.0
// Loop IR of stage `final` → one LLVM module. A function of the loop IR becomes
//
//   i32 @name(ptr %buffers, ptr %scalars, ptr %host)     the kernel (include/tilewright/kernel.h)
//   void @name.parallelN(ptr, i64, i64, i32)             the body of each parallel loop
//
// Emission rules are those of the comments in registers.h (accumulators are SSA values), memory.cpp
// (each buffer has an alias scope of its own) and passes.h (what LLVM may do afterwards).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "llvm/IR/Module.h"

#include "ir/func.h"
#include "support/function_ref.h"
#include "target/backend.h"
#include "target/llvm/lanes.h"
#include "target/llvm/registers.h"

namespace tilewright::target::llvm {

struct DotIntrinsic;
struct TileIntrinsic;

/// Where a buffer lives while code is made for it.
struct Place {
  ll::Value* pointer = nullptr;     // to its first element; null: in registers
  std::vector<Slice> slices;        // values
  int tile = -1;                    // or tile registers, from this one on
  ll::MDNode* own_scope = nullptr;  // alias scopes: its accesses, and those of all others
  ll::MDNode* other_scopes = nullptr;
};

class Emitter {
 public:
  Emitter(ll::Module& module, const ir::LoopFunc& func, const ir::TargetSpec& spec,
          const EmitOptions& options);

  /// Adds the kernel to the module.
  void run();
  const Workspace& workspace() const { return workspace_; }

 private:
  // expr.cpp
  ll::Value* expr(const ir::Expr& e);
  ll::Value* emit(const ir::IntImm& e);
  ll::Value* emit(const ir::FloatImm& e);
  ll::Value* emit(const ir::VarNode& e);
  ll::Value* emit(const ir::Unary& e);
  ll::Value* emit(const ir::Binary& e);
  ll::Value* emit(const ir::Call& e);
  ll::Value* emit(const ir::Cast& e);
  ll::Value* emit(const ir::Reinterpret& e);
  ll::Value* emit(const ir::Select& e);
  ll::Value* emit(const ir::Guard& e);
  ll::Value* emit(const ir::Load& e);
  ll::Value* emit(const ir::Ramp& e);
  ll::Value* emit(const ir::Broadcast& e);
  ll::Value* emit(const ir::VectorReduce& e);
  ll::Value* prefix(const ir::Expr& base, const ir::Expr& limit, int lanes);

  // stmt.cpp
  void stmt(const ir::Stmt& s);
  void emit(const ir::Store& s);
  void emit(const ir::Seq& s);
  void emit(const ir::Let& s);
  void emit(const ir::Alloc& s);
  void emit(const ir::For& s);
  void emit(const ir::While& s);
  void emit(const ir::If& s);
  void emit(const ir::InstrCall& s);
  void emit(const ir::Atomic& s);
  void emit(const ir::Prefetch& s);
  template <class T>
  [[noreturn]] void emit(const T& s);  // what a CPU has no counterpart for
  void loop(const ir::Var& var, ll::Value* begin, ll::Value* end, bool may_be_empty,
            const ir::Stmt& body);

  // memory.cpp
  struct Access {
    ir::Buffer buffer;
    std::vector<ir::Expr> indices;  // none for rank 0
    ir::Expr mask;                  // may be null
    int lanes = 1;
    ir::Type type() const { return {buffer->elem, lanes}; }
  };
  ll::Value* load(const Access& a);
  void store(const Access& a, ll::Value* value);
  ll::Value* slice_address(const Place& place, const Access& a);
  ll::Value* load_slice(const Place& place, const Access& a);
  void store_slice(const Place& place, const Access& a, ll::Value* value);
  void by_register(
      const Place& place, ir::Elem elem, ll::Value* index, ll::Value* mask,
      FunctionRef<void(ll::Type*, int first, ll::Value* pointer, ll::Value* mask)> part);
  ll::Value* masked_load(const Place& place, ir::Elem elem, ll::Value* index, ll::Value* mask);
  void masked_store(const Place& place, ir::Elem elem, ll::Value* index, ll::Value* mask,
                    ll::Value* value);
  ll::Value* load_lanes(const Place& place, const Access& a);
  ll::Value* load_spread(const Access& a, const LaneIndex& lanes, ll::Value* mask,
                         FunctionRef<ll::Value*(const ir::Expr&, ll::Value*)> contiguous);
  ll::Value* load_column(const Place& place, const Access& a, const LaneIndex& lanes);
  ll::Value* load_repeated(
      const Access& a, ll::Value* mask,
      FunctionRef<ll::Value*(ll::Value* first, int lanes, ll::Value* mask)> contiguous);
  void store_lanes(const Place& place, const Access& a, ll::Value* value);
  ll::Value* guarded_element(const ir::Guard& e);
  ll::Value* load_element(const Place& place, ir::Elem elem, ll::Value* index);
  void store_element(const Place& place, ir::Elem elem, ll::Value* index, ll::Value* value);
  std::pair<ll::Value*, ll::Value*> packed_place(const Place& place, ir::Elem elem,
                                                 ll::Value* index);
  ll::Value* address(const Place& place, ir::Elem elem, ll::Value* index);
  ll::Value* index_of(const Access& a);
  ll::Value* pointers_of(const Place& place, const Access& a);
  ll::Value* by_lane(const Access& a, FunctionRef<ll::Value*(int, ll::Value*)> body);
  ll::Value* when(ll::Value* cond, FunctionRef<ll::Value*()> body);
  static ll::Align alignment(ir::Elem elem);
  /// Says which buffer an instruction touches, so that LLVM knows it apart from the others.
  static ll::Instruction* tag(ll::Instruction* instruction, const Place& place);

  // alloc.cpp
  const Place& place_of(const ir::Buffer& buffer) const;
  void make_scopes();
  void bind_parameters(ll::Value* buffers, ll::Value* scalars);
  void bind_pointer(const ir::Buffer& buffer, ll::Value* pointer);
  void bind_slices(const ir::Buffer& buffer, std::vector<Slice> slices);
  ll::Value* take_workspace(const ir::Alloc& s, const ir::Expr& bytes);
  ll::AllocaInst* stack_slot(ll::Type* type, const std::string& name, ll::Align align);

  // instr.cpp
  bool uses_tiles(const ir::Stmt& body);
  void configure_tiles();
  void release_tiles();
  void alloc_tiles(const ir::Alloc& s);
  ll::Value* tile_of(const ir::InstrCall& s, size_t operand);
  void tile_call(const ir::InstrCall& s, const TileIntrinsic& intrinsic);
  Access operand(const ir::InstrCall& s, size_t i);
  void dot_call(const ir::InstrCall& s, const DotIntrinsic& intrinsic);

  // parallel.cpp
  void parallel(const ir::For& s);
  ll::Function* outline(const ir::For& s, const std::vector<ir::Var>& vars,
                        const std::vector<ir::Buffer>& buffers, ll::StructType* closure);

  ll::Function* add_function(const std::string& name, ll::FunctionType* type, bool exported);

  enum class HostField : uint8_t {
    Context,
    ParallelFor,
    Workspace,
    Scratch,
    ScratchBytes,
    Workers
  };
  ll::Value* host_field(HostField field);

  // Everything that belongs to the LLVM function being made; parallel loops make another one.
  struct Frame {
    ll::Function* function = nullptr;
    ll::Value* host = nullptr;
    ll::Value* worker = nullptr;  // null outside of parallel loops
    std::unordered_map<ir::Var, ll::Value*> vars;
    std::unordered_map<ir::Buffer, Place> places;
    int64_t stack_bytes = 0;
    int tiles = 0;           // tile registers taken
    bool has_tiles = false;  // configured
  };

  ll::Module& module_;
  const ir::LoopFunc& func_;
  const EmitOptions& options_;
  Lanes b_;
  Frame frame_;
  Workspace workspace_;
  std::unordered_map<ir::Buffer, std::pair<ll::MDNode*, ll::MDNode*>> scopes_;  // own, others
  int parallel_loops_ = 0;
  // Values of the statement being made, so that a shared part is computed once.
  std::unordered_map<ir::Expr, ll::Value*> memo_;
};

}  // namespace tilewright::target::llvm
