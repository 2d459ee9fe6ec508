// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/stmt.h"

namespace tilewright::ir {

/// A dimension that is known only when the function runs: min <= var <= max, a multiple of divisor.
struct Symbol {
  Var var;
  int64_t min = 0;
  int64_t max = int64_t{1} << 40;
  int64_t divisor = 1;
  std::vector<int64_t> likely;  // values worth a variant of their own
  static constexpr auto fields =
      members(&Symbol::var, &Symbol::min, &Symbol::max, &Symbol::divisor, &Symbol::likely);
};

enum class Access : uint8_t { In, Out, InOut };
std::string_view name(Access access);

/// A buffer of the caller. Two parameters never overlap; what is updated in place is one InOut.
struct Param {
  Buffer buffer;
  Access access = Access::In;
  static constexpr auto fields = members(&Param::buffer, &Param::access);
};

/// How far lowering has come; the verifier of a stage lists what may still occur.
enum class Stage : uint8_t { Loops, Scheduled, Final };
std::string_view name(Stage stage);

struct LoopFunc {
  std::string name;
  std::vector<Symbol> symbols;
  std::vector<Param> params;
  Stmt body;
  Stage stage = Stage::Loops;
  Span span;

  /// The same function with another body.
  LoopFunc with_body(Stmt b) const {
    LoopFunc f = *this;
    f.body = std::move(b);
    return f;
  }
};

/// A hardware instruction declared by its meaning: loop IR over its operand buffers (with their
/// scopes and layouts), and the text each back end emits for it.
struct InstructionNode {
  std::string name;
  std::vector<Param> operands;
  Stmt compute;      // overwrites the result
  Stmt reset;        // sets the result to the identity; may be null
  Stmt update;       // adds to the result; may be null
  std::string emit;  // name in the back ends' tables of intrinsics; empty: lowered as its meaning
  Span span;

  const Stmt& form(InstrForm f) const {
    return f == InstrForm::Compute ? compute : f == InstrForm::Reset ? reset : update;
  }
};

/// What a `.tw` file holds of the loop IR.
struct Unit {
  std::vector<Reducer> reducers;
  std::vector<Instruction> instructions;
  std::vector<LoopFunc> functions;
};

}  // namespace tilewright::ir
