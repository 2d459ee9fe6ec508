// SPDX-License-Identifier: Apache-2.0
#include "driver/build_kernels.h"

#include <algorithm>
#include <atomic>
#include <iomanip>
#include <unordered_map>

#include "arith/context.h"
#include "driver/aligned_bytes.h"
#include "driver/kernel.h"
#include "driver/kernel_cache.h"
#include "driver/likely_sizes.h"
#include "driver/variants.h"
#include "graph/layout.h"
#include "graph/op_def.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "lower/to_blocks.h"
#include "runtime/thread_pool.h"
#include "support/bare/checksum.h"
#include "support/function_ref.h"
#include "support/in_parallel.h"
#include "support/str.h"
#include "target/host.h"
#include "tune/choose/choose.h"
#include "tune/choose/in_blocks.h"
#include "tune/choose/named_sizes.h"
#include "tune/measure/build.h"
#include "tune/measure/task.h"

namespace tilewright::driver {
namespace {

using namespace graph;

/// Nodes of one kernel: the members of a group, or the operator itself.
const std::vector<Node> members_of(const Node& node) {
  return node.op->special == Special::Group ? node.bodies.at(0).nodes : std::vector<Node>{node};
}

std::string name_of(const std::vector<Node>& members) {
  std::string name;
  for (const Node& m : members) {
    if (name.size() > 40) return name + "_etc";
    name += str(name.empty() ? "" : "_", m.op->name);
  }
  return name;
}

/// What two kernels that do the same have in common: the text with made-up names.
std::string key_of(const PlainKernel& kernel) {
  std::string key;
  for (size_t i = 0; i < kernel.inputs; ++i)
    if (std::ranges::count(kernel.constants, kernel.blocks.params[i].buffer->name) > 0)
      key += str("constant ", i, "\n");
  return key + ir::print(ir::Unit{{}, {}, {tune::with_made_up_names(kernel.blocks)}});
}

/// A name for the code of a kernel that no other kernel has, whatever model it is part of.
std::string symbol_of(const std::string& key) {
  return str("k", std::hex, std::setw(16), std::setfill('0'), checksum(key.data(), key.size()));
}

/// Lowered, with the constants in the layout that the schedule wants.
ReadyKernel with_schedule(const ir::LoopFunc& scheduled, const std::vector<std::string>& constants,
                          const PlainKernel& task, const BuildOptions& options) {
  tune::LoweredKernel lowered =
      tune::lower_kernel(scheduled, constants, task.inputs, options.target);
  ReadyKernel out;
  out.kernel.func = std::move(lowered.run);
  out.taken = std::move(lowered.taken);
  if (!lowered.prepare) return out;
  out.prepare = target::llvm::compile(*lowered.prepare, target::parse_target("host"));
  out.prepared = std::move(lowered.prepared);
  out.packed = std::move(lowered.packed);
  return out;
}

ReadyKernel with_code(ReadyKernel r, const PlainKernel& task, const BuildOptions& options) {
  r.kernel.name = task.name;
  if (options.code)
    r.kernel.code = target::llvm::emit_object(r.kernel.func, options.target, options.emit);
  return r;
}

/// The plain loops are always an answer: a schedule that a later pass cannot follow costs speed,
/// never the model.
ReadyKernel untuned(const PlainKernel& task, const BuildOptions& options) {
  try {
    const ir::LoopFunc scheduled =
        tune::choose(task.blocks, options.target, task.constants, task.variant_of.get());
    return with_code(with_schedule(scheduled, task.constants, task, options), task, options);
  } catch (const Error& e) {
    ReadyKernel out;
    out.kernel.plain = e.diagnostic.message;
    out.kernel.func = lower_for_cpu(task.blocks, options.target);
    for (size_t i = 0; i < task.inputs; ++i) out.taken.push_back(i);
    return with_code(std::move(out), task, options);
  }
}

/// With a schedule of another time: every check of its steps runs again, and an Error says why it
/// does not apply any more.
ReadyKernel tuned(const PlainKernel& task, const tune::Task& tunable, const std::string& trace,
                  const BuildOptions& options) {
  ir::LoopFunc scheduled = tune::scheduled(tunable, schedule::parse_trace(trace, "record"));
  scheduled.name = task.blocks.name;
  return with_code(with_schedule(scheduled, tunable.constants, task, options), task, options);
}

/// A kernel to make, and the schedule that it is given.
struct Order {
  const PlainKernel* task = nullptr;
  std::optional<tune::Task> tunable;
  std::optional<GivenSchedule> given;
};

/// Makes kernels, or takes them from the cache; counts the former.
class Maker {
 public:
  explicit Maker(const BuildOptions& options)
      : options_(options),
        prefix_(options.cache && options.code ? key_prefix(options.target, options.emit)
                                              : std::string()) {}

  ReadyKernel make(const Order& order) {
    const PlainKernel& task = *order.task;
    std::string refused;
    if (order.given && !order.given->trace.empty()) try {
        ReadyKernel out = cached(task, str(task.key, "trace\n", order.given->trace), [&] {
          return tuned(task, *order.tunable, order.given->trace, options_);
        });
        out.kernel.tuned = order.given->note;
        out.kernel.origin = order.given->origin;
        return out;
      } catch (const Error& e) {
        refused = e.diagnostic.message;
      }
    ReadyKernel out = cached(task, task.key, [&] { return untuned(task, options_); });
    if (order.given && refused.empty()) {
      out.kernel.tuned = order.given->note;
      out.kernel.origin = order.given->origin;
    }
    out.kernel.refused = std::move(refused);
    return out;
  }

  size_t made() const { return misses_; }

 private:
  ReadyKernel cached(const PlainKernel& task, const std::string& key,
                     FunctionRef<ReadyKernel()> make) {
    if (prefix_.empty()) return make();
    if (std::optional<ReadyKernel> found = options_.cache->find(prefix_ + key)) {
      found->kernel.name = task.name;
      return *std::move(found);
    }
    ReadyKernel out = make();
    ++misses_;
    options_.cache->put(prefix_ + key, out);
    return out;
  }

  const BuildOptions& options_;
  std::string prefix_;
  std::atomic<size_t> misses_ = 0;
};

/// What to make of each kernel; the source of schedules is asked for one after the other.
std::vector<Order> orders_for(const std::vector<PlainKernel>& tasks, const BuildOptions& options) {
  std::vector<Order> out;
  for (const PlainKernel& task : tasks) {
    Order& order = out.emplace_back(Order{&task, {}, {}});
    if (!options.schedules) continue;
    order.tunable = tune::make_task(task.name, task.blocks, task.constants, options.target);
    order.given = options.schedules(*order.tunable);
  }
  return out;
}

/// What `prepare` makes of these constants.
std::vector<Constant> prepared(const ReadyKernel& kernel, const std::vector<Constant>& constants) {
  std::vector<AlignedBytes> memory;
  std::vector<void*> buffers;
  for (const Constant& c : constants) {
    memory.emplace_back(c->bytes);
    buffers.push_back(memory.back().data());
  }
  std::vector<Constant> out;
  for (const auto& [elem, shape] : kernel.packed) {
    int64_t count = 1;
    for (const int64_t e : shape) count *= e;
    const auto bytes = std::make_shared<AlignedBytes>(byte_size(elem, count));
    buffers.push_back(bytes->data());
    out.push_back(view_constant(elem, shape, {bytes->data(), bytes->size()}, bytes));
  }
  kernel.prepare->call(buffers);
  return out;
}

int threads_of(const BuildOptions& options) {
  return options.threads > 0 ? options.threads : runtime::available_cpus();
}

class Collector {
 public:
  explicit Collector(Graph& graph) : parts(parts_in_place(graph)), graph_(graph) {}

  void function(const Function& f) {
    for (const Node& node : f.nodes) {
      if (node.op->special == Special::Control)
        for (const Function& body : node.bodies) function(body);
      if (!parts.nodes.contains(&node) &&
          (node.op->special == Special::Group ||
           (node.op->special == Special::None && ops::is_computed(*node.op))))
        add(node);
    }
  }

  Parts parts;
  std::vector<PlainKernel> tasks;
  std::map<const Node*, KernelUse> uses;

 private:
  void add(const Node& node) {
    KernelUse use;
    PlainKernel kernel = plain_kernel(graph_, node, use);
    const std::vector<Point> points = points_for(graph_, use.scalars);
    for (const Point& point : points)
      add_variant(use, kernel, point, known_at(point, kernel.blocks, use.scalars));
    if (points.empty())
      if (const auto point = single_row(kernel.blocks, use.scalars))
        add_variant(use, kernel, *point, point->values);
    use.kernel = place_of(std::move(kernel));
    uses[&node] = std::move(use);
  }

  void add_variant(KernelUse& use, const PlainKernel& kernel, const Point& point,
                   const ir::VarMap& known) {
    PlainKernel variant = specialised(kernel, point, known);
    KernelUse special{
        .kernel = place_of(std::move(variant)), .inputs = use.inputs, .outputs = use.outputs};
    for (size_t i = 0; i < use.scalars.size(); ++i)
      if (!known.contains(kernel.blocks.symbols[i].var)) special.scalars.push_back(use.scalars[i]);
    use.variants.push_back({point.when, std::move(special)});
  }

  /// The kernel's symbols that have one value at this point.
  static ir::VarMap known_at(const Point& point, const ir::LoopFunc& func,
                             const std::vector<ir::Expr>& scalars) {
    ir::VarMap out;
    for (size_t i = 0; i < scalars.size(); ++i)
      if (const auto n = ir::const_int(simplified(ir::substitute(scalars[i], point.values))))
        out[func.symbols[i].var] = ir::int_imm(ir::Elem::I64, *n);
    return out;
  }

  static PlainKernel specialised(const PlainKernel& kernel, const Point& point,
                                 const ir::VarMap& known) {
    PlainKernel out = kernel;
    out.name += " " + point.text;
    out.program = {};
    out.blocks = driver::specialised(kernel.blocks, known);
    out.variant_of = std::make_shared<ir::LoopFunc>(kernel.blocks);
    out.key = str("variant of\n", kernel.key, key_of(out));
    return out;
  }

  /// Among the tasks, each kernel once.
  size_t place_of(PlainKernel kernel) {
    const auto [place, is_new] = kernels_.emplace(kernel.key, tasks.size());
    if (is_new) {
      kernel.blocks.name = symbol_of(kernel.key);
      tasks.push_back(std::move(kernel));
    }
    return place->second;
  }

  Graph& graph_;
  std::unordered_map<std::string, size_t> kernels_;  // by their text
};

}  // namespace

/// Is nothing to be computed where the symbol is below `end`, whatever the others are?
static bool is_empty_below(const PlainKernel& kernel, const ir::Symbol& symbol, int64_t end) {
  arith::Context context(kernel.blocks);
  context.bind(symbol.var, {symbol.min, end - 1});
  const std::span results = std::span(kernel.blocks.params).subspan(kernel.inputs);
  return std::ranges::all_of(results, [&](const ir::Param& p) {
    return std::ranges::any_of(p.buffer->shape,
                               [&](const Dim& d) { return context.bounds(d).hi <= 0; });
  });
}

/// Schedules, and proofs, are simpler for sizes that are not empty.
///   Y[h - 2] where h in 0..99   ->   h in 3..99, and a plan that calls it where h - 2 is positive
static void keep_positive(PlainKernel& kernel, KernelUse& use) {
  constexpr int64_t kMost = 4096;
  for (size_t i = 0; i < use.scalars.size(); ++i) {
    ir::Symbol& s = kernel.blocks.symbols[i];
    int64_t least = s.min;  // for which something may have to be computed
    for (int64_t step = 1; step > 0;) {
      const bool empty =
          least + step <= std::min(s.max, kMost) && is_empty_below(kernel, s, least + step);
      least += empty ? step : 0;
      step = empty ? 2 * step : step / 2;
    }
    if (least == s.min) continue;
    use.positive.push_back(use.scalars[i] - (least - 1));
    s.min = (least + s.divisor - 1) / s.divisor * s.divisor;
    std::erase_if(s.likely, [&](int64_t n) { return n < s.min; });
  }
}

PlainKernel plain_kernel(Graph& graph, const Node& node, KernelUse& use) {
  const std::vector<Node> members = members_of(node);
  std::vector<ValueId> outputs;
  for (const ValueId id : node.outputs)
    if (id != kNoValue) outputs.push_back(id);
  const ops::KernelProgram program = ops::program_of(graph, members, outputs, "kernel");
  PlainKernel out{.name = name_of(members),
                  .program = program.program,
                  .blocks = program.loops ? *program.loops : lower::to_blocks(*program.program),
                  .inputs = program.inputs.size(),
                  .constants = {},
                  .key = {}};
  for (ir::Symbol& s : out.blocks.symbols) s.likely = likely_sizes(graph, s);
  use = {.kernel = 0, .inputs = program.inputs, .outputs = program.outputs};
  std::vector<tune::Pieces> pieces;
  for (size_t i = 0; i < out.blocks.params.size(); ++i) {
    const ValueId id = i < out.inputs ? use.inputs[i] : use.outputs[i - out.inputs];
    if (const int64_t size = channel_block(*graph.type(id).tensor()))
      pieces.push_back({i, 1, size});
    if (!graph.value(id).constant) continue;
    out.constants.push_back(out.blocks.params[i].buffer->name);
  }
  if (!pieces.empty()) {
    std::optional<ir::LoopFunc> now = tune::in_blocks(out.blocks, pieces);
    if (!now)
      throw Error({.code = "driver.kernel.layout",
                   .at = {},
                   .message = str("kernel `", out.name, "` cannot take channels in blocks"),
                   .notes = {},
                   .help = "leave out the pass assign_layouts"});
    out.blocks = std::move(*now);
  }
  for (const ir::Symbol& s : out.blocks.symbols) use.scalars.push_back(s.var);
  keep_positive(out, use);
  tune::NamedSizes sizes = tune::with_named_sizes(out.blocks);
  out.blocks = std::move(sizes.func);
  use.scalars = std::move(sizes.formulas);
  keep_positive(out, use);
  out.key = key_of(out);
  return out;
}

std::vector<PlainKernel> plain_kernels(Graph& graph) {
  Collector collector(graph);
  for (const Function& f : graph.functions) collector.function(f);
  return std::move(collector.tasks);
}

BuiltKernels build_kernels(Graph& graph, const BuildOptions& options) {
  Collector collector(graph);
  for (const Function& f : graph.functions) collector.function(f);
  std::vector<ReadyKernel> all(collector.tasks.size());
  const std::vector<Order> orders = orders_for(collector.tasks, options);
  Maker maker(options);
  std::atomic<size_t> done = 0;
  in_parallel(all.size(), threads_of(options), [&](size_t i) {
    all[i] = maker.make(orders[i]);
    const size_t finished = ++done;
    if (options.progress) options.progress(finished, all.size());
  });
  if (maker.made() > 0 && options.cache) options.cache->files().trim();

  BuiltKernels out;
  out.uses = std::move(collector.uses);
  out.parts = std::move(collector.parts);
  // Constants in the layout that a kernel wants, each once.
  using Wanted = std::pair<size_t, std::vector<ValueId>>;
  std::map<Wanted, std::vector<Constant>> packed;
  const auto constants_of = [&](const KernelUse& use) {
    Wanted wanted{use.kernel, {}};
    for (const size_t i : all[use.kernel].prepared) wanted.second.push_back(use.inputs[i]);
    return wanted;
  };
  std::vector<KernelUse*> uses;
  for (auto& [node, use] : out.uses) {
    uses.push_back(&use);
    for (KernelVariant& v : use.variants) uses.push_back(&v.use);
  }
  for (const KernelUse* use : uses)
    if (all[use->kernel].prepare) packed[constants_of(*use)];
  std::vector<std::pair<const Wanted, std::vector<Constant>>*> work;
  for (auto& entry : packed) work.push_back(&entry);
  in_parallel(work.size(), threads_of(options), [&](size_t i) {
    const auto& [kernel, ids] = work[i]->first;
    std::vector<Constant> constants;
    for (const ValueId id : ids) constants.push_back(graph.value(id).constant);
    work[i]->second = prepared(all[kernel], constants);
  });
  std::map<Wanted, std::vector<ValueId>> values;
  std::vector<ValueId> made;
  const auto same = [&](const Constant& c) {  // variants want the same
    return std::ranges::find_if(made, [&](ValueId id) {
      const ConstantNode& other = *graph.value(id).constant;
      return other.shape == c->shape && other.elem == c->elem &&
             std::ranges::equal(other.bytes, c->bytes);
    });
  };
  for (const auto& [wanted, constants] : packed)
    for (const Constant& c : constants) {
      if (const auto found = same(c); found != made.end()) {
        values[wanted].push_back(*found);
        continue;
      }
      made.push_back(static_cast<ValueId>(graph.values.size()));
      values[wanted].push_back(made.back());
      graph.values.push_back(
          {.name = str(graph.value(wanted.second[0]).name, "_packed", graph.values.size()),
           .type = c->type(),
           .constant = c});
    }
  for (KernelUse* use : uses) {
    std::vector<ValueId> inputs;
    for (const size_t i : all[use->kernel].taken) inputs.push_back(use->inputs[i]);
    if (all[use->kernel].prepare) {
      const std::vector<ValueId>& more = values.at(constants_of(*use));
      inputs.insert(inputs.end(), more.begin(), more.end());
      use->packed = more.size();
    }
    use->inputs = std::move(inputs);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    out.kernels.push_back(std::move(all[i].kernel));
    out.kernels.back().blocks = std::move(collector.tasks[i].blocks);
    out.kernels.back().constants = std::move(collector.tasks[i].constants);
    out.kernels.back().taken = std::move(all[i].taken);
  }
  return out;
}

}  // namespace tilewright::driver
