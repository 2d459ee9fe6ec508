// SPDX-License-Identifier: Apache-2.0
#include "schedule/nests.h"

#include <algorithm>

#include "ir/build.h"
#include "support/str.h"

namespace tilewright::schedule {

using ir::Expr;
using ir::Stmt;

Stmt nest_of(const Program& program, const ir::Block& block) {
  const Path path = program.path_to(block);
  Stmt root = path.back();
  for (size_t i = path.size() - 1; i-- > 0 && path[i].as<ir::For>();) root = path[i];
  return root;
}

void remove(Program& program, const Stmt& stmt) {
  const Path path = program.path_to(stmt);
  size_t top = path.size() - 1;
  // Whatever would be left empty goes as well.
  while (top > 0) {
    const Stmt& parent = path[top - 1];
    const auto* all = parent.as<ir::Seq>();
    if (all && all->stmts.size() > 1) break;
    if (const auto* choice = parent.as<ir::If>(); choice && choice->no) break;
    if (parent.as<ir::Block>()) break;
    --top;
  }
  program.replace(path[top], ir::nothing());
}

void insert_before(Program& program, const Stmt& place, const Stmt& what) {
  program.replace(place, ir::seq({what, place}));
}

void insert_after(Program& program, const Stmt& place, const Stmt& what) {
  program.replace(place, ir::seq({place, what}));
}

bool contains(const Stmt& outer, const Stmt& inner) {
  if (outer == inner) return true;
  bool found = false;
  ir::for_each_child(
      outer, [](const Expr&) {}, [&](const Stmt& s) { found = found || contains(s, inner); });
  return found;
}

bool stands_before(const Program& program, const Stmt& a, const Stmt& b) {
  const Path pa = program.path_to(a), pb = program.path_to(b);
  const auto split = std::mismatch(pa.begin(), pa.end(), pb.begin(), pb.end());
  if (split.first == pa.end() || split.second == pb.end()) return false;
  const auto* all = split.first[-1].as<ir::Seq>();
  if (!all) return false;
  const auto place = [&](const Stmt& s) {
    return std::find(all->stmts.begin(), all->stmts.end(), s) - all->stmts.begin();
  };
  return place(*split.first) < place(*split.second);
}

ResultIndex require_plain_result(const ir::Block& block, std::string_view step) {
  const auto refuse = [&](const std::string& note) {
    throw Error({.code = "schedule.block.result",
                 .message = str("cannot ", step, " block `", block.name, "`"),
                 .notes = {note},
                 .help = "use a block that writes one element, indexed by its own spatial "
                         "iterators (reindex makes it so)"});
  };
  if (block.opaque) refuse("it is opaque: only its regions are known");
  if (block.writes.empty()) refuse("it writes nothing");
  ResultIndex out;
  for (const ir::Range& r : block.writes[0].ranges) {
    int found = -1;
    for (size_t i = 0; i < block.iters.size(); ++i)
      if (block.iters[i].var == r.min && ir::is_const(r.extent, 1)) found = static_cast<int>(i);
    if (found < 0) refuse("the index of its result is not one of its iterators");
    if (block.iters[found].kind != ir::IterKind::Spatial)
      refuse(str("its result is indexed by `", block.iters[found].var.name(),
                 "`, which is not spatial"));
    if (std::count(out.iter_of_dim.begin(), out.iter_of_dim.end(), found))
      refuse(str("its result is indexed twice by `", block.iters[found].var.name(), "`"));
    out.iter_of_dim.push_back(found);
  }
  for (const ir::Region& w : block.writes) {
    bool same = w.ranges.size() == block.writes[0].ranges.size();
    for (size_t d = 0; same && d < w.ranges.size(); ++d)
      same = w.ranges[d].min == block.writes[0].ranges[d].min && ir::is_const(w.ranges[d].extent, 1);
    if (!same) refuse("its results have different indices");
  }
  for (size_t i = 0; i < block.iters.size(); ++i) {
    const bool spatial = block.iters[i].kind == ir::IterKind::Spatial;
    const bool indexes = std::count(out.iter_of_dim.begin(), out.iter_of_dim.end(),
                                    static_cast<int>(i)) > 0;
    if (spatial && !indexes && !ir::is_const(block.iters[i].extent, 1))
      refuse(str("its spatial iterator `", block.iters[i].var.name(),
                 "` does not index its result"));
  }
  return out;
}

Stmt place_block(const ir::Block& block, const Placement& placement, const Expr& keep,
                 const arith::Context& context) {
  arith::Context inside = context;
  std::vector<ir::Var> loops;
  for (size_t i = 0; i < block.iters.size(); ++i) {
    // ax0, ax1, …: the loops belong to the moved block, not to what computed it before.
    loops.emplace_back(str(block.iters[i].var.name()));
    inside.bind(loops[i], 0, placement.domain[i].extent);
  }
  Expr predicate = keep;
  const Stmt placed = ir::with(block, [&](ir::Block& b) {
    for (size_t i = 0; i < b.iters.size(); ++i) {
      const Expr at = inside.simplify(placement.domain[i].min + loops[i]);
      b.iters[i].binding = at;
      if (!inside.can_prove(Expr(0) <= at)) predicate = ir::both(predicate, Expr(0) <= at);
      if (!inside.can_prove(at < b.iters[i].extent))
        predicate = ir::both(predicate, at < b.iters[i].extent);
    }
    b.predicate = predicate;
  });
  Stmt nest = placed;
  for (size_t i = loops.size(); i-- > 0;)
    nest = ir::make_stmt<ir::For>(block.span, loops[i], Expr(0),
                                  context.simplify(placement.domain[i].extent), nest);
  return nest;
}

ir::Region touched(const Stmt& root, const ir::Buffer& buffer, bool writes,
                   const arith::Context& at_root) {
  ir::Region all{.buffer = buffer, .ranges = {}, .rank = {}};
  for (const Access& a : accesses_of(root)) {
    if (a.region.buffer != buffer || a.write != writes) continue;
    arith::Context inside = at_root;
    std::vector<ir::Var> inner;
    for (const ir::For* l : a.loops) {
      inside.bind(l->var, l->min, l->extent);
      inner.push_back(l->var);
    }
    if (a.condition) inside.assume(a.condition);
    const ir::Region wide = arith::widen(a.region, inner, inside);
    all = all.ranges.empty() && buffer->rank() > 0 ? wide : arith::unite(all, wide, at_root);
  }
  return all;
}

std::vector<ir::Range> iterated(const Program& program, const ir::Block& block, const Stmt& nest) {
  arith::Context context = program.context_at(program.path_to(nest));
  std::vector<ir::Var> inner;
  for (const ir::For* l : program.loops_around(block)) {
    if (!contains(nest, Stmt::of(*l))) continue;
    context.bind(l->var, l->min, l->extent);
    inner.push_back(l->var);
  }
  // The iterators' domain is a box like a buffer's, so that it widens by the same rules.
  std::vector<Expr> shape;
  ir::Region box;
  for (const ir::BlockIter& it : block.iters) {
    shape.push_back(it.extent);
    box.ranges.push_back({it.binding, 1});
  }
  box.buffer = ir::make_buffer(block.name, ir::Elem::Bool, shape);
  return arith::widen(box, inner, context).ranges;
}

const ir::Alloc* allocation_of(const Program& program, const ir::Buffer& buffer) {
  const ir::Alloc* found = nullptr;
  ir::walk(program.func().body, [&](const ir::Alloc& a) {
    if (a.buffer == buffer) found = &a;
  });
  return found;
}

void sink_allocation(Program& program, const ir::Buffer& buffer, const ir::Var& loop) {
  const ir::Alloc* alloc = allocation_of(program, buffer);
  require(alloc, "sink_allocation of a parameter");
  const ir::For* now = find_loop(alloc->body, loop);
  if (!now) return;  // it is inside already
  program.replace(*alloc, alloc->body);
  now = find_loop(program.func().body, loop);
  program.replace(*now, ir::with(*now, [&](ir::For& f) {
                    f.body = ir::make_stmt<ir::Alloc>({}, buffer, f.body);
                  }));
}

}  // namespace tilewright::schedule
