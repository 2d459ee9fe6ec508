// SPDX-License-Identifier: Apache-2.0
// Reads the text form of the loop IR, by the grammar of ir/README.md §7. Every mistake in the text
// is reported as an Error with its place.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/func.h"
#include "ir/lex.h"
#include "ir/parse_stmt.h"

namespace tilewright::ir {

/// Reads an item of another layer. The cursor stands on its keyword; the items are those before it.
using ItemParser = std::function<void(Cursor&, const Items&)>;
/// By keyword: `te`, `trace`, `graph`.
using ItemParsers = std::map<std::string, ItemParser, std::less<>>;

Unit parse(std::shared_ptr<const Source> source, const ItemParsers& others = {});
Unit parse(std::string_view text, std::string name = "text");
/// A text with exactly one function, and the reducers and instructions it uses.
LoopFunc parse_function(std::string_view text);

/// The things that a part of a program mentions, each by its own name.
struct Environment {
  std::vector<Var> vars;
  std::vector<Buffer> buffers;
  std::vector<Channel> channels;
  std::vector<Reducer> reducers;
  std::vector<Instruction> instructions;
};
Stmt parse_stmt(std::string_view text, const Environment& environment = {});
Expr parse_expr(std::string_view text, const Environment& environment = {});
/// Reads `layout (i, j) -> […] extents […]` of constants; the cursor stands at `layout`.
Layout parse_layout(Cursor& cursor);

}  // namespace tilewright::ir
