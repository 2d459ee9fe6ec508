// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/task.h"

#include <algorithm>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "schedule/schedule.h"
#include "support/str.h"
#include "target/llvm/compile.h"
#include "tune/choose/canonical.h"
#include "tune/choose/choose.h"
#include "tune/choose/imperative.h"
#include "tune/choose/scan_steps.h"

namespace tilewright::tune {
namespace {

/// A value as estimates take it: likely, or of a common size.
int64_t typical(const ir::Symbol& s) {
  const int64_t value = s.likely.empty() ? std::clamp<int64_t>(128, s.min, s.max) : s.likely[0];
  return std::max(s.min, value / s.divisor * s.divisor);
}

/// Schedules know these by name.
bool keeps_name(const std::string& name) { return name.starts_with("winograd_"); }

}  // namespace

ir::LoopFunc with_made_up_names(const ir::LoopFunc& func) {
  ir::BufferMap buffers;
  const auto rename = [&](const ir::Buffer& b) {
    const auto [place, is_new] = buffers.try_emplace(b, nullptr);
    if (is_new)
      place->second =
          ir::make_buffer(keeps_name(b->name) ? b->name : str("b", buffers.size()), b->elem,
                          b->shape, b->scope, b->layout, b->alignment, b->span);
    return place->second;
  };
  ir::LoopFunc out = func;
  out.name = "kernel";
  for (ir::Param& p : out.params) p.buffer = rename(p.buffer);
  int count = 0;
  out.body = ir::rewrite(
      out.body,
      [&](const ir::Alloc& a, auto& self) -> ir::Stmt {
        rename(a.buffer);
        return self.children(a);
      },
      [&](const ir::Block& b, auto& self) -> ir::Stmt {
        const ir::Stmt now = self.children(b);
        if (keeps_name(b.name)) return now;
        return ir::with(*now.as<ir::Block>(), [&](ir::Block& n) { n.name = str("s", count++); });
      });
  out.body = ir::substitute_buffers(out.body, buffers);
  return out;
}

Task make_task(std::string name, const ir::LoopFunc& blocks,
               const std::vector<std::string>& constants, const ir::TargetSpec& target,
               std::vector<int64_t> symbols) {
  const ir::LoopFunc named = with_made_up_names(blocks);
  Task out{.name = std::move(name),
           .target = target,
           .func = canonical(named),
           .constants = {},
           .symbols = std::move(symbols),
           .workload = {}};
  if (out.symbols.empty())
    for (const ir::Symbol& s : blocks.symbols) out.symbols.push_back(typical(s));
  for (size_t i = 0; i < blocks.params.size(); ++i) {
    if (std::ranges::count(constants, blocks.params[i].buffer->name) == 0) continue;
    out.constants.push_back(named.params[i].buffer->name);
    out.workload += str("constant ", out.constants.back(), "\n");
  }
  out.workload += ir::print(ir::Unit{{}, {}, {out.func}});
  return out;
}

Task task_from(const std::string& workload, const ir::TargetSpec& target) {
  constexpr std::string_view kConstant = "constant ";
  Task out{.name = {},
           .target = target,
           .func = {},
           .constants = {},
           .symbols = {},
           .workload = workload};
  size_t at = 0;
  while (workload.compare(at, kConstant.size(), kConstant) == 0) {
    const size_t name = at + kConstant.size(), end = workload.find('\n', at);
    if (end == std::string::npos) break;
    out.constants.push_back(workload.substr(name, end - name));
    at = end + 1;
  }
  out.func = ir::parse_function(workload.substr(at));
  ir::verify(out.func);
  for (const ir::Symbol& s : out.func.symbols) out.symbols.push_back(typical(s));
  return out;
}

std::string target_text(const ir::TargetSpec& t) {
  return str(t.triple, " vectors of ", t.vector_bits, " bits, ", t.vector_registers, "+",
             t.mask_registers, " registers, caches ", t.l1_bytes, " ", t.l2_bytes, " ", t.l3_bytes,
             ", ", t.cores, " cores, ", target::llvm::feature_list(t));
}

schedule::Trace default_trace(const Task& task) {
  schedule::Schedule s(task.func, task.target.instructions);
  schedule_stages(s, task.target, task.constants);
  return s.trace();
}

ir::LoopFunc scheduled(const Task& task, const schedule::Trace& trace) {
  const ir::LoopFunc steps = with_scheduled_steps(
      schedule::apply(trace, task.func, task.target.instructions), task.target, task.constants);
  const ir::LoopFunc out = with_rows_in_vectors(steps, task.target);
  ir::verify(out);
  return out;
}

}  // namespace tilewright::tune
