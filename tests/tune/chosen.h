// SPDX-License-Identifier: Apache-2.0
// The oracle of default schedules: the chosen schedule, and what lowering makes of it, give what
// the plain loops give.
#pragma once

#include <string>
#include <vector>

#include "arith/context.h"
#include "ir/interpret/interpret.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "lower/pipeline.h"
#include "lower/to_blocks.h"
#include "te/te.h"
#include "tune/choose/canonical.h"
#include "tune/choose/choose.h"

namespace tilewright::tune {

/// A machine whose vectors are so short that small shapes have tails.
inline ir::TargetSpec small_machine() {
  return {.name = "small",
          .vector_bits = 128,
          .vector_registers = 16,
          .l1_bytes = 4 << 10,
          .l2_bytes = 32 << 10};
}

/// The shape of each parameter at these values of the symbols.
inline std::vector<std::vector<int64_t>> shapes_at(const ir::LoopFunc& f,
                                                   const std::vector<int64_t>& symbols) {
  ir::VarMap values;
  for (size_t i = 0; i < symbols.size(); ++i) values[f.symbols[i].var] = symbols[i];
  std::vector<std::vector<int64_t>> out;
  for (const ir::Param& p : f.params) {
    out.emplace_back();
    for (const ir::Expr& e : p.buffer->shape)
      out.back().push_back(*ir::const_int(arith::Context().simplify(ir::substitute(e, values))));
  }
  return out;
}

/// One with wide ones.
inline ir::TargetSpec wide_machine() {
  return {.name = "wide", .vector_bits = 512, .vector_registers = 32};
}

/// What is wrong with a schedule of `canonical(before)`; empty when it, and what lowering makes of
/// it, give what the plain loops give.
inline std::string wrong_schedule(const ir::LoopFunc& before, const ir::LoopFunc& after,
                                  const ir::TargetSpec& spec,
                                  const std::vector<std::vector<int64_t>>& symbols = {{}}) {
  const ir::RunOptions options{.arithmetic = ir::Arithmetic::Exact};
  std::string text = ir::print(after);
  try {
    ir::verify(after);
    lower::PassContext context;
    context.limits.max_lanes = spec.vector_bits / 8;
    const ir::LoopFunc final = lower::run(lower::cpu_pipeline(), after, context);
    for (const std::vector<int64_t>& at : symbols) {
      const auto shapes = shapes_at(before, at), fewer = shapes_at(after, at);
      std::vector<ir::Array> expected;
      for (size_t i = 0; i < shapes.size(); ++i)
        expected.push_back(ir::random_array(before.params[i].buffer->elem, shapes[i], 17 + i,
                                            ir::Arithmetic::Exact));
      std::vector<ir::Array> got = expected, lowered = expected;
      for (size_t i = 0; i < got.size(); ++i) {
        got[i].shape = fewer[i];
        if (!fewer[i].empty())
          lowered[i].shape = {lowered[i].size()};  // flattened
        else
          lowered[i].shape = {};
      }
      ir::interpret(before, expected, at, options);
      ir::interpret(after, got, at, options);
      ir::interpret(final, lowered, at, options);
      for (size_t i = 0; i < got.size(); ++i) {
        if (expected[i].cells != got[i].cells)
          return "scheduled, " + before.params[i].buffer->name + " differs\n" + text;
        if (expected[i].cells != lowered[i].cells)
          return "lowered, " + before.params[i].buffer->name + " differs\n" + text +
                 ir::print(final);
      }
    }
  } catch (const std::exception& e) {
    return std::string(e.what()) + "\n" + text;
  }
  return {};
}

/// What is wrong with the schedule chosen for `before`; empty when all is right.
inline std::string wrong_choice(const ir::LoopFunc& before, const ir::TargetSpec& spec,
                                const std::vector<std::vector<int64_t>>& symbols = {{}}) {
  std::string text = ir::print(before);
  try {
    const schedule::Schedule s = choose_schedule(before, spec);
    ir::verify(canonical(before));
    text += schedule::print(s.trace());
    const std::string wrong = wrong_schedule(before, choose(before, spec), spec, symbols);
    return wrong.empty() ? "" : wrong + "\n" + text;
  } catch (const std::exception& e) {
    return std::string(e.what()) + "\n" + text;
  }
}

}  // namespace tilewright::tune
