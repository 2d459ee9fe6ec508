// SPDX-License-Identifier: Apache-2.0
#include "ir/parse_parts.h"

#include "ir/parse_expr.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

std::vector<int64_t> ints(Cursor& cursor) {
  std::vector<int64_t> out;
  cursor.expect("[", "before the values");
  if (cursor.accept("]")) return out;
  do out.push_back(cursor.expect_int("a value"));
  while (cursor.accept(","));
  cursor.expect("]", "after the values");
  return out;
}

}  // namespace

void skip_parentheses(Cursor& cursor) {
  const Token open = cursor.peek();
  cursor.expect("(", "before the parameters");
  for (int64_t depth = 1; depth > 0; cursor.next()) {
    if (cursor.at("(")) ++depth;
    if (cursor.at(")")) --depth;
    if (cursor.at_end())
      cursor.fail("ir.parse.end", open, "the parameters have no end", "close them with `)`");
  }
}

std::vector<Symbol> parse_symbols(Cursor& cursor, Names& names) {
  std::vector<Symbol> out;
  do {
    Symbol s;
    const Token name = cursor.expect_name("a symbol");
    s.var = Var(std::string(name.text), kIndex, cursor.span(name));
    names.declare(cursor, name, s.var);
    cursor.expect("in", "after the symbol");
    s.min = cursor.expect_int("the least value");
    cursor.expect("..", "after the least value");
    s.max = cursor.expect_int("the greatest value", s.min);
    if (cursor.accept("div")) s.divisor = cursor.expect_int("the divisor", 1);
    if (cursor.accept("likely")) s.likely = ints(cursor);
    out.push_back(std::move(s));
  } while (cursor.accept(","));
  return out;
}

Reducer find_reducer(const Cursor& cursor, const Items& items, const Token& name, Elem elem) {
  if (const auto found = items.reducers.find(name.text); found != items.reducers.end())
    return found->second;
  if (const std::optional<BinaryOp> op = builtin_reducer_op(name.text))
    return checked(cursor, name, [&] { return builtin_reducer(*op, elem); });
  std::vector<std::string_view> known = {"sum", "prod", "min", "max", "all", "any"};
  for (const auto& [declared, r] : items.reducers) known.push_back(declared);
  const std::string_view near = closest(name.text, known);
  cursor.fail("ir.parse.reducer", name, str("there is no reducer `", name.text, "`"),
              near.empty() ? "declare it before the function, as an item `reducer …`"
                           : str("did you mean `", near, "`?"));
}

}  // namespace tilewright::ir
