// SPDX-License-Identifier: Apache-2.0
#include "lower/to_blocks.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "arith/context.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::lower {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using ir::Var;

/// Where a tensor's elements are: at the current times of the `depth` outermost scans.
struct Place {
  Buffer buffer;
  size_t depth = 0;
};

/// The state as a step sees it: `init` when the time of scan number `depth` is 0, else `state` at
/// the time before.
struct Previous {
  size_t depth = 0;
  Buffer init, state;
};

/// A scan around the stages that are being lowered.
struct Time {
  te::Iter axis;
  Var loop;
};

/// The loops and iterators of one block in the making.
struct Nest {
  std::vector<te::Iter> loops;
  std::vector<ir::BlockIter> iters;
  std::vector<Expr> times;  // the iterators of the scans around
  ir::VarMap vars;          // axis -> iterator

  Var add(const te::Iter& axis, ir::IterKind kind, const Var& loop) {
    const Var iter(str("v", axis.var.name()));
    iters.push_back({iter, kind, axis.extent, loop});
    vars[axis.var] = iter;
    return iter;
  }
  Var add_loop(const te::Iter& axis, ir::IterKind kind) {
    loops.push_back({Var(axis.var.name()), axis.extent});
    return add(axis, kind, loops.back().var);
  }
};

Stmt stores(const std::vector<ir::Target>& targets, const std::vector<Expr>& values,
            const Span& span) {
  std::vector<Stmt> out;
  for (size_t i = 0; i < targets.size(); ++i)
    out.push_back(ir::make_stmt<ir::Store>(span, targets[i].buffer, targets[i].indices, values[i]));
  return ir::seq(std::move(out), span);
}

Stmt block_in_loops(const Nest& nest, const std::string& name, std::vector<ir::Region> reads,
                    const std::vector<ir::Target>& targets, const Stmt& init, const Stmt& body,
                    const Span& span) {
  std::vector<ir::Region> writes;
  for (const ir::Target& t : targets) writes.push_back(region_of(t.buffer, t.indices));
  Stmt s = ir::make_stmt<ir::Block>(span, name, nest.iters, nullptr, std::move(reads),
                                    std::move(writes), init, body);
  for (auto loop = nest.loops.rbegin(); loop != nest.loops.rend(); ++loop)
    s = ir::make_stmt<ir::For>(span, loop->var, 0, loop->extent, s);
  return s;
}

class Lowering {
 public:
  explicit Lowering(const te::Program& program) : program_(program) {
    func_ = {.name = program.name, .symbols = program.symbols};
    for (const te::Tensor& t : program.inputs) add_param(t.buffer(), ir::Access::In);
    for (const te::Tensor& t : program.outputs) add_param(t.buffer(), ir::Access::Out);
  }

  ir::LoopFunc run() {
    std::vector<Stmt> stmts;
    for (const te::Stage& stage : program_.stages) stmts.push_back(lower(stage));
    func_.body = ir::seq(std::move(stmts));
    for (auto b = allocs_.rbegin(); b != allocs_.rend(); ++b)
      func_.body = ir::make_stmt<ir::Alloc>((*b)->span, *b, func_.body);
    return std::move(func_);
  }

 private:
  Stmt lower(const te::Stage& stage) {
    if (const te::Scan* scan = stage->as<te::Scan>()) return lower_scan(stage, *scan);
    std::vector<Buffer> outputs;
    for (const Buffer& output : stage->outputs) outputs.push_back(place(output).buffer);
    return lower_compute(*stage->as<te::Compute>(), outputs, stage->span);
  }

  Stmt lower_compute(const te::Compute& c, const std::vector<Buffer>& outputs, const Span& span) {
    Nest nest;
    for (const Time& time : times_)
      nest.times.push_back(nest.add(time.axis, ir::IterKind::Ordered, time.loop));
    std::vector<Expr> point = nest.times;
    for (const te::Iter& axis : c.axes) point.push_back(nest.add_loop(axis, ir::IterKind::Spatial));
    std::vector<ir::Target> targets;
    for (const Buffer& output : outputs) targets.push_back({output, point});

    const std::string& name = outputs[0]->name;
    if (!c.reducer) {
      const std::vector<Expr> values = in_nest(c.values, nest);
      return block_in_loops(nest, name, regions_read(values), targets, nullptr,
                            stores(targets, values, span), span);
    }
    // `init` runs with the first term. Where there may be none, the identity is stored beforehand.
    const Stmt init = stores(targets, c.reducer->identity, span);
    const Terms terms = terms_of(c.reduce_axes);
    std::vector<Stmt> blocks;
    if (terms != Terms::Some)
      blocks.push_back(
          block_in_loops(nest, unique(name + "_init"), {}, targets, nullptr, init, span));
    if (terms != Terms::None) {
      for (const te::Iter& axis : c.reduce_axes) nest.add_loop(axis, ir::IterKind::Reduction);
      const std::vector<Expr> values = in_nest(c.values, nest);
      const Stmt update = ir::make_stmt<ir::Update>(span, c.reducer, targets, values);
      blocks.push_back(block_in_loops(nest, name, regions_read(values), targets,
                                      terms == Terms::Some ? init : nullptr, update, span));
    }
    return ir::seq(std::move(blocks), span);
  }

  Stmt lower_scan(const te::Stage& stage, const te::Scan& scan) {
    const size_t depth = times_.size();
    std::vector<Buffer> outputs;
    for (const Buffer& output : stage->outputs) outputs.push_back(place(output).buffer);
    for (size_t i = 0; i < scan.prev.size(); ++i)
      previous_[scan.prev[i].buffer()] = {depth, scan.init[i].buffer(), outputs[i]};

    // A stage whose result is wanted over time writes it in place; other results are copied.
    std::vector<size_t> copies;
    for (size_t i = 0; i < scan.results.size(); ++i) {
      const te::Tensor& result = scan.results[i];
      const bool inside =
          std::find(scan.body.begin(), scan.body.end(), result.stage()) != scan.body.end();
      if (!inside || result.stage()->as<te::Scan>() || places_.contains(result.buffer()))
        copies.push_back(i);
      else
        places_[result.buffer()] = {outputs[i], depth + 1};
    }

    times_.push_back({scan.time, Var(scan.time.var.name())});
    std::vector<Stmt> stmts;
    for (const te::Stage& inner : scan.body) stmts.push_back(lower(inner));
    for (const size_t i : copies)
      stmts.push_back(lower_compute(copy_of(scan.results[i]), {outputs[i]}, stage->span));
    const Time time = times_.back();
    times_.pop_back();
    return ir::make_stmt<ir::For>(stage->span, time.loop, 0, time.axis.extent,
                                  ir::seq(std::move(stmts), stage->span));
  }

  static te::Compute copy_of(const te::Tensor& t) {
    te::Compute copy;
    std::vector<Expr> point;
    for (int d = 0; d < t.rank(); ++d) {
      copy.axes.push_back({Var(str("i", d)), t.shape()[static_cast<size_t>(d)]});
      point.push_back(copy.axes.back().var);
    }
    copy.values = {ir::load(t.buffer(), std::move(point))};
    return copy;
  }

  /// The values over the block's iterators, reading the places where tensors are.
  std::vector<Expr> in_nest(const std::vector<Expr>& values, const Nest& nest) {
    std::vector<Expr> out;
    for (const Expr& value : values)
      out.push_back(ir::rewrite(
          value,
          [&](const ir::VarNode& v, auto&) -> Expr {
            const auto iter = nest.vars.find(Var::of(v));
            return iter == nest.vars.end() ? Expr::of(v) : iter->second;
          },
          [&](const ir::Load& load, auto& self) -> Expr {
            std::vector<Expr> indices;
            for (const Expr& index : load.indices) indices.push_back(self(index));
            return element(load.buffer, indices, nest, load.span);
          }));
    return out;
  }

  Expr element(const Buffer& tensor, const std::vector<Expr>& indices, const Nest& nest,
               const Span& span) {
    const auto at = [&](const Buffer& buffer, std::vector<Expr> times) {
      times.insert(times.end(), indices.begin(), indices.end());
      return ir::make<ir::Load>(span, buffer, std::move(times));
    };
    const auto outer = [&](size_t depth) {
      return std::vector<Expr>(nest.times.begin(), nest.times.begin() + static_cast<long>(depth));
    };
    const auto state = previous_.find(tensor);
    if (state == previous_.end()) {
      const Place where = place(tensor);
      return at(where.buffer, outer(where.depth));
    }
    const Previous& p = state->second;
    std::vector<Expr> before = outer(p.depth + 1);
    before.back() = before.back() - 1;
    return ir::guard(ir::eq(nest.times[p.depth], 0), element(p.init, indices, nest, span),
                     at(p.state, std::move(before)));
  }

  /// The buffer of a tensor; the first mention decides, which is where its stage is lowered.
  Place place(const Buffer& tensor) {
    const auto known = places_.find(tensor);
    if (known != places_.end()) return known->second;
    std::vector<Expr> shape;
    for (const Time& time : times_) shape.push_back(time.axis.extent);
    shape.insert(shape.end(), tensor->shape.begin(), tensor->shape.end());
    const Place made{named(tensor, std::move(shape)), times_.size()};
    allocs_.push_back(made.buffer);
    return places_[tensor] = made;
  }

  void add_param(const Buffer& tensor, ir::Access access) {
    const Place made{named(tensor, tensor->shape), 0};
    func_.params.push_back({made.buffer, access});
    places_[tensor] = made;
  }

  /// The tensor's own buffer, unless its name is taken or its shape another.
  Buffer named(const Buffer& tensor, std::vector<Expr> shape) {
    const std::string name = unique(tensor->name);
    if (name == tensor->name && shape.size() == tensor->shape.size()) return tensor;
    return ir::make_buffer(name, tensor->elem, std::move(shape), {}, nullptr, 0, tensor->span);
  }

  /// Blocks are found by name, and each is named after the buffer it writes.
  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !names_.insert(name).second; ++i) name = str(wanted, "_", i);
    return name;
  }

  enum class Terms { None, Some, Unknown };
  Terms terms_of(const std::vector<te::Iter>& axes) const {
    const arith::Context context(func_);
    Terms out = Terms::Some;
    for (const te::Iter& axis : axes) {
      const arith::Interval extent = context.bounds(axis.extent);
      if (extent.hi <= 0) return Terms::None;
      if (extent.lo < 1) out = Terms::Unknown;
    }
    return out;
  }

  const te::Program& program_;
  ir::LoopFunc func_;
  std::vector<Time> times_;
  std::unordered_map<Buffer, Place> places_;
  std::unordered_map<Buffer, Previous> previous_;
  std::vector<Buffer> allocs_;
  std::unordered_set<std::string> names_;
};

}  // namespace

ir::Region region_of(const Buffer& buffer, const std::vector<Expr>& indices) {
  ir::Region region{.buffer = buffer};
  for (size_t d = 0; d < indices.size(); ++d) {
    if (ir::has_load(indices[d]))
      region.ranges.push_back({0, buffer->shape[d]});
    else
      region.ranges.push_back({indices[d], 1});
  }
  return region;
}

std::vector<ir::Region> regions_read(const std::vector<Expr>& values) {
  std::vector<ir::Region> regions;
  for (const Expr& value : values) {
    ir::walk(value, [&](const ir::Load& load) {
      ir::Region region = region_of(load.buffer, load.indices);
      const auto same = [&](const ir::Region& r) { return ir::equal(r, region); };
      if (std::none_of(regions.begin(), regions.end(), same)) regions.push_back(std::move(region));
    });
  }
  return regions;
}

ir::LoopFunc to_blocks(const te::Program& program) { return Lowering(program).run(); }

}  // namespace tilewright::lower
