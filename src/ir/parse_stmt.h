// SPDX-License-Identifier: Apache-2.0
// The statements of `.tw` texts.
#pragma once

#include <functional>
#include <vector>

#include "ir/func.h"
#include "ir/parse_expr.h"
#include "ir/parse_parts.h"
#include "support/str.h"

namespace tilewright::ir {

class StmtParser {
 public:
  StmtParser(Cursor& cursor, Names& names, const Items& items)
      : cursor_(cursor), names_(names), items_(items), exprs_(cursor, names) {}

  /// `{ … }`
  Stmt block();
  /// Statements up to `}` or the end of the text.
  Stmt sequence();
  /// `f32[n, m] shared align 64 layout …`; the name is the caller's.
  Buffer buffer(const Token& name);
  /// `layout (i, j) -> […] extents […]`
  Layout layout();

 private:
  /// `let`, `alloc` or `channel`: waits for the statements it holds for.
  struct Open {
    size_t first;  // the first of them
    std::function<Stmt(Stmt)> close;
  };

  Stmt statement();
  Open let();
  Open alloc();
  Open channel();
  Stmt store_or_update();
  Stmt update(ExprParser::Access first);
  Stmt loop();
  Stmt while_loop();
  Stmt if_else();
  Stmt compute_block();
  Stmt call();
  Stmt agents();
  Agent agent();
  Stmt channel_op();
  Stmt async();
  Stmt barrier();
  Stmt atomic();
  Stmt prefetch();

  Scope scope();
  std::vector<BlockIter> iters();
  std::vector<Region> regions();
  std::vector<Hint> hints();
  /// `NAME in 0..INT`
  std::pair<Token, int64_t> counted(std::string_view what);
  struct Item {
    Channel channel;
    Expr item, rank;
  };
  Item item();
  /// A word that is the name of one of the choices.
  template <class Enum>
  Enum one_of(std::string_view what, std::initializer_list<Enum> choices) {
    std::string known;
    for (const Enum choice : choices) {
      if (cursor_.accept(ir::name(choice))) return choice;
      known += str(known.empty() ? "" : ", ", ir::name(choice));
    }
    cursor_.fail_expected(what, str("write one of ", known));
  }
  void deepen(const Token& at);
  void enter(const Token& at);
  void leave();

  template <class T, class... Fields>
  Stmt node(const Token& at, Fields&&... fields) {
    return checked(cursor_, at,
                   [&] { return make_stmt<T>(cursor_.span(at), std::forward<Fields>(fields)...); });
  }

  Cursor& cursor_;
  Names& names_;
  const Items& items_;
  ExprParser exprs_;
  int nesting_ = 0;  // of braces
  int depth_ = 0;    // of statements: braces, and what holds to their end
};

}  // namespace tilewright::ir
