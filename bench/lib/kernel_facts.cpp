// SPDX-License-Identifier: Apache-2.0
#include "kernel_facts.h"

#include <algorithm>
#include <map>
#include <optional>

#include "driver/kernel_work.h"
#include "graph/type.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace bench {
namespace {

using namespace tilewright;
using driver::PlannedValue;
using driver::PlanStep;

using Symbols = std::vector<std::optional<int64_t>>;

class Structure {
 public:
  Structure(const ir::LoopFunc& blocks, const Symbols& symbols) : blocks_(blocks) {
    for (size_t i = 0; i < blocks.symbols.size() && i < symbols.size(); ++i)
      if (symbols[i]) values_[blocks.symbols[i].var] = *symbols[i];
    times.resize(blocks.params.size(), 1);
    ir::walk(blocks.body, [&](const ir::Block& b) {
      look(b);
      return false;
    });
  }

  double product_flops = 0;
  std::vector<double> times;  // by parameter: how often a recurrence reads it

 private:
  double extent(const ir::Expr& e) const {
    return static_cast<double>(
        ir::const_int(graph::simplified(ir::substitute(e, values_))).value_or(1));
  }

  void look(const ir::Block& b) {
    double points = 1;
    for (const ir::BlockIter& i : b.iters) points *= extent(i.extent);
    ir::walk(
        b.body,
        [&](const ir::Update& u) {
          for (const ir::Expr& value : u.values)
            if (shares_operands(b, value)) product_flops += 2 * points;
        },
        [&](const ir::Load& load) {
          double again = 1;
          for (const ir::BlockIter& i : b.iters)
            if (i.kind == ir::IterKind::Ordered && !mentions(load, i.var))
              again *= extent(i.extent);
          for (size_t p = 0; p < times.size(); ++p)
            if (blocks_.params[p].buffer == load.buffer) times[p] = std::max(times[p], again);
        });
  }

  static bool mentions(const ir::Load& load, const ir::Var& var) {
    return std::ranges::any_of(load.indices, [&](const ir::Expr& i) { return ir::uses(i, var); });
  }

  /// `a[i, k] * b[k, j]`: each operand is read for several results. Not `x[c, i + k] * w[c, k]`,
  /// nor a product with a vector.
  bool shares_operands(const ir::Block& b, const ir::Expr& value) const {
    bool found = false;
    ir::walk(value, [&](const ir::Binary& product) {
      if (product.op != ir::BinaryOp::Mul || !product.type.is_float()) return;
      bool left = false, right = false;  // has an iterator of its own
      for (const ir::BlockIter& i : b.iters) {
        if (i.kind != ir::IterKind::Spatial || extent(i.extent) < 2) continue;
        const bool in_a = loads_by(product.a, i.var), in_b = loads_by(product.b, i.var);
        left = left || (in_a && !in_b && ir::has_load(product.b));
        right = right || (in_b && !in_a && ir::has_load(product.a));
      }
      found = found || (left && right);
    });
    return found;
  }

  static bool loads_by(const ir::Expr& e, const ir::Var& var) {
    bool found = false;
    ir::walk(e, [&](const ir::Load& load) { found = found || mentions(load, var); });
    return found;
  }

  const ir::LoopFunc& blocks_;
  ir::VarMap values_;
};

/// Where values lie: those of the arena at their offsets, all others behind it.
class Places {
 public:
  explicit Places(const driver::PlanSteps& plan) : plan_(plan), end_(plan.arena_bytes) {}

  int64_t of(uint32_t v) {
    const PlannedValue& value = plan_.values[v];
    if (value.offset) return *value.offset;
    const auto [found, fresh] =
        known_.try_emplace({static_cast<int>(value.storage), value.index}, end_);
    if (fresh) end_ += (value.bytes.value_or(0) + 4095) / 4096 * 4096;
    return found->second;
  }

 private:
  const driver::PlanSteps& plan_;
  std::map<std::pair<int, uint32_t>, int64_t> known_;
  int64_t end_;
};

std::string origin_of(const graph::Node& node) {
  return node.op->special == graph::Special::Group ? node.bodies[0].nodes.back().origin.text
                                                   : node.origin.text;
}

std::optional<KernelFacts> facts_of(const PlanStep& step, const graph::Node& node,
                                    const driver::BuiltKernel& kernel,
                                    const std::vector<PlannedValue>& values, Places& places) {
  // What was packed for the kernel comes after what it takes as it is; in the order of the
  // parameters when it is one for each.
  const std::vector<size_t> packed = driver::packed_params(kernel);
  const std::optional<driver::KernelWork> work =
      driver::work_of(kernel.blocks, step.scalars, packed);
  if (!work) return {};
  const Structure structure(kernel.blocks, step.scalars);
  KernelFacts out{.instruction = step.instruction,
                  .name = step.name,
                  .origin = origin_of(node),
                  .flops = work->flops,
                  .product_flops = structure.product_flops};
  for (size_t i = 0; i < step.reads.size(); ++i) {
    const PlannedValue& v = values[step.reads[i]];
    if (!v.bytes) return {};
    Touch touch{places.of(step.reads[i]), *v.bytes};
    std::optional<size_t> param;
    if (i < kernel.taken.size())
      param = kernel.taken[i];
    else if (step.reads.size() - kernel.taken.size() == packed.size())
      param = packed[i - kernel.taken.size()];
    if (param) touch.times = structure.times[*param];
    if (i < kernel.taken.size()) {  // an embedding reads a few rows of its table
      const double bits = ir::info(kernel.blocks.params[*param].buffer->elem).bits;
      touch.bytes = std::min(touch.bytes, static_cast<int64_t>(work->loads[*param] * bits / 8));
    }
    out.touches.push_back(touch);
    out.types += str(i == 0 ? "" : ", ", v.type);
  }
  out.types += " ->";
  for (const uint32_t w : step.writes) {
    if (!values[w].bytes) return {};
    out.touches.push_back({places.of(w), *values[w].bytes});
    out.types += str(" ", values[w].type);
  }
  return out;
}

}  // namespace

std::vector<KernelFacts> facts_of(const driver::CompiledModel& model,
                                  const driver::PlanSteps& plan) {
  Places places(plan);
  std::vector<KernelFacts> out;
  size_t next = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.kernel == kNone || next == model.calls.size()) continue;
    const auto& [node, use] = model.calls[next++];
    if (auto facts = facts_of(step, *node, model.kernels.kernels[use->kernel], plan.values, places))
      out.push_back(std::move(*facts));
  }
  return out;
}

}  // namespace bench
