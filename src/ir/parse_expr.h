// SPDX-License-Identifier: Apache-2.0
// The expressions of `.tw` texts, for every layer that has items in them.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/buffer.h"
#include "ir/lex.h"
#include "ir/names.h"

namespace tilewright::ir {

/// Calls `make`; a node that would have no meaning becomes an error at `at`.
template <class F>
auto checked(const Cursor& cursor, const Token& at, F&& make) {
  try {
    return make();
  } catch (const CheckError& e) {
    cursor.fail("ir.type.check", at, e.what(),
                "types never convert by themselves: cast with `f32(x)`, and give a constant its "
                "type, as in `1:i32`");
  }
}

/// Reads expressions by the names in scope. A layer whose texts have further functions, such as
/// `sum(e, k)`, derives from it.
class ExprParser {
 public:
  ExprParser(Cursor& cursor, Names& names) : cursor_(cursor), names_(names) {}
  virtual ~ExprParser() = default;

  Expr expr() { return deep().expr; }
  /// Expressions between commas up to `close`, which is stepped over.
  std::vector<Expr> exprs(std::string_view close) { return deep_exprs(close).list; }
  Type type();
  Elem elem();

  /// `a..b` or `a +: n`.
  Range bounds();
  /// `b@r[i, a..b, a +: n]`; a single index is a range of one.
  Region region();

  /// `b@r[i, j] mask (m)`.
  struct Access {
    Token at;
    Buffer buffer;
    std::vector<Expr> indices;
    Expr mask, rank;
    int depth = 0;  // of the deepest expression in it
  };
  Access access();
  /// `@` and a name, an integer or an expression in parentheses; null where there is no `@`.
  Expr rank() { return deep_rank().expr; }

 protected:
  /// A call of something that is no built-in function. The cursor stands on `(`.
  virtual Expr other_call(const Token& name);

  Cursor& cursor_;
  Names& names_;

 private:
  /// What later walks an expression recurses, so its depth is limited from the start.
  struct Deep {
    Expr expr;
    int depth = 1;
  };
  struct DeepList {
    std::vector<Expr> list;
    int depth = 0;
  };

  Deep deep();
  Deep binary(int precedence);
  Deep unary();
  Deep atom();
  Deep number(bool negative);
  Deep word();
  Deep call(const Token& name);
  Deep load();
  Deep deep_rank();
  DeepList deep_exprs(std::string_view close);
  DeepList arguments(const Token& name, size_t count);
  int32_t lanes();
  Range bounds_from(const Token& at, const Expr& min);

  template <class T, class... Fields>
  Deep node(const Token& at, int depth, Fields&&... fields) {
    limit(at, depth + 1);
    return {checked(cursor_, at,
                    [&] { return make<T>(cursor_.span(at), std::forward<Fields>(fields)...); }),
            depth + 1};
  }
  void limit(const Token& at, int depth);

  int nesting_ = 0;
};

}  // namespace tilewright::ir
