// SPDX-License-Identifier: Apache-2.0
// What the items of several layers have in common in `.tw` texts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/func.h"
#include "ir/names.h"

namespace tilewright::ir {

/// The items that statements call by name.
struct Items {
  std::map<std::string, Reducer, std::less<>> reducers;
  std::map<std::string, Instruction, std::less<>> instructions;
};

/// Steps over `( … )`: shapes of parameters name the symbols that are declared behind them.
void skip_parentheses(Cursor& cursor);
/// `n in 1..64 div 4 likely [16, 32], …`; declares each.
std::vector<Symbol> parse_symbols(Cursor& cursor, Names& names);
/// The declared reducer of this name, or the built-in one for `elem`.
Reducer find_reducer(const Cursor& cursor, const Items& items, const Token& name, Elem elem);

}  // namespace tilewright::ir
