// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/named_sizes.h"

#include <algorithm>
#include <unordered_set>

#include "arith/context.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "tune/choose/canonical.h"
#include "tune/choose/sizes.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {
namespace {

using ir::BinaryOp;
using ir::Expr;

/// More elements have no address.
constexpr int64_t kMostPlaces = int64_t{1} << 48;

class Naming {
 public:
  explicit Naming(ir::LoopFunc func) : func_(std::move(func)), context_(func_), sizes_(func_) {
    for (const ir::Symbol& s : func_.symbols) symbols_.insert(s.var);
  }

  NamedSizes run() {
    NamedSizes out{.func = func_, .formulas = {}};
    ir::BufferMap buffers;
    const auto renamed = [&](const ir::Buffer& b) {
      std::vector<Expr> shape;
      for (const Expr& e : b->shape) shape.push_back(named(e));
      return buffers[b] = ir::make_buffer(b->name, b->elem, std::move(shape), b->scope, b->layout,
                                          b->alignment, b->span);
    };
    for (ir::Param& p : out.func.params) p.buffer = renamed(p.buffer);
    ir::walk(func_.body, [&](const ir::Alloc& a) { renamed(a.buffer); });
    out.func.body = ir::rewrite(ir::substitute_buffers(func_.body, buffers),
                                [&](const ir::Binary& b, auto& self) -> Expr {
                                  const Expr e = Expr::of(b);
                                  return is_size(e) ? named(e) : self.children(b);
                                });
    keep_used(out, buffers);
    return out;
  }

 private:
  /// Made of symbols alone, one at least, and of integers, as plans compute them.
  bool is_size(const Expr& e) const {
    if (e.type() != ir::kIndex || ir::has_load(e)) return false;
    bool integers = true;
    ir::walk(e, [&](const ir::Cast&) { integers = false; });
    if (!integers) return false;
    const auto vars = ir::vars_of(e);
    return !vars.empty() &&
           std::ranges::all_of(vars, [&](const ir::Var& v) { return symbols_.contains(v); });
  }

  /// A multiple, or a sum that is no less than 1 whatever its parts are.
  bool stays(const ir::Binary& b) const {
    if (b.op == BinaryOp::Mul) return ir::const_int(b.a) || ir::const_int(b.b);
    const bool sum = b.op == BinaryOp::Add || b.op == BinaryOp::Sub;
    return sum && context_.bounds(Expr::of(b)).lo >= 1;
  }

  Expr named(const Expr& e) {
    if (e.as<ir::VarNode>() || !is_size(e)) return e;
    if (const auto* b = e.as<ir::Binary>(); b && stays(*b))
      return ir::binary(b->op, named(b->a), named(b->b));
    const auto known =
        std::ranges::find_if(made_, [&](const auto& made) { return is_same(made.second, e); });
    if (known != made_.end()) return known->first.var;
    made_.emplace_back(symbol_for(e), e);
    return made_.back().first.var;
  }

  /// One size may be written in two ways: ((w + 31) / 32 + 3) / 4 is (w + 127) / 128.
  bool is_same(const Expr& a, const Expr& b) const {
    if (ir::equal(a, b)) return true;
    return sizes_.samples(a) == sizes_.samples(b) && context_.can_prove_equal(a, b);
  }

  ir::Symbol symbol_for(const Expr& formula) const {
    std::string name = str("size", made_.size() + 1);
    while (std::ranges::any_of(func_.symbols,
                               [&](const ir::Symbol& s) { return s.var.name() == name; }))
      name += "_";
    const arith::Interval range = context_.bounds(formula);
    const int64_t divisor = std::max<int64_t>(context_.divisor(formula), 1);
    const int64_t most = std::clamp(kMostPlaces, range.lo, range.hi);
    std::vector<int64_t> likely = sizes_.samples(formula);
    std::erase_if(likely, [&](int64_t n) { return n < range.lo || n > most || n % divisor != 0; });
    return {.var = ir::Var(name),
            .min = range.lo,
            .max = most,
            .divisor = divisor,
            .likely = std::move(likely)};
  }

  /// Symbols that nothing mentions any more are gone.
  void keep_used(NamedSizes& out, const ir::BufferMap& buffers) const {
    std::unordered_set<ir::Var> used;
    for (const auto& [before, now] : buffers)
      for (const Expr& e : now->shape) used.merge(ir::vars_of(e));
    ir::walk(out.func.body, [&](const ir::VarNode& v) { used.insert(ir::Var::of(v)); });
    std::erase_if(out.func.symbols, [&](const ir::Symbol& s) { return !used.contains(s.var); });
    for (const ir::Symbol& s : out.func.symbols) out.formulas.push_back(s.var);
    for (const auto& [symbol, formula] : made_) {
      out.func.symbols.push_back(symbol);
      out.formulas.push_back(formula);
    }
  }

  const ir::LoopFunc func_;
  const arith::Context context_;
  const Sizes sizes_;
  std::unordered_set<ir::Var> symbols_;
  std::vector<std::pair<ir::Symbol, Expr>> made_;  // in the order of their first use
};

}  // namespace

NamedSizes with_named_sizes(const ir::LoopFunc& blocks) {
  if (!blocks.symbols.empty() && only_blocks(blocks)) return Naming(canonical(blocks)).run();
  NamedSizes same{.func = blocks, .formulas = {}};
  for (const ir::Symbol& s : blocks.symbols) same.formulas.push_back(s.var);
  return same;
}

}  // namespace tilewright::tune
