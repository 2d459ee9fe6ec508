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

void require_outside_of_blocks(const Program& program, const ir::StmtNode& stmt,
                               std::string_view step) {
  const auto* loop = stmt.kind == ir::StmtKind::For ? &static_cast<const ir::For&>(stmt) : nullptr;
  for (const Stmt& around : program.path_to(stmt)) {
    const auto* block = around.as<ir::Block>();
    if (!block || around.get() == &stmt) continue;
    throw Error({.code = "schedule.block.nested",
                 .message = loop ? str("cannot ", step, " `", loop->var.name(), "`")
                                 : str("cannot ", step, " block `",
                                       static_cast<const ir::Block&>(stmt).name, "`"),
                 .notes = {str("it stands inside block `", block->name, "`")},
                 .help = str("use ", step, " before blockize, or on block `", block->name, "`")});
  }
}

bool holds_others(const ir::Block& block) {
  bool found = false;
  for (const Stmt& s : {block.body, block.init})
    ir::walk(
        s, [&](const ir::Block&) { found = true; }, [&](const ir::InstrCall&) { found = true; });
  return found;
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
      same =
          w.ranges[d].min == block.writes[0].ranges[d].min && ir::is_const(w.ranges[d].extent, 1);
    if (!same) refuse("its results have different indices");
  }
  for (size_t i = 0; i < block.iters.size(); ++i) {
    const bool spatial = block.iters[i].kind == ir::IterKind::Spatial;
    const bool indexes =
        std::count(out.iter_of_dim.begin(), out.iter_of_dim.end(), static_cast<int>(i)) > 0;
    if (spatial && !indexes && !ir::is_const(block.iters[i].extent, 1))
      refuse(
          str("its spatial iterator `", block.iters[i].var.name(), "` does not index its result"));
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
    bool never = false;
    for (const ir::For* l : a.loops) {
      never = never || inside.can_prove(l->extent <= 0);
      inside.bind(l->var, l->min, l->extent);
      inner.push_back(l->var);
    }
    if (never) continue;
    // Predicates are left out: a tile keeps its constant extents, and what is placed over the
    // region gets a predicate of its own.
    const ir::Region wide = arith::widen(a.region, inner, inside);
    all = all.ranges.empty() && buffer->rank() > 0 ? wide : arith::unite(all, wide, at_root);
  }
  if (all.ranges.empty()) all.ranges.assign(buffer->shape.size(), {0, 0});
  return all;
}

namespace {

/// The loops around the block from `root` inwards, and what is known outside of them.
struct InnerLoops {
  std::vector<const ir::For*> loops;
  arith::Context outside;
  InnerLoops(const Program& program, const ir::Block& block, const Stmt& root)
      : outside(program.context_at(above(program.path_to(root)))) {
    const Path path = program.path_to(block);
    bool inside = false;
    for (const Stmt& s : path) {
      inside = inside || s == root;
      if (const auto* l = s.as<ir::For>(); l && inside) loops.push_back(l);
    }
  }
  static Path above(Path path) {
    path.pop_back();
    return path;
  }
};

/// Do the loops run as often as the box of their bindings has places? Each binding by itself where
/// loops serve one alone: products of many sizes that only the run knows say little.
bool as_many(const std::vector<ir::Var>& loops, const std::vector<Expr>& extents,
             const std::vector<Expr>& bindings, const std::vector<Expr>& places,
             const arith::Context& context) {
  std::vector<Expr> points(bindings.size(), 1);
  bool apart = true;
  for (size_t l = 0; l < loops.size(); ++l) {
    int served = 0;
    for (size_t b = 0; b < bindings.size(); ++b) {
      if (!uses(bindings[b], loops[l])) continue;
      points[b] = points[b] * extents[l];
      ++served;
    }
    apart = apart && served == 1;
  }
  bool same = apart;
  for (size_t b = 0; same && b < bindings.size(); ++b)
    same = context.can_prove_equal(points[b], places[b]);
  if (same) return true;
  const auto product = [](const std::vector<Expr>& factors) {
    Expr out = 1;
    for (const Expr& e : factors) out = out * e;
    return out;
  };
  return context.can_prove_equal(product(extents), product(places));
}

/// The box of the iterators is like a buffer's, so that it widens by the same rules.
std::vector<ir::Range> widened_bindings(const ir::Block& block, const InnerLoops& inner) {
  arith::Context context = inner.outside;
  std::vector<ir::Var> vars;
  for (const ir::For* l : inner.loops) {
    context.bind(l->var, l->min, l->extent);
    vars.push_back(l->var);
  }
  std::vector<Expr> shape;
  ir::Region box;
  for (const ir::BlockIter& it : block.iters) {
    shape.push_back(it.extent);
    box.ranges.push_back({it.binding, 1});
  }
  box.buffer = ir::make_buffer(block.name, ir::Elem::Bool, shape);
  return arith::widen(box, vars, context).ranges;
}

}  // namespace

std::vector<ir::Range> iterated(const Program& program, const ir::Block& block, const Stmt& root) {
  return widened_bindings(block, InnerLoops(program, block, root));
}

std::string why_not_exact(const Program& program, const ir::Block& block, const Stmt& root) {
  const Path path = program.path_to(block);
  for (auto s = std::find(path.begin(), path.end(), root); s != path.end(); ++s)
    if (s->as<ir::If>() || s->as<ir::While>())
      return str("block `", block.name, "` stands under a condition");
  const InnerLoops inner(program, block, root);
  for (const ir::BlockIter& it : block.iters) {
    if (it.kind == ir::IterKind::Spatial) continue;
    for (const ir::For* l : program.loops_around(block))
      if (uses(it.binding, l->var) &&
          std::find(inner.loops.begin(), inner.loops.end(), l) == inner.loops.end())
        return str("the reduction goes on in loop `", l->var.name(), "` outside");
  }
  return why_not_box(program, block, root, /*spatial_only=*/true);
}

std::string why_not_box(const Program& program, const ir::Block& block, const Stmt& root,
                        bool spatial_only) {
  const InnerLoops inner(program, block, root);
  const std::vector<ir::Range> box = widened_bindings(block, inner);
  arith::Context context = inner.outside;
  std::vector<Expr> bindings, places;
  for (size_t i = 0; i < block.iters.size(); ++i) {
    if (spatial_only && block.iters[i].kind != ir::IterKind::Spatial) continue;
    bindings.push_back(block.iters[i].binding);
    places.push_back(box[i].extent);
  }
  std::vector<ir::Var> serving;
  std::vector<Expr> extents;
  ir::VarMap first;
  for (const ir::For* l : inner.loops) {
    const bool serves = std::any_of(bindings.begin(), bindings.end(),
                                    [&](const Expr& e) { return uses(e, l->var); });
    if (!serves) {
      if (!context.can_prove(Expr(1) <= l->extent))
        return str("loop `", l->var.name(), "` may run no iteration");
      first[l->var] = l->min;
      continue;
    }
    serving.push_back(l->var);
    extents.push_back(l->extent);
  }
  for (const ir::For* l : inner.loops) context.bind(l->var, l->min, l->extent);
  if (!as_many(serving, extents, bindings, places, context))
    return str("the loops of block `", block.name, "` do not reach every element of a box");
  if (const arith::IterMap map = arith::iter_map(bindings, serving, context); !map.injective)
    return map.reason;
  if (block.predicate) {
    if (has_load(block.predicate)) return "its predicate reads memory";
    // Outside of the iterators' domain nothing is wanted; inside, the predicate must hold.
    ir::VarMap values;
    for (const ir::BlockIter& it : block.iters) {
      const Expr binding = ir::substitute(it.binding, first);
      values[it.var] = binding;
      context.assume(Expr(0) <= binding);
      context.assume(binding < it.extent);
    }
    if (!context.can_prove(ir::substitute(ir::substitute(block.predicate, values), first)))
      return str("the predicate of block `", block.name, "` leaves elements out");
  }
  return {};
}

std::string why_not_everywhere(const Program& program, const ir::Block& block) {
  const Stmt& all = program.func().body;
  if (const std::string why = why_not_exact(program, block, all); !why.empty()) return why;
  const arith::Context context(program.func());
  const std::vector<ir::Range> box = iterated(program, block, all);
  for (size_t i = 0; i < box.size(); ++i)
    if (!context.can_prove_equal(box[i].min, 0) ||
        !context.can_prove(block.iters[i].extent <= box[i].extent))
      return str("block `", block.name, "` runs only a part of `", block.iters[i].var.name(), "`");
  return {};
}

std::string why_not_whole(const Program& program, const ir::Block& block, const Stmt& root) {
  const InnerLoops inner(program, block, root);
  const std::vector<ir::Range> box = widened_bindings(block, inner);
  arith::Context context = inner.outside;
  for (const ir::For* l : inner.loops) context.bind(l->var, l->min, l->extent);
  std::vector<Expr> bindings;
  std::vector<ir::Var> serving;
  Expr terms = 1, points = 1;
  for (size_t i = 0; i < block.iters.size(); ++i) {
    const ir::BlockIter& it = block.iters[i];
    if (it.kind == ir::IterKind::Spatial) continue;
    bindings.push_back(it.binding);
    terms = terms * box[i].extent;
    if (!inner.outside.can_prove_equal(box[i].min, 0) ||
        !inner.outside.can_prove(it.extent <= box[i].extent))
      return str("only a part of `", it.var.name(), "` is reduced there");
  }
  for (const ir::For* l : inner.loops) {
    if (std::none_of(bindings.begin(), bindings.end(),
                     [&](const Expr& e) { return uses(e, l->var); }))
      continue;
    serving.push_back(l->var);
    points = points * l->extent;
  }
  if (!context.can_prove_equal(points, terms) ||
      !arith::iter_map(bindings, serving, context).injective)
    return str("the loops of block `", block.name, "` do not run each term once");
  if (block.predicate) {
    ir::VarMap values;
    for (const ir::BlockIter& it : block.iters) {
      values[it.var] = it.binding;
      context.assume(Expr(0) <= it.binding);
      context.assume(it.binding < it.extent);
    }
    if (has_load(block.predicate) || !context.can_prove(ir::substitute(block.predicate, values)))
      return str("the predicate of block `", block.name, "` leaves terms out");
  }
  return {};
}

const ir::For* deciding_loop(const Program& program, const ir::Block& block, const Stmt& nest) {
  if (!block.predicate) return nullptr;
  ir::VarMap bindings;
  for (const ir::BlockIter& it : block.iters) bindings[it.var] = it.binding;
  const Expr predicate = ir::substitute(block.predicate, bindings);
  for (const ir::For* l : program.loops_around(*nest))
    if (uses(predicate, l->var)) return l;
  return nullptr;
}

bool starts_below(const Program& program, const ir::Block& block, const Stmt& root) {
  const InnerLoops inner(program, block, root);
  ir::VarMap first;
  for (const ir::For* l : inner.loops) first[l->var] = l->min;
  return std::all_of(block.iters.begin(), block.iters.end(), [&](const ir::BlockIter& it) {
    return it.kind != ir::IterKind::Reduction ||
           inner.outside.can_prove_equal(ir::substitute(it.binding, first), 0);
  });
}

arith::Context context_outside(const Program& program, const Stmt& stmt) {
  return program.context_at(InnerLoops::above(program.path_to(stmt)));
}

bool surely_runs(const Program& program, const Stmt& a, const Stmt& b, const ir::Block* of_b) {
  const Path path = program.path_to(a), other = program.path_to(b);
  const auto split = std::mismatch(path.begin(), path.end(), other.begin(), other.end());
  for (auto s = split.first; s + 1 < path.end(); ++s) {
    if (s->as<ir::Seq>() || s->as<ir::Alloc>() || s->as<ir::Let>()) continue;
    const auto* l = s->as<ir::For>();
    if (!l) return false;
    arith::Context context = context_outside(program, *s);
    for (size_t i = 0; of_b && i < of_b->iters.size(); ++i)
      context.assume(Expr(1) <= of_b->iters[i].extent);
    if (!context.can_prove(Expr(1) <= l->extent)) return false;
  }
  return true;
}

Stmt init_nest(const ir::Block& b, const std::vector<const ir::For*>& spatial_loops,
               const ir::VarMap& first, const std::string& name) {
  ir::VarMap fresh;
  std::vector<ir::Var> vars;
  for (const ir::For* l : spatial_loops) {
    vars.emplace_back(str(l->var.name(), "_init"));
    fresh[l->var] = vars.back();
  }
  const auto at_start = [&](const Expr& e) {
    return ir::substitute(ir::substitute(e, first), fresh);
  };
  ir::VarMap iters, starts;
  std::vector<ir::BlockIter> spatial;
  for (const ir::BlockIter& it : b.iters) {
    if (it.kind == ir::IterKind::Reduction) {
      starts[it.var] = 0;
      continue;
    }
    const ir::Var var(it.var.name());
    iters[it.var] = var;
    spatial.push_back({var, it.kind, it.extent, at_start(it.binding)});
  }
  const auto own = [&](const auto& part) {
    return ir::substitute(ir::substitute(part, starts), iters);
  };
  const Expr predicate = b.predicate ? at_start(own(b.predicate)) : Expr();
  std::vector<ir::Region> writes;
  for (const ir::Region& w : b.writes) writes.push_back(own(w));
  Stmt nest = ir::make_stmt<ir::Block>(b.span, name, spatial, predicate, std::vector<ir::Region>{},
                                       writes, nullptr, own(b.init));
  for (size_t i = spatial_loops.size(); i-- > 0;)
    nest = ir::make_stmt<ir::For>(spatial_loops[i]->span, vars[i], at_start(spatial_loops[i]->min),
                                  at_start(spatial_loops[i]->extent), nest);
  return nest;
}

bool is_written_before(const Program& program, const ir::Region& region, const Stmt& place,
                       const arith::Context& context) {
  if (const ir::Param* p = param_of(program.func(), region.buffer))
    if (p->access != ir::Access::Out) return true;
  for (const Access& a : accesses_of(program.func().body)) {
    if (!a.write || !a.block || a.region.buffer != region.buffer) continue;
    const Stmt nest = nest_of(program, *a.block);
    if (!stands_before(program, nest, place) || !surely_runs(program, nest, place)) continue;
    // Nothing but an exact box is known to be written all over.
    bool plain = !a.block->opaque;
    std::vector<ir::Range> written;
    const std::vector<ir::Range> box = iterated(program, *a.block, nest);
    for (const ir::Region& w : a.block->writes) {
      if (w.buffer != region.buffer) continue;
      for (const ir::Range& r : w.ranges) {
        const auto it = std::find_if(a.block->iters.begin(), a.block->iters.end(),
                                     [&](const ir::BlockIter& i) { return i.var == r.min; });
        plain = plain && it != a.block->iters.end() && it->kind == ir::IterKind::Spatial &&
                ir::is_const(r.extent, 1);
        if (plain) written.push_back(box[static_cast<size_t>(it - a.block->iters.begin())]);
      }
    }
    if (!plain || !why_not_exact(program, *a.block, nest).empty()) continue;
    if (arith::covers({region.buffer, written, {}}, region, context)) return true;
  }
  return false;
}

bool overwrites(const Program& program, const ir::Block& block, const ir::Buffer& buffer) {
  arith::Context context(program.func());
  std::vector<ir::Var> vars;
  for (const ir::BlockIter& it : block.iters) {
    if (it.kind == ir::IterKind::Reduction || ir::is_const(it.extent, 1)) continue;
    context.bind(it.var, 0, it.extent);
    vars.push_back(it.var);
  }
  if (vars.empty()) return false;
  for (const ir::Region& w : block.writes) {
    if (w.buffer != buffer) continue;
    std::vector<Expr> index;
    for (const ir::Range& r : w.ranges) {
      if (!ir::is_const(r.extent, 1)) return true;
      index.push_back(r.min);
    }
    if (!arith::iter_map(index, vars, context).injective) return true;
  }
  return false;
}

namespace {

/// The innermost statement that holds every mention of `buffer`.
Path innermost_around(const Stmt& body, const ir::Buffer& buffer) {
  Path common, path;
  bool any = false;
  const auto visit = [&](const auto& self, const Stmt& s) -> void {
    path.push_back(s);
    bool mentions = false;
    ir::map_children(
        s, {[&](const Expr& e) {
              ir::walk(e, [&](const ir::Load& l) { mentions = mentions || l.buffer == buffer; });
              return e;
            },
            [](const Stmt& child) { return child; },
            [&](const ir::Buffer& b) {
              mentions = mentions || (b == buffer && !s.as<ir::Alloc>());
              return b;
            }});
    if (mentions) {
      if (!any) common = path;
      const auto split = std::mismatch(common.begin(), common.end(), path.begin(), path.end());
      common.erase(split.first, common.end());
      any = true;
    }
    ir::for_each_child(s, [](const Expr&) {}, [&](const Stmt& child) { self(self, child); });
    path.pop_back();
  };
  visit(visit, body);
  return common;
}

}  // namespace

namespace {

/// A buffer that each thread or lane had for itself may become one for all only when none of them
/// writes it.
void require_unshared(const Stmt& outer, const ir::Buffer& buffer) {
  const ir::For* shared = nullptr;
  ir::walk(outer, [&](const ir::For& l) {
    const bool in_order = l.loop == ir::ForKind::Serial || l.loop == ir::ForKind::Unrolled;
    bool holds = false;
    ir::walk(l.body, [&](const ir::Alloc& a) { holds = holds || a.buffer == buffer; });
    if (!in_order && holds) shared = &l;
    return holds && !shared;
  });
  if (!shared) return;
  for (const Access& a : accesses_of(shared->body))
    if (a.write && a.region.buffer == buffer)
      throw Error(
          {.code = "schedule.alloc.threads",
           .message =
               str("cannot move a use of `", buffer->name, "` out of `", shared->var.name(), "`"),
           .notes = {str("`", shared->var.name(), "` is ", ir::name(shared->loop),
                         ", and each of its iterations writes a `", buffer->name, "` of its own")},
           .help = "move the block before saying how the loop runs"});
}

}  // namespace

void widen_allocations(Program& program) {
  std::vector<ir::Buffer> allocated;
  ir::walk(program.func().body, [&](const ir::Alloc& a) { allocated.push_back(a.buffer); });
  for (const ir::Buffer& buffer : allocated) {
    const Path around = innermost_around(program.func().body, buffer);
    if (around.empty()) continue;
    const Stmt alloc = Stmt::of(*allocation_of(program, buffer));
    if (std::find(around.begin(), around.end(), alloc) != around.end()) continue;
    require_unshared(around.back(), buffer);
    const Stmt inner = ir::rewrite(around.back(), [&](const ir::Alloc& a, auto& self) -> Stmt {
      return a.buffer == buffer ? self(a.body) : self.children(a);
    });
    program.replace(around.back(), ir::make_stmt<ir::Alloc>(alloc->span, buffer, inner));
  }
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
