// SPDX-License-Identifier: Apache-2.0
// What the files of the printer share.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/func.h"

namespace tilewright::ir {

/// Gives each thing a name that no other thing has in its scope, and that can be read back.
class Namer {
 public:
  /// Names a thing to the end of the scope.
  std::string bind(const void* thing, std::string_view wanted);
  /// The name of a thing; one that is not bound gets a name for good.
  std::string name(const void* thing, std::string_view wanted);

  size_t mark() const { return bound_.size(); }
  void back_to(size_t mark);

 private:
  std::string fresh(std::string_view wanted);

  struct Bound {
    const void* thing;
    std::string name, old;  // old: its name in a scope around, or empty
  };
  std::unordered_map<const void*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::vector<Bound> bound_;
};

/// A name for what cannot clash: blocks, agents, functions.
std::string word(std::string_view wanted);
std::string joined(const std::vector<std::string>& items);

class Printer {
 public:
  void print(const Unit& unit);
  void print(const Reducer& reducer);
  void print(const Instruction& instr);
  void print(const LoopFunc& f);
  void print(const Stmt& s);  // at the current indent
  std::string text(const Expr& e) { return text(e, 0); }
  std::string text(const Region& region);
  std::string text(const Layout& layout);

  /// Names all variables, buffers and channels that are mentioned and nowhere bound, before
  /// anything inside is named.
  void name_free(const Expr& e);
  void name_free(const Stmt& s);

  std::string take() { return std::move(out_); }

 protected:  // the printers of other layers' items derive from it
  /// Part of a header: `open` item, item, … `close`. Headers that are too long are broken between
  /// clauses, and clauses between items.
  struct Clause {
    std::string open;
    std::vector<std::string> items;
    std::string close;
  };

  // print_expr.cpp
  std::string text(const Expr& e, int precedence);
  std::string node(const IntImm&, int precedence);
  std::string node(const FloatImm&, int precedence);
  std::string node(const VarNode&, int precedence);
  std::string node(const Unary&, int precedence);
  std::string node(const Binary&, int precedence);
  std::string node(const Call&, int precedence);
  std::string node(const Cast&, int precedence);
  std::string node(const Reinterpret&, int precedence);
  std::string node(const Select&, int precedence);
  std::string node(const Guard&, int precedence);
  std::string node(const Load&, int precedence);
  std::string node(const Ramp&, int precedence);
  std::string node(const Broadcast&, int precedence);
  std::string node(const VectorReduce&, int precedence);
  std::string list(const std::vector<Expr>& items);
  std::string access(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& mask,
                     const Expr& rank);
  std::string rank_text(const Expr& rank);
  /// `min..end` or `min +: extent`.
  std::string range(const Expr& min, const Expr& extent);
  std::string name(const Var& v);
  std::string name(const Buffer& b);
  std::string name(const Channel& c);
  std::string name(const Reducer& r);

  // print_stmt.cpp
  void node(const Store&);
  void node(const Update&);
  void node(const Seq&);
  void node(const Let&);
  void node(const Alloc&);
  void node(const For&);
  void node(const While&);
  void node(const If&);
  void node(const Block&);
  void node(const InstrCall&);
  void node(const Agents&);
  void node(const ChannelScope&);
  void node(const ChannelOp&);
  void node(const Async&);
  void node(const Barrier&);
  void node(const Atomic&);
  void node(const Prefetch&);
  std::string channel(const Channel& c, const Expr& item, const Expr& rank);
  std::vector<std::string> texts(const std::vector<Region>& regions);

  // print.cpp
  void line(const std::string& text);
  void header(const std::vector<Clause>& clauses);
  /// The statement one level deeper, and the closing brace.
  void body(const Stmt& s);
  std::string type_of(const Buffer& buffer);
  Clause params(const std::string& open, const std::vector<Param>& params);
  /// Binds them: `where n in 1..64, …`.
  Clause symbols(const std::vector<Symbol>& symbols);
  std::vector<std::string> typed(const std::vector<Var>& vars);

  std::string out_;
  int indent_ = 0;
  Namer names_;                    // variables, buffers, channels
  Namer reducers_, instructions_;  // names of items live apart
};

}  // namespace tilewright::ir
