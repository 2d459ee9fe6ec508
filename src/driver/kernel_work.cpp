// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_work.h"

#include <algorithm>

#include "graph/type.h"
#include "ir/rewrite.h"

namespace tilewright::driver {
namespace {

/// Those of the polynomials that compute it (target/llvm/math): 9 FMAs for e^x, 19 for erf.
double operations(ir::MathFn fn) {
  if (fn == ir::MathFn::Erf) return 38;
  return ir::info(fn).transcendental ? 18 : 1;
}

class Counter {
 public:
  Counter(const ir::LoopFunc& func, ir::VarMap symbols, const std::vector<size_t>& packed)
      : func_(func), symbols_(std::move(symbols)) {
    work.loads.resize(func.params.size());
    for (const size_t p : packed) ready_.insert(func.params[p].buffer);
  }

  /// Adds running the statement `times` times.
  void count(const ir::Stmt& s, double times) {
    ir::walk(
        s,
        [&](const ir::For& loop) {
          count(loop.body, times * extent(loop.extent));
          return false;
        },
        [&](const ir::Block& block) {
          if (is_ready(block)) return false;
          // The loops around it only bind its iterators.
          double instances = 1;
          for (const ir::BlockIter& i : block.iters)
            instances *= extents_[i.var] = extent(i.extent);
          count(block.body, instances);
          return false;
        },
        [&](const ir::Update& update) {
          for (const ir::Expr& value : update.values) count(value, times);
          for (const ir::Expr& combine : update.reducer->combine) count(combine, times);
          return false;
        },
        [&](const ir::Store& store) {
          count(store.value, times);
          return false;
        });
  }

  KernelWork work;
  bool known = true;

 private:
  /// Was it computed at compile time? What it makes is ready then, too.
  bool is_ready(const ir::Block& block) {
    bool some = false, all = true;
    ir::walk(block.body, [&](const ir::Load& load) {
      some = true;
      all = all && ready_.contains(load.buffer);
    });
    if (!some || !all) return false;
    ir::walk(block.body, [&](const ir::Store& store) { ready_.insert(store.buffer); });
    return true;
  }

  double extent(const ir::Expr& e) {
    const std::optional<int64_t> n = ir::const_int(graph::simplified(ir::substitute(e, symbols_)));
    known = known && n;
    return static_cast<double>(n.value_or(0));
  }

  void count(const ir::Expr& value, double times) {
    ir::walk(
        value, [&](const ir::Binary& b) { work.flops += b.type.is_float() ? times : 0; },
        [&](const ir::Call& c) { work.flops += c.type.is_float() ? times * operations(c.fn) : 0; },
        [&](const ir::Select& s) {
          if (rows_of(s.cond) < 1) return true;
          count_rows(s, times);
          return false;
        },
        [&](const ir::Load& load) {
          for (size_t i = 0; i < func_.params.size(); ++i)
            if (func_.params[i].buffer == load.buffer) work.loads[i] += times;
        });
  }

  /// `select(i == 0, …, select(i == 1, …, …))`: only one of them is computed for each i.
  void count_rows(const ir::Select& first, double times) {
    const double each = times / rows_of(first.cond);
    const ir::Select* s = &first;
    for (;; times -= each) {
      count(s->yes, each);
      const auto* next = s->no.as<ir::Select>();
      if (!next || rows_of(next->cond) < 1) break;
      s = next;
    }
    count(s->no, times - each);
  }

  /// How many values i has in `i == 3`, or `i % 4` in `i % 4 == 3`; 0 for any other condition.
  double rows_of(const ir::Expr& condition) const {
    const auto* compare = condition.as<ir::Binary>();
    if (!compare || compare->op != ir::BinaryOp::Eq || !ir::const_int(compare->b)) return 0;
    if (const auto* rest = compare->a.as<ir::Binary>(); rest && rest->op == ir::BinaryOp::Mod)
      return static_cast<double>(ir::const_int(rest->b).value_or(0));
    const auto* i = compare->a.as<ir::VarNode>();
    const auto found = i ? extents_.find(ir::Var::of(*i)) : extents_.end();
    return found == extents_.end() ? 0 : found->second;
  }

  const ir::LoopFunc& func_;
  ir::VarMap symbols_;
  std::unordered_map<ir::Var, double> extents_;  // of iterators
  std::unordered_set<ir::Buffer> ready_;
};

}  // namespace

std::optional<KernelWork> work_of(const ir::LoopFunc& blocks,
                                  const std::vector<std::optional<int64_t>>& symbols,
                                  const std::vector<size_t>& packed) {
  ir::VarMap values;
  for (size_t i = 0; i < blocks.symbols.size() && i < symbols.size(); ++i)
    if (symbols[i]) values[blocks.symbols[i].var] = *symbols[i];
  Counter counter(blocks, std::move(values), packed);
  counter.count(blocks.body, 1);
  if (!counter.known) return {};
  return std::move(counter.work);
}

std::vector<size_t> packed_params(const BuiltKernel& kernel) {
  std::vector<size_t> out;
  for (size_t p = 0; p < kernel.blocks.params.size(); ++p)
    if (kernel.blocks.params[p].access == ir::Access::In &&
        std::ranges::find(kernel.taken, p) == kernel.taken.end())
      out.push_back(p);
  return out;
}

}  // namespace tilewright::driver
