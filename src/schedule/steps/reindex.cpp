// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "schedule/buffer_change.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

struct Refuse {
  const ir::Block& block;
  const std::string& buffer;
  [[noreturn]] void operator()(const char* code, const std::string& note,
                               const std::string& help) const {
    throw Error({.code = code,
                 .message = str("cannot reindex `", buffer, "` of block `", block.name, "`"),
                 .notes = {note},
                 .help = help});
  }
};

/// The one index at which the block touches the buffer.
std::vector<Expr> index_of(const Program& program, const ir::Block& b, const ir::Buffer& buffer,
                           const Refuse& refuse) {
  std::vector<Expr> out;
  bool any = false;
  const auto add = [&](const std::vector<Expr>& indices) {
    bool same = true;
    for (size_t d = 0; any && d < indices.size(); ++d) same = same && equal(out[d], indices[d]);
    if (!same)
      refuse("schedule.reindex.index", "the block touches it at several places",
             "reindex a buffer that the block reads or writes at one place");
    for (const Expr& e : indices)
      if (has_load(e) || e.type() != ir::kIndex)
        refuse("schedule.reindex.index", str("its index ", print(e), " is read from memory"),
               "reindex accesses that the iterators decide");
    out = indices;
    any = true;
  };
  for (const Stmt& s : {b.init, b.body}) {
    if (!s) continue;
    ir::walk(
        s,
        [&](const ir::Load& l) {
          if (l.buffer == buffer) add(l.indices);
        },
        [&](const ir::Store& st) {
          if (st.buffer == buffer) add(st.indices);
        },
        [&](const ir::Update& u) {
          for (const ir::Target& t : u.targets)
            if (t.buffer == buffer) add(t.indices);
        });
  }
  if (!any)
    refuse("schedule.reindex.buffer", "no statement of the block touches it",
           "name a buffer that the block reads or writes");
  std::vector<ir::Var> known;
  for (const ir::BlockIter& it : b.iters) known.push_back(it.var);
  for (const ir::Symbol& symbol : program.func().symbols) known.push_back(symbol.var);
  for (const Expr& e : out)
    for (const ir::Var& v : vars_of(e))
      if (std::find(known.begin(), known.end(), v) == known.end())
        refuse("schedule.reindex.index",
               str("its index ", print(e), " depends on `", v.name(), "`, which is no iterator"),
               "reindex accesses that the iterators alone decide");
  return out;
}

}  // namespace

Results Reindex::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  require_outside_of_blocks(program, b, name);
  const Refuse refuse{b, buffer};
  if (holds_others(b))
    refuse("schedule.reindex.body", "an instruction or another block stands inside of it",
           "reindex before tensorize and blockize");
  const ir::Buffer old = buffer_of(b, buffer);
  if (!old)
    refuse("schedule.reindex.buffer", "the block touches no buffer of that name",
           "name a buffer that the block reads or writes");
  if (b.opaque)
    refuse("schedule.reindex.buffer", "the block is opaque: only its regions are known",
           "reindex blocks whose body is known");
  const auto in = [&](const std::vector<ir::Region>& regions) {
    return std::any_of(regions.begin(), regions.end(),
                       [&](const ir::Region& r) { return r.buffer == old; });
  };
  const bool writes = in(b.writes);
  if (writes && in(b.reads))
    refuse("schedule.reindex.buffer", "the block reads it and writes it",
           "reindex a buffer that is an input or a result");
  if (b.predicate && has_load(b.predicate))
    refuse("schedule.reindex.index", "the block's predicate reads memory",
           "reindex blocks whose iterators alone decide");
  const std::vector<Expr> index = index_of(program, b, old, refuse);
  const Stmt nest = nest_of(program, b);
  const arith::Context context = context_outside(program, nest);
  const std::vector<ir::Range> box = iterated(program, b, nest);

  // The copy's own iterators run over what the block's do, and the index is in range all over.
  std::vector<ir::BlockIter> iters;
  std::vector<Expr> shape, points;
  ir::VarMap to_copy;
  Placement placement;
  arith::Context inside = context;
  for (size_t i = 0; i < b.iters.size(); ++i) {
    const ir::BlockIter& it = b.iters[i];
    if (std::none_of(index.begin(), index.end(), [&](const Expr& e) { return uses(e, it.var); })) {
      if (writes && it.kind == ir::IterKind::Spatial && !ir::is_const(it.extent, 1))
        refuse("schedule.reindex.index",
               str("its spatial iterator `", it.var.name(), "` does not index the result"),
               "reindex results that each spatial iterator indexes");
      continue;
    }
    if (writes && it.kind != ir::IterKind::Spatial)
      refuse("schedule.reindex.index",
             str("its result is indexed by `", it.var.name(), "`, which is not spatial"),
             "reindex results that spatial iterators index");
    const ir::Var v(it.var.name());
    to_copy[it.var] = v;
    iters.push_back({v, ir::IterKind::Spatial, it.extent, v});
    shape.push_back(it.extent);
    points.push_back(it.var);
    placement.domain.push_back(box[i]);
    inside.bind(v, 0, it.extent);
    inside.assume(box[i].min <= v);
    inside.assume(Expr(v) < box[i].min + box[i].extent);
  }
  std::vector<Expr> there, here;
  std::vector<ir::Range> there_points, here_points, block_points;
  std::vector<ir::Var> vars;
  for (const Expr& e : index) {
    there.push_back(ir::substitute(e, to_copy));
    there_points.push_back({there.back(), 1});
    const Expr extent = old->shape[there.size() - 1];
    if (!inside.can_prove(Expr(0) <= there.back()) || !inside.can_prove(there.back() < extent))
      refuse("schedule.reindex.range",
             str("the index ", print(e), " may lie outside of the dimension of ", print(extent)),
             "reindex accesses that are valid for all values of the iterators");
  }
  for (const ir::BlockIter& it : iters) {
    here.push_back(it.var);
    here_points.push_back({it.var, 1});
    vars.push_back(it.var);
  }
  for (const Expr& v : points) block_points.push_back({v, 1});

  ir::Scope scope = old->scope;
  if (scope.kind == ir::ScopeKind::Constant) scope = {};
  const ir::Buffer now = ir::make_buffer(old->name + "_reindex", old->elem, shape, scope);
  const std::string copy_name = program.fresh_block_name(now->name);
  const auto copy = [&](const ir::Buffer& to, const std::vector<Expr>& to_index,
                        const std::vector<ir::Range>& to_points, const ir::Buffer& from,
                        const std::vector<Expr>& from_index,
                        const std::vector<ir::Range>& from_points) {
    const Stmt made = ir::make_stmt<ir::Block>(
        b.span, copy_name, iters, nullptr, std::vector<ir::Region>{{from, from_points, {}}},
        std::vector<ir::Region>{{to, to_points, {}}}, nullptr,
        ir::make_stmt<ir::Store>({}, to, to_index, ir::load(from, from_index)));
    return place_block(*made.as<ir::Block>(), placement, nullptr, context);
  };
  const Stmt changed =
      with_change(nest, {old, now, [&](const std::vector<Expr>&) { return points; },
                         [&](const std::vector<ir::Range>&) { return block_points; }});
  require(static_cast<bool>(changed), "the block's body was looked through");
  if (!writes) {
    ir::Region region = arith::widen({old, there_points, {}}, vars, inside);
    if (!is_written_before(program, region, nest, context))
      refuse("schedule.reindex.unwritten",
             str("not all of ", print(region), " is known to be written before"),
             "reindex a parameter, or the whole result of one block");
    program.replace(
        nest,
        ir::make_stmt<ir::Alloc>(
            {}, now, ir::seq({copy(now, here, here_points, old, there, there_points), changed})));
    return {BlockResult{copy_name}};
  }
  if (b.body.as<ir::Update>() && (!b.init || !starts_below(program, b, nest)))
    refuse("schedule.reindex.init", "it goes on reducing what another block put there",
           "reindex the result before decompose_reduction or rfactor splits the init off");
  if (const std::string why = why_not_exact(program, b, nest); !why.empty())
    refuse("schedule.reindex.partial", why, "reindex a result whose block fills a whole box");
  if (const arith::IterMap map = arith::iter_map(there, vars, inside); !map.injective)
    refuse("schedule.reindex.index", map.reason,
           "reindex results of which each instance writes its own element");
  program.replace(
      nest,
      ir::make_stmt<ir::Alloc>(
          {}, now, ir::seq({changed, copy(old, there, there_points, now, here, here_points)})));
  return {BlockResult{copy_name}};
}

}  // namespace tilewright::schedule
