// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_work.h"

#include "graph/type.h"
#include "ir/rewrite.h"

namespace tilewright::driver {
namespace {

class Counter {
 public:
  explicit Counter(ir::VarMap symbols) : symbols_(std::move(symbols)) {}

  /// Of running the statement `times` times.
  double count(const ir::Stmt& s, double times) {
    double sum = 0;
    ir::walk(
        s,
        [&](const ir::For& loop) {
          sum += count(loop.body, times * extent(loop.extent));
          return false;
        },
        [&](const ir::Block& block) {
          // The loops around it only bind its iterators.
          double instances = 1;
          for (const ir::BlockIter& i : block.iters) instances *= extent(i.extent);
          sum += count(block.body, instances);
          return false;
        },
        [&](const ir::Store& store) {
          sum += times * in(store.value);
          return false;
        },
        [&](const ir::Update& update) {
          for (const ir::Expr& value : update.values) sum += times * in(value);
          for (const ir::Expr& combine : update.reducer->combine) sum += times * in(combine);
          return false;
        });
    return sum;
  }

  bool known = true;

 private:
  double extent(const ir::Expr& e) {
    const std::optional<int64_t> n = ir::const_int(graph::simplified(ir::substitute(e, symbols_)));
    known = known && n;
    return static_cast<double>(n.value_or(0));
  }

  static double in(const ir::Expr& value) {
    double sum = 0;
    ir::walk(
        value, [&](const ir::Binary& b) { sum += b.type.is_float() ? 1 : 0; },
        [&](const ir::Call& c) { sum += c.type.is_float() ? 1 : 0; },
        [](const ir::Load&) { return false; });
    return sum;
  }

  ir::VarMap symbols_;
};

}  // namespace

std::optional<double> float_operations(const ir::LoopFunc& blocks,
                                       const std::vector<std::optional<int64_t>>& symbols) {
  ir::VarMap values;
  for (size_t i = 0; i < blocks.symbols.size() && i < symbols.size(); ++i)
    if (symbols[i]) values[blocks.symbols[i].var] = *symbols[i];
  Counter counter(std::move(values));
  const double sum = counter.count(blocks.body, 1);
  return counter.known ? std::optional(sum) : std::nullopt;
}

}  // namespace tilewright::driver
