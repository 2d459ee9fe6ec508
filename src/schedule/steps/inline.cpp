// SPDX-License-Identifier: Apache-2.0
// compute_inline, reverse_compute_inline.
#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

[[noreturn]] void refuse(const char* code, const ir::Block& block, const std::string& note,
                         const std::string& help) {
  throw Error({.code = code,
               .message = str("cannot inline block `", block.name, "`"),
               .notes = {note},
               .help = help});
}

/// The one store that makes up the block, indexed by its own iterators.
const ir::Store& require_single_store(const ir::Block& block, std::string_view step) {
  require_plain_result(block, step);
  const auto* store = block.body.as<ir::Store>();
  if (!store || block.init || store->mask)
    refuse("schedule.inline.body", block, "its body is not a single assignment",
           "inline blocks that compute one element without a reduction");
  for (const ir::BlockIter& it : block.iters)
    if (it.kind != ir::IterKind::Spatial)
      refuse("schedule.inline.iterator", block, str("`", it.var.name(), "` is not spatial"),
             "inline blocks without reduction");
  return *store;
}

/// The reads of a body again, as regions of the block's iterators; loaded indices read anything.
std::vector<ir::Region> reads_of(const Stmt& init, const Stmt& body) {
  std::vector<ir::Region> out;
  const auto collect = [&](const ir::Load& l) {
    ir::Region r{.buffer = l.buffer, .ranges = {}, .rank = l.rank};
    for (size_t d = 0; d < l.indices.size(); ++d)
      r.ranges.push_back(has_load(l.indices[d]) ? ir::Range{0, l.buffer->shape[d]}
                                                : ir::Range{l.indices[d], 1});
    out.push_back(std::move(r));
  };
  if (init) ir::walk(init, collect);
  ir::walk(body, collect);
  return out;
}

/// Has all of block `a` run before the first instance of `b`? Not so in a loop around both.
bool complete_before(const Program& program, const ir::Block& a, const ir::Block& b) {
  const auto around_a = program.loops_around(a), around_b = program.loops_around(b);
  const bool share = !around_a.empty() && !around_b.empty() && around_a[0] == around_b[0];
  return !share && stands_before(program, Stmt::of(a), Stmt::of(b));
}

}  // namespace

/// B[i] = f(A[i])   C[i] = g(B[i])   ->   C[i] = g(f(A[i]))
Results ComputeInline::apply(Program& program) const {
  const ir::Block& p = program.block(block);
  require_outside_of_blocks(program, p, name);
  const ir::Store& store = require_single_store(p, name);
  const ir::Buffer buffer = store.buffer;
  if (param_of(program.func(), buffer))
    refuse("schedule.inline.output", p, str("`", buffer->name, "` is a result of the function"),
           "inline intermediate results only");
  const Stmt nest = nest_of(program, p);
  for (const Access& a : accesses_of(program.func().body)) {
    if (a.block == &p) continue;
    if (a.region.buffer == buffer) {
      if (a.write || !a.block || a.block->opaque || holds_others(*a.block))
        refuse("schedule.inline.use", p,
               str("`", buffer->name, "` is ", a.write ? "written" : "read",
                   " by a statement that cannot be changed"),
               "inline blocks that only ordinary blocks read");
      if (!stands_before(program, nest, Stmt::of(*a.block)))
        refuse("schedule.inline.order", p,
               str("block `", a.block->name, "` reads it but does not stand after it"),
               "inline a producer into consumers that follow it");
    }
    for (const ir::Region& r : p.reads)
      if (a.write && r.buffer == a.region.buffer &&
          (!(a.block && stands_before(program, Stmt::of(*a.block), nest)) ||
           overwrites(program, *a.block, r.buffer)))
        refuse("schedule.inline.input", p,
               str("`", r.buffer->name, "`, which it reads, is written again after it"),
               "inline blocks whose inputs stay as they are");
  }
  std::vector<ir::Var> vars;
  for (const Expr& index : store.indices) vars.push_back(ir::Var::of(*index.as<ir::VarNode>()));
  const Expr value = store.value;
  ir::VarMap units;  // iterators of extent 1 that index nothing
  for (const ir::BlockIter& it : p.iters)
    if (std::find(vars.begin(), vars.end(), it.var) == vars.end()) units[it.var] = 0;

  remove(program, nest);
  Stmt body = ir::rewrite(
      program.func().body,
      [&](const ir::Load& l, auto& self) -> Expr {
        if (l.buffer != buffer) return self.children(l);
        ir::VarMap map = units;
        for (size_t d = 0; d < vars.size(); ++d) map[vars[d]] = self(l.indices[d]);
        return ir::substitute(value, map);
      },
      [&](const ir::Block& b, auto& self) -> Stmt {
        const Stmt now = self.children(b);
        if (now == Stmt::of(b) || b.opaque) return now;
        const auto* changed = now.as<ir::Block>();
        // Only blocks whose loads changed get new read regions.
        if (changed->body == b.body && changed->init == b.init) return now;
        return ir::with(*changed, [&](ir::Block& n) { n.reads = reads_of(n.init, n.body); });
      },
      [&](const ir::Alloc& a, auto& self) -> Stmt {
        return a.buffer == buffer ? self(a.body) : self.children(a);
      });
  program.set_body(body);
  widen_allocations(program);
  return {};
}

/// B[i] = f(A[i])   C[i] = g(B[i])   ->   C[i] = g(f(A[i])), in the producer's loops
Results ReverseComputeInline::apply(Program& program) const {
  const ir::Block& c = program.block(block);
  require_outside_of_blocks(program, c, name);
  const ir::Store& use = require_single_store(c, name);
  // The one producer: the block that writes what this one reads element by element.
  const ir::Block* producer = nullptr;
  for (const Access& a : accesses_of(program.func().body)) {
    if (!a.write || !a.block || a.block == &c) continue;
    for (const ir::Region& r : c.reads)
      if (r.buffer == a.region.buffer && !param_of(program.func(), r.buffer)) producer = a.block;
  }
  if (!producer)
    refuse("schedule.inline.producer", c, "no block produces what it reads",
           "inline a consumer of an intermediate result");
  const ir::Store& made = require_single_store(*producer, name);
  const ir::Buffer buffer = made.buffer;
  for (const Access& a : accesses_of(program.func().body))
    if (a.region.buffer == buffer && a.block != &c && a.block != producer)
      refuse("schedule.inline.use", c, str("`", buffer->name, "` has another reader or writer"),
             "inline a consumer that alone reads its producer");
  for (const ir::Block* b : {&c, producer})
    if (const std::string why = why_not_everywhere(program, *b); !why.empty())
      refuse("schedule.inline.part", c, why, "inline before the loops of either block are cut");
  // C's iterators, in terms of the producer's: every load of the buffer has the same plain index.
  ir::VarMap map;
  bool plain = true;
  ir::walk(c.body, [&](const ir::Load& l) {
    if (l.buffer != buffer) return;
    for (size_t d = 0; d < l.indices.size(); ++d) {
      const auto* v = l.indices[d].as<ir::VarNode>();
      if (!v) {
        plain = false;
        continue;
      }
      const auto [entry, isnew] = map.try_emplace(ir::Var::of(*v), made.indices[d]);
      plain = plain && (isnew || entry->second == made.indices[d]);
    }
  });
  const arith::Context context(program.func());
  Expr predicate = producer->predicate;
  for (const ir::BlockIter& it : c.iters) {
    const auto found = map.find(it.var);
    if (found == map.end()) {
      plain = false;
      continue;
    }
    for (const ir::BlockIter& p : producer->iters) {
      if (p.var != found->second) continue;
      if (!context.can_prove(it.extent <= p.extent))
        refuse("schedule.inline.domain", c,
               str("it runs where block `", producer->name, "` does not: `", it.var.name(),
                   "` goes further than `", p.var.name(), "`"),
               "inline a consumer whose domain is not larger than its producer's");
      if (!context.can_prove(p.extent <= it.extent))
        predicate = ir::both(predicate, Expr(p.var) < it.extent);
    }
  }
  if (!plain || map.size() != c.iters.size())
    refuse("schedule.inline.index", c,
           str("it does not read `", buffer->name, "` at exactly its own iterators"),
           "inline a consumer that reads its producer element by element");
  if (c.predicate)
    refuse("schedule.inline.predicate", c, "it runs under a predicate of its own",
           "inline before splitting its loops");
  const Stmt nest = nest_of(program, c);
  for (const ir::Region& r : c.reads)
    for (const Access& a : accesses_of(program.func().body))
      if (a.write && r.buffer == a.region.buffer && r.buffer != buffer &&
          !(a.block && complete_before(program, *a.block, *producer)))
        refuse("schedule.inline.input", c,
               str("`", r.buffer->name, "` is not complete before block `", producer->name, "`"),
               "inline a consumer whose other inputs come earlier");

  const Expr value =
      ir::rewrite(ir::substitute(use.value, map), [&](const ir::Load& l, auto& self) -> Expr {
        return l.buffer == buffer ? made.value : self.children(l);
      });
  std::vector<Expr> indices;
  for (const Expr& i : use.indices) indices.push_back(ir::substitute(i, map));
  const Stmt body = ir::make_stmt<ir::Store>(use.span, use.buffer, indices, value);
  std::vector<ir::Range> points;
  for (const Expr& i : indices) points.push_back({i, 1});
  const std::string consumer_name = c.name;
  const Stmt merged = ir::with(*producer, [&](ir::Block& b) {
    b.body = body;
    b.reads = reads_of(nullptr, body);
    b.writes = {{use.buffer, points, {}}};
    b.predicate = predicate;
    b.name = consumer_name;
  });
  program.replace(*producer, merged);
  remove(program, nest);
  program.set_body(ir::rewrite(program.func().body, [&](const ir::Alloc& a, auto& self) -> Stmt {
    return a.buffer == buffer ? self(a.body) : self.children(a);
  }));
  widen_allocations(program);
  return {};
}

}  // namespace tilewright::schedule
