// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/window.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "arith/context.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "tune/choose/stage.h"
#include "tune/measure/build.h"

namespace tilewright::tune {
namespace {

using Box = std::vector<IndexRange>;

class Cutter {
 public:
  Cutter(const Task& task, bool at_end) : func_(task.func), at_end_(at_end) {
    for (size_t i = 0; i < func_.symbols.size(); ++i)
      values_[func_.symbols[i].var] = task.symbols.at(i);
    stages_ = stages_of(func_);
  }

  /// Is every stage plain, with constant extents?
  bool possible() {
    if (!only_blocks(func_)) return false;
    for (const Stage& s : stages_) {
      if (s.kind == StageKind::Other || s.block->writes.size() != 1 || s.block->predicate)
        return false;
      for (const ir::BlockIter& it : s.block->iters)
        if (!number(it.extent)) return false;
      for (const ir::Expr& e : s.result()->shape)
        if (!number(e)) return false;
    }
    return true;
  }

  /// Cuts every dimension of the results to at most `most`; gives how many instances are left.
  int64_t cut(int64_t most) {
    needed_.clear();
    ranges_.assign(stages_.size(), {});
    for (const ir::Param& p : func_.params) {
      if (p.access == ir::Access::In) continue;
      Box box;
      for (const ir::Expr& e : p.buffer->shape) {
        const int64_t n = number(e).value_or(0), size = std::min(n, most);
        box.push_back(at_end_ ? IndexRange{n - size, n} : IndexRange{0, size});
      }
      needed_[p.buffer] = std::move(box);
    }
    int64_t points = 0;
    for (size_t i = stages_.size(); i-- > 0;) points += cut_stage(i);
    return points;
  }

  Window window() const {
    std::map<const ir::For*, IndexRange> loops;
    for (size_t i = 0; i < stages_.size(); ++i)
      for (size_t k = 0; k < stages_[i].block->iters.size(); ++k)
        for (const ir::For* loop : stages_[i].loops)
          if (stages_[i].block->iters[k].binding == loop->var) loops[loop] = ranges_[i][k];
    Window out{func_, {}};
    out.func.body = ir::rewrite(func_.body, [&](const ir::For& loop, auto& self) -> ir::Stmt {
      const ir::Stmt now = self.children(loop);
      const auto found = loops.find(&loop);
      if (found == loops.end()) return now;
      return ir::with(*now.as<ir::For>(), [&](ir::For& n) {
        n.min = found->second.low;
        n.extent = found->second.size();
      });
    });
    for (ir::Param& p : out.func.params) {
      if (p.access == ir::Access::In) continue;
      p.access = ir::Access::InOut;  // not all of it is written
      out.results.push_back(needed_.at(p.buffer));
    }
    return out;
  }

 private:
  std::optional<int64_t> number(const ir::Expr& e) const {
    return ir::const_int(arith::Context().simplify(ir::substitute(e, values_)));
  }

  /// The ranges of a stage's iterators that make what is needed of its result, and what they need.
  int64_t cut_stage(size_t i) {
    const ir::Block& block = *stages_[i].block;
    const auto wanted = needed_.find(stages_[i].result());
    int64_t points = 1;
    arith::Context context;
    for (const ir::BlockIter& it : block.iters) {
      IndexRange range{0, *number(it.extent)};
      if (wanted == needed_.end()) range = {0, 0};  // nobody reads it
      for (size_t d = 0; wanted != needed_.end() && d < wanted->second.size(); ++d)
        if (block.writes[0].ranges[d].min == it.var) range = wanted->second[d];
      ranges_[i].push_back(range);
      points *= range.size();
      context.bind(it.var, range.low, std::max<int64_t>(range.size(), 1));
    }
    if (points == 0) return 0;
    for (const ir::Region& read : block.reads) {
      if (read.buffer == stages_[i].result()) continue;  // what it accumulates
      Box box;
      for (size_t d = 0; d < read.ranges.size(); ++d) {
        const int64_t whole = number(read.buffer->shape[d]).value_or(0);
        const auto first = context.bounds(ir::substitute(read.ranges[d].min, values_));
        const auto last =
            context.bounds(ir::substitute(read.ranges[d].min + read.ranges[d].extent, values_));
        box.push_back(
            {std::clamp<int64_t>(first.lo, 0, whole), std::clamp<int64_t>(last.hi, 0, whole)});
      }
      Box& all = needed_[read.buffer];
      if (all.empty()) all = box;
      for (size_t d = 0; d < box.size(); ++d)
        all[d] = {std::min(all[d].low, box[d].low), std::max(all[d].high, box[d].high)};
    }
    return points;
  }

  const ir::LoopFunc& func_;
  bool at_end_;
  ir::VarMap values_;
  std::vector<Stage> stages_;
  std::vector<Box> ranges_;  // of each stage's iterators
  std::unordered_map<ir::Buffer, Box> needed_;
};

}  // namespace

std::optional<Window> window_of(const Task& task, int64_t points, bool at_end) {
  Cutter cutter(task, at_end);
  if (!cutter.possible()) return {};
  for (int64_t most = int64_t{1} << 30; most > 0; most /= 2)
    if (cutter.cut(most) <= points) return cutter.window();
  return {};
}

}  // namespace tilewright::tune
