// SPDX-License-Identifier: Apache-2.0
// Statements and expressions of a `final` function as C. What all dialects of C share stands here;
// what differs is a row of data (Dialect) and the virtual functions: memory, parallel loops,
// atomics and the statements that plain C has no counterpart for.
//
// A vector statement becomes one loop over its lanes, in which every expression stands for its
// value in lane `lane`:
//   C[ramp(b, 1, 8)] = A[ramp(a, 1, 8)] * broadcast(s, 8)
//     ->  for (int64_t lane = 0; lane < 8; ++lane)
//           C[b + lane] = A[a + lane] * s;
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/func.h"
#include "support/function_ref.h"
#include "target/c_source/names.h"
#include "target/c_source/ranges.h"
#include "target/c_source/text.h"

namespace tilewright::target::c_source {

/// The words in which dialects of C differ.
struct Dialect {
  std::string_view name;              // in messages
  std::string_view function;          // before a helper: "static inline"
  std::string_view restrict_pointer;  // after the star of a pointer without aliases
};

/// Where a buffer is while code is made for it.
struct Place {
  std::string name;  // of the pointer, array or variable
  ir::Elem elem{};
  bool is_variable = false;   // `name`, not `name[0]`
  bool holds_values = false;  // elements are of value_type, not of memory_type
  bool read_only = false;
  bool is_read = false, is_written = false;
};

/// A variable of the IR and the C variable that holds it.
struct Binding {
  std::string name;
  bool used = false;
};

/// What a C function knows while it is made. The body of a parallel loop is another function, which
/// finds what it does not know in the one outside and takes it along in a closure.
struct Frame {
  Frame* outer = nullptr;
  Names names;
  std::unordered_map<ir::Var, Binding> vars;
  std::unordered_map<ir::Buffer, Place> places;
  std::vector<ir::Var> captured_vars;  // in order of their first use
  std::vector<ir::Buffer> captured_buffers;
  bool uses_host = false, uses_worker = false;
  int64_t stack_bytes = 0;
};

class Emitter {
 public:
  explicit Emitter(const Dialect& dialect) : dialect_(dialect) {}
  virtual ~Emitter() = default;
  Emitter(const Emitter&) = delete;

 protected:
  virtual void alloc(const ir::Alloc& s) = 0;
  virtual void parallel(const ir::For& s) = 0;
  virtual void atomic(const ir::Atomic& s) = 0;
  /// A statement that is none of C's: throws Error.
  virtual void other(const ir::Stmt& s);
  [[noreturn]] void unsupported(const Span& at, const std::string& what,
                                const std::string& help) const;

  void stmt(const ir::Stmt& s);
  /// The lines of `s` inside of a C block of its own.
  Lines inside(const ir::Stmt& s);
  /// The lines that `f` writes.
  Lines lines_of(FunctionRef<void()> f);
  void serial(const ir::For& s) { iterate(s, s.min, 0, s.extent); }
  /// The iterations min + from … min + to - 1 of a loop.
  void iterate(const ir::For& s, const ir::Expr& min, const ir::Expr& from, const ir::Expr& to);

  /// The scalar, or the value in the current lane.
  Text expr(const ir::Expr& e);
  /// Of an access to a buffer of rank 0 or 1.
  Text index_of(const std::vector<ir::Expr>& indices);
  /// What memory holds: `A[i]`.
  Text element(const Place& place, const std::vector<ir::Expr>& indices);
  Text load(const Place& place, const std::vector<ir::Expr>& indices);
  std::string store(const Place& place, const std::vector<ir::Expr>& indices, const Text& value);
  /// `&A[i]`
  std::string address(const Place& place, const std::vector<ir::Expr>& indices);

  const std::string& name_of(const ir::Var& var);
  Place& place_of(const ir::Buffer& buffer);
  Range range(const ir::Expr& e) { return ranges_.of(e); }
  void bind(const ir::Var& var, const std::string& name, const Range& range);

  const Dialect& dialect_;
  Frame* frame_ = nullptr;
  Lines* out_ = nullptr;  // where the statement being made goes

 private:
  // stmt.cpp
  void emit(const ir::Store& s);
  void emit(const ir::Seq& s);
  void emit(const ir::Let& s);
  void emit(const ir::For& s);
  void emit(const ir::While& s);
  void emit(const ir::If& s);
  void emit(const ir::Prefetch& s);
  Text bound(const ir::For& s, const ir::Expr& e, std::string_view suffix);

  // expr.cpp
  Text emit(const ir::IntImm& e);
  Text emit(const ir::FloatImm& e);
  Text emit(const ir::VarNode& e);
  Text emit(const ir::Unary& e);
  Text emit(const ir::Binary& e);
  Text emit(const ir::Call& e);
  Text emit(const ir::Cast& e);
  Text emit(const ir::Reinterpret& e);
  Text emit(const ir::Select& e);
  Text emit(const ir::Guard& e);
  Text emit(const ir::Load& e);
  Text emit(const ir::Ramp& e);
  Text emit(const ir::Broadcast& e);
  Text emit(const ir::VectorReduce& e);

  // lanes.cpp
  void vector_store(const ir::Store& s);
  /// A loop over the lanes around what `f` gives with expressions standing for their lane.
  void for_lanes(int lanes, FunctionRef<std::string()> f);
  /// `name[lane]` after the lanes of `e` have been put into an array of that name.
  Text in_array(const ir::Expr& e, std::string_view name);
  bool reads_target(const ir::Expr& e, const ir::Store& s, bool same_element);

  Ranges ranges_;
  std::vector<std::string> guards_;  // the conditions under which the expression being made runs
};

}  // namespace tilewright::target::c_source
