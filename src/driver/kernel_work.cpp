// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_work.h"

#include "graph/type.h"
#include "ir/rewrite.h"

namespace tilewright::driver {
namespace {

class Counter {
 public:
  Counter(const ir::LoopFunc& func, ir::VarMap symbols)
      : func_(func), symbols_(std::move(symbols)) {
    work.loads.resize(func.params.size());
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
          // The loops around it only bind its iterators.
          double instances = 1;
          for (const ir::BlockIter& i : block.iters) instances *= extent(i.extent);
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
  double extent(const ir::Expr& e) {
    const std::optional<int64_t> n = ir::const_int(graph::simplified(ir::substitute(e, symbols_)));
    known = known && n;
    return static_cast<double>(n.value_or(0));
  }

  void count(const ir::Expr& value, double times) {
    ir::walk(
        value, [&](const ir::Binary& b) { work.flops += b.type.is_float() ? times : 0; },
        [&](const ir::Call& c) { work.flops += c.type.is_float() ? times : 0; },
        [&](const ir::Load& load) {
          for (size_t i = 0; i < func_.params.size(); ++i)
            if (func_.params[i].buffer == load.buffer) work.loads[i] += times;
        });
  }

  const ir::LoopFunc& func_;
  ir::VarMap symbols_;
};

}  // namespace

std::optional<KernelWork> work_of(const ir::LoopFunc& blocks,
                                  const std::vector<std::optional<int64_t>>& symbols) {
  ir::VarMap values;
  for (size_t i = 0; i < blocks.symbols.size() && i < symbols.size(); ++i)
    if (symbols[i]) values[blocks.symbols[i].var] = *symbols[i];
  Counter counter(blocks, std::move(values));
  counter.count(blocks.body, 1);
  if (!counter.known) return {};
  return std::move(counter.work);
}

}  // namespace tilewright::driver
