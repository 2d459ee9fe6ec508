// SPDX-License-Identifier: Apache-2.0
// Facts and expressions as text.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "arith/context.h"
#include "ir/buffer.h"
#include "ir/parse.h"
#include "ir/print.h"

namespace tilewright::arith {

/// A context and its variables by name:
///   Known k;
///   k.symbol("n", 1, 4096, 8).loop("i", "0", "n").assume("i*2 < n");
///   EXPECT_EQ(k.simple("(i*4 + 3) / 4"), "i");
class Known {
 public:
  Known& symbol(const std::string& name, int64_t lo, int64_t hi, int64_t divisor = 1) {
    context.bind(declare(name), Interval{lo, hi}, divisor);
    return *this;
  }
  Known& loop(const std::string& name, const std::string& min, const std::string& extent) {
    const ir::Expr lo = expr(min), n = expr(extent);
    context.bind(declare(name), lo, n);
    return *this;
  }
  Known& free(const std::string& name, ir::Type type = ir::kIndex) {
    declare(name, type);
    return *this;
  }
  Known& let(const std::string& name, const std::string& value) {
    const ir::Expr v = expr(value);
    context.define(declare(name), v);
    return *this;
  }
  Known& assume(const std::string& condition) {
    context.assume(expr(condition));
    return *this;
  }
  Known& buffer(const std::string& name, ir::Elem elem, std::vector<ir::Expr> shape) {
    environment.buffers.push_back(ir::make_buffer(name, elem, std::move(shape)));
    return *this;
  }

  ir::Var declare(const std::string& name, ir::Type type = ir::kIndex) {
    environment.vars.push_back(ir::Var(name, type));
    return environment.vars.back();
  }
  ir::Var var(const std::string& name) const {
    for (const ir::Var& v : environment.vars)
      if (v.name() == name) return v;
    throw std::runtime_error("no variable " + name);
  }
  ir::Expr expr(const std::string& text) const { return ir::parse_expr(text, environment); }
  std::string simple(const std::string& text) const {
    return ir::print(context.simplify(expr(text)));
  }
  bool proves(const std::string& condition) const { return context.can_prove(expr(condition)); }
  Interval bounds(const std::string& text) const { return context.bounds(expr(text)); }
  int64_t divisor(const std::string& text) const { return context.divisor(expr(text)); }
  std::string over(const std::string& text, const std::vector<std::string>& names) const {
    std::vector<ir::Var> vars;
    for (const std::string& n : names) vars.push_back(var(n));
    const Context::Bounds b = context.eliminate(expr(text), vars);
    return (b.lo ? ir::print(b.lo) : "?") + " … " + (b.hi ? ir::print(b.hi) : "?");
  }

  Context context;
  ir::Environment environment;
};

}  // namespace tilewright::arith
