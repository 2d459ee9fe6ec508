// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ir/lex.h"
#include "ir/stmt.h"

namespace tilewright::ir {

/// What a name of the text stands for.
using Named = std::variant<Var, Buffer, Channel>;

/// The names that can be seen at one place of a text. There is no shadowing: a name is bound once
/// in its scope.
class Names {
 public:
  /// Names `thing` to the end of the scope; reports a name that is taken.
  void declare(const Cursor& cursor, const Token& name, Named thing);
  /// The thing of this name, or nullptr.
  const Named* find(std::string_view name) const;

  /// The thing that the token names; reports an unknown name, or one of something else.
  Var var(const Cursor& cursor, const Token& name) const;
  Buffer buffer(const Cursor& cursor, const Token& name) const;
  Channel channel(const Cursor& cursor, const Token& name) const;

  size_t mark() const { return order_.size(); }
  void back_to(size_t mark);

 private:
  const Named& get(const Cursor& cursor, const Token& name) const;

  struct Entry {
    Named thing;
    int32_t line;
  };
  std::unordered_map<std::string_view, Entry> names_;  // keys live in order_
  std::vector<std::unique_ptr<std::string>> order_;
};

/// Closes a scope of names at the end of a C++ scope.
class NameScope {
 public:
  explicit NameScope(Names& names) : names_(names), mark_(names.mark()) {}
  ~NameScope() { names_.back_to(mark_); }
  NameScope(const NameScope&) = delete;

 private:
  Names& names_;
  size_t mark_;
};

}  // namespace tilewright::ir
