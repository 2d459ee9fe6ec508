// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/buffer.h"
#include "ir/expr.h"

namespace tilewright::schedule {

/// A loop or block that a trace names: the result of an earlier step or of a look-up. Written
/// `%y0`.
struct LoopRef {
  std::string name;
  friend bool operator==(const LoopRef&, const LoopRef&) = default;
};
struct BlockRef {
  std::string name;
  friend bool operator==(const BlockRef&, const BlockRef&) = default;
};

/// Either of them.
struct AnyRef {
  std::string name;
  AnyRef() = default;
  AnyRef(const LoopRef& loop) : name(loop.name) {}
  AnyRef(const BlockRef& block) : name(block.name) {}
  friend bool operator==(const AnyRef&, const AnyRef&) = default;
};

/// A scope by its kind, or one that a target names.
struct ScopeRef {
  ir::Scope scope;
  ScopeRef(ir::ScopeKind kind) : scope{kind, {}} {}
  ScopeRef(ir::Scope named) : scope(std::move(named)) {}
};

/// A number in a step: written out (`16`), a decision of the trace (`$tile`), or open (`?`), which
/// the step works out from the others.
struct Number {
  int64_t value = 0;
  std::string decision;
  bool open = false;

  Number() = default;
  Number(int v) : value(v) {}
  Number(int64_t v) : value(v) {}
  static Number of_decision(std::string name) {
    Number n;
    n.decision = std::move(name);
    return n;
  }
  static Number open_one() {
    Number n;
    n.open = true;
    return n;
  }
  friend bool operator==(const Number&, const Number&) = default;
};

/// The value of a hint: a number, or a text that is not empty.
struct HintValue {
  Number number;
  std::string text;
  HintValue() = default;
  HintValue(Number n) : number(std::move(n)) {}
  HintValue(int n) : number(n) {}
  HintValue(std::string t) : text(std::move(t)) {}
  HintValue(const char* t) : text(t) {}
  friend bool operator==(const HintValue&, const HintValue&) = default;
};

/// What a step gives back. A loop is known by its variable, a block by its name.
struct LoopResult {
  ir::Var var;
};
struct BlockResult {
  std::string name;
};
using Result = std::variant<LoopResult, BlockResult>;
using Results = std::vector<Result>;

}  // namespace tilewright::schedule
