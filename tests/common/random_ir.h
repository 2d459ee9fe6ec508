// SPDX-License-Identifier: Apache-2.0
// Random programs of the loop IR: well-typed and well-scoped, of every node and every field, but
// without sense. What reads, prints, walks or rewrites any program can be tried on them.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/func.h"

namespace tilewright {

class RandomIr {
 public:
  explicit RandomIr(uint64_t seed) : random_(seed) {}

  /// One function, and the reducers and instructions it may use.
  ir::Unit unit();
  ir::LoopFunc function();
  /// Over the things in scope: none before a function is made.
  ir::Stmt stmt(int depth);
  ir::Expr expr(ir::Type type, int depth);

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }
  template <class Enum>
  Enum any(Enum last) {
    return static_cast<Enum>(below(static_cast<int64_t>(last) + 1));
  }

  std::string name();
  std::string word();
  std::string bytes();
  ir::Elem elem() { return any(ir::Elem::F64); }
  int lanes() { return one_of(std::vector<int>{2, 3, 4, 8, 4096}); }
  ir::Expr index(int depth) { return expr(ir::kIndex, depth); }
  ir::Expr constant(ir::Elem elem);
  ir::Expr leaf(ir::Type type);
  ir::Expr scalar_op(ir::Type type, int depth);
  ir::Expr load(ir::Type type, int depth);
  std::vector<ir::Expr> indices(const ir::Buffer& buffer, int lanes, int depth);
  ir::Range range(int depth);
  ir::Region region(const ir::Buffer& buffer);
  std::vector<ir::Region> regions();
  ir::Layout layout(size_t rank);
  ir::Buffer buffer(ir::Elem elem);
  ir::Var bound_var(ir::Type type = ir::kIndex);

  ir::Stmt simple(int depth);
  ir::Stmt scoped(int depth);
  ir::Stmt store();
  ir::Stmt update();
  ir::Stmt loop(int depth);
  ir::Stmt block(int depth);
  std::vector<ir::Hint> hints();
  ir::Stmt instr_call();
  ir::Stmt agents(int depth);
  ir::Stmt channel_op(int depth);
  ir::Stmt atomic();

  ir::Reducer reducer();
  ir::Instruction instruction();
  std::vector<ir::Param> params();

  /// The things in scope.
  struct Scope {
    std::vector<ir::Var> vars;
    std::vector<ir::Buffer> buffers;
    std::vector<ir::Channel> channels;
  };
  std::mt19937_64 random_;
  Scope scope_;
  std::vector<ir::Reducer> reducers_;
  std::vector<ir::Instruction> instructions_;
};

}  // namespace tilewright
