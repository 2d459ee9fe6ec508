// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/rows.h"

#include <algorithm>

#include "tune/choose/attempt.h"
#include "tune/choose/lanes.h"

namespace tilewright::tune {

using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

/// Bytes that the stages read of what comes from outside.
static double bytes_read(const std::vector<Stage>& group, const Sizes& sizes) {
  std::vector<ir::Buffer> seen;
  double all = 0;
  for (const Stage& g : group)
    for (const ir::Load* l : g.loads()) {
      const bool inside =
          std::ranges::any_of(group, [&](const Stage& w) { return w.writes(l->buffer); });
      if (inside || std::ranges::count(seen, l->buffer) > 0) continue;
      seen.push_back(l->buffer);
      double bytes = ir::bits(l->buffer->elem) / 8.0;
      for (const ir::Expr& e : l->buffer->shape) bytes *= static_cast<double>(sizes.of(e));
      all += bytes;
    }
  return all;
}

bool schedule_rows(Schedule& s, const std::string& last_name, const ir::TargetSpec& spec,
                   Choices& choices) {
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage last = *find_stage(func, last_name);
  if (last.kind != StageKind::Map) return false;
  const std::vector<Stage> group = leading_to(stages_of(func), last, func);
  const std::optional<size_t> rows = rows_of(group, last, sizes);
  int64_t lanes = lanes_of(last, spec);
  double work = last.work(sizes);
  for (const Stage& g : group) {
    lanes = std::min(lanes, lanes_of(g, spec));
    work += g.work(sizes);
  }
  if (!rows || lanes == 1) return false;
  return attempt(s, [&] {
    const int64_t count = sizes.of(last.block->iters[*rows - 1].extent);
    // What is read once, from far away, comes fastest as one stream. Where rows are read again
    // (softmax, norms), arithmetic on several hides what one waits for.
    const bool far =
        group.size() == 1 && bytes_read(group, sizes) > static_cast<double>(spec.l2_bytes);
    const int64_t rows_at_once =
        choices.number(last_name + ".rows", far ? 1 : kRowsAtOnce, {1, 2, 4, 8});
    const int64_t together = std::min<int64_t>(rows_at_once, std::max<int64_t>(count, 1));
    const std::vector<LoopRef> loops = s.loops(s.block(last_name));
    const auto [tile, row] = s.split<2>(loops[*rows - 1], {kOpen, together});
    for (size_t i = group.size(); i-- > 0;) s.compute_at(s.block(group[i].name()), tile);
    schedule_row_stages(s, group, last, *rows, *rows, lanes);
    if (work >= 2 * kTaskWork) s.parallel(s.loops(s.block(last_name))[0]);
  });
}

}  // namespace tilewright::tune
