// SPDX-License-Identifier: Apache-2.0
// Text in, text out for passes; and the oracle: a pass never changes results.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "common/errors.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/interpret/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "lower/passes/passes.h"

namespace tilewright::lower {

using PassFn = ir::LoopFunc (*)(const ir::LoopFunc&, PassContext&);

/// The text run through passes; verified before and after each.
inline ir::LoopFunc after(std::vector<PassFn> passes, std::string_view text,
                          const Limits& limits = {}) {
  PassContext context{.limits = limits};
  ir::LoopFunc f = ir::parse_function(text);
  ir::verify(f);
  for (PassFn pass : passes) {
    f = pass(f, context);
    ir::verify(f);
  }
  return f;
}
inline ir::LoopFunc after(PassFn pass, std::string_view text, const Limits& limits = {}) {
  return after(std::vector<PassFn>{pass}, text, limits);
}

/// Demands the same program up to names.
inline void expect_program(const ir::LoopFunc& f, std::string_view expected) {
  const ir::LoopFunc wanted = ir::parse_function(expected);
  EXPECT_TRUE(ir::equal(f, wanted)) << "got\n" << ir::print(f) << "wanted\n" << ir::print(wanted);
}

/// An index expression over the symbols' values.
inline int64_t value_of(const ir::Expr& e, const ir::VarMap& symbols) {
  const ir::Expr folded =
      ir::rewrite(ir::substitute(e, symbols), [](const ir::Binary& b, auto& self) -> ir::Expr {
        return ir::binary(b.op, self(b.a), self(b.b));
      });
  return ir::const_int(folded).value();
}

inline std::vector<std::vector<int64_t>> param_shapes(const ir::LoopFunc& f,
                                                      const std::vector<int64_t>& symbols) {
  ir::VarMap values;
  for (size_t i = 0; i < symbols.size(); ++i) values[f.symbols[i].var] = symbols[i];
  std::vector<std::vector<int64_t>> out;
  for (const ir::Param& p : f.params) {
    out.emplace_back();
    for (const ir::Expr& e : p.buffer->shape) out.back().push_back(value_of(e, values));
  }
  return out;
}

/// What `f` makes of random inputs; parameters as their elements in row-major order.
inline std::vector<ir::Array> results_of(const ir::LoopFunc& f, const std::vector<int64_t>& symbols,
                                         const ir::RunOptions& options, uint64_t seed = 17) {
  std::vector<ir::Array> args;
  for (const auto& shape : param_shapes(f, symbols)) {
    int64_t size = 1;
    for (int64_t n : shape) size *= n;
    const ir::Elem elem = f.params[args.size()].buffer->elem;
    ir::Array flat = ir::random_array(elem, {size}, seed + args.size(), options.arithmetic);
    flat.shape = shape;
    args.push_back(std::move(flat));
  }
  ir::interpret(f, args, symbols, options);
  for (ir::Array& a : args) a.shape = {a.size()};
  return args;
}

enum class Order { Kept, Free };  // of the terms of reductions

/// Demands equal results on random inputs: in exact arithmetic always, in IEEE arithmetic where the
/// order of operations is kept.
inline void expect_same(const ir::LoopFunc& before, const ir::LoopFunc& after,
                        const std::vector<int64_t>& symbols = {}, Order order = Order::Kept) {
  std::vector<ir::Arithmetic> modes{ir::Arithmetic::Exact};
  if (order == Order::Kept) modes.push_back(ir::Arithmetic::Ieee);
  for (ir::Arithmetic arithmetic : modes) {
    const ir::RunOptions options{.arithmetic = arithmetic};
    const auto one = results_of(before, symbols, options);
    const auto two = results_of(after, symbols, options);
    for (size_t i = 0; i < one.size(); ++i)
      ASSERT_TRUE(ir::same_bits(one[i], two[i])) << before.params[i].buffer->name << " differs for "
                                                 << testing::PrintToString(symbols) << "\n"
                                                 << ir::print(before) << ir::print(after);
  }
}

}  // namespace tilewright::lower
