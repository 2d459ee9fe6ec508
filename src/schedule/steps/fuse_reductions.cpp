// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "schedule/loop_checks.h"
#include "schedule/nests.h"
#include "schedule/slots.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

[[noreturn]] void refuse(const char* code, const ir::Block& block, const std::string& note,
                         const std::string& help) {
  throw Error({.code = code,
               .message = str("cannot fuse the reduction of block `", block.name, "`"),
               .notes = {note},
               .help = help});
}

/// A reduction of one value with an init, and the loop that holds nothing else.
struct Reduction {
  const ir::Block& block;
  const ir::For& loop;
  const ir::Update& update;
  const ir::Target& target() const { return update.targets[0]; }
};

Reduction reduction_of(const Program& program, const ir::Block& block) {
  const auto* update = block.body.as<ir::Update>();
  const bool ordered = std::any_of(block.iters.begin(), block.iters.end(),
                                   [](const auto& it) { return it.kind == ir::IterKind::Ordered; });
  if (!update || update->targets.size() != 1 || !block.init || block.opaque || ordered)
    refuse("schedule.fuse_reductions.block", block,
           "it is not a reduction of one value that holds its own init",
           "fuse reductions before decompose_reduction, rfactor or tensorize change them");
  require_plain_result(block, "fuse");
  const auto* loop = nest_of(program, block).as<ir::For>();
  if (!loop)
    refuse("schedule.fuse_reductions.loop", block, "no loop holds this block alone",
           "use it on loops that hold one reduction each");
  require_serial(*loop, "fuse");
  return {block, *loop, *update};
}

/// The first one's loop and its neighbours, of equal range.
void check_loops(const Program& program, const std::vector<Reduction>& all) {
  const Path path = program.path_to(all[0].loop);
  const auto* siblings = path.size() > 1 ? path[path.size() - 2].as<ir::Seq>() : nullptr;
  const arith::Context context = program.context_at(path);
  for (size_t j = 1; j < all.size(); ++j) {
    const auto place = siblings ? std::find(siblings->stmts.begin(), siblings->stmts.end(),
                                            Stmt::of(all[j - 1].loop))
                                : std::vector<Stmt>::const_iterator();
    if (!siblings || place == siblings->stmts.end() || place + 1 == siblings->stmts.end() ||
        place[1] != Stmt::of(all[j].loop))
      refuse("schedule.fuse_reductions.loop", all[j].block,
             str("its loop `", all[j].loop.var.name(), "` does not directly follow `",
                 all[j - 1].loop.var.name(), "` of block `", all[j - 1].block.name, "`"),
             "merge the loops around both, so that the reductions are neighbours");
    if (!context.can_prove_equal(all[0].loop.min, all[j].loop.min) ||
        !context.can_prove_equal(all[0].loop.extent, all[j].loop.extent))
      refuse("schedule.fuse_reductions.loop", all[j].block,
             str("its loop has ", print(all[j].loop.extent), " iterations, that of block `",
                 all[0].block.name, "` ", print(all[0].loop.extent)),
             "split both reductions by the same factors");
  }
}

/// Besides the first result, which the others read, no one touches what another one makes.
void check_independent(const std::vector<Reduction>& all) {
  for (size_t i = 0; i < all.size(); ++i)
    for (const Access& a : accesses_of(Stmt::of(all[i].loop)))
      for (size_t j = 0; j < all.size(); ++j) {
        if (i == j && a.write) continue;
        if (a.region.buffer != all[j].target().buffer) continue;
        if (j == 0 && i > 0 && !a.write && a.block == &all[i].block) continue;
        refuse("schedule.fuse_reductions.dependence", all[i].block,
               str("it touches `", a.region.buffer->name, "`, the result of block `",
                   all[j].block.name, "`"),
               "only the first result may be used by the others while it grows");
      }
}

void factors_of(const Expr& e, std::vector<Expr>& out) {
  const auto* product = e.as<ir::Binary>();
  if (!product || product->op != ir::BinaryOp::Mul) return out.push_back(e);
  factors_of(product->a, out);
  factors_of(product->b, out);
}

bool loads(const Expr& e, const ir::Buffer& buffer) {
  bool found = false;
  ir::walk(e, [&](const ir::Load& l) { found = found || l.buffer == buffer; });
  return found;
}

/// How one later reduction depends on the first.
struct Law {
  std::vector<Expr> index;  // of the first result, in terms of the block's spatial iterators
  Expr scale;               // the law's e(from, to)
};

/// The one place of the first result that the block reads, by its spatial iterators.
std::vector<Expr> index_of_first(const Reduction& later, const ir::Buffer& result) {
  std::vector<Expr> index;
  bool read = false, one = true;
  ir::walk(later.update.values[0], [&](const ir::Load& l) {
    if (l.buffer != result) return;
    if (!read) index = l.indices;
    read = true;
    for (size_t d = 0; d < index.size(); ++d) one = one && ir::equal(index[d], l.indices[d]);
  });
  if (!read || !one)
    refuse("schedule.fuse_reductions.term", later.block,
           str("its term does not read one element of `", result->name, "`"),
           "fuse a reduction whose terms depend on the first result");
  for (const ir::BlockIter& it : later.block.iters)
    for (const Expr& e : index)
      if (has_load(e) || (it.kind != ir::IterKind::Spatial && uses(e, it.var)))
        refuse("schedule.fuse_reductions.term", later.block,
               str("which element of `", result->name, "` it reads changes as it reduces"),
               "fuse reductions over the same rows");
  return index;
}

/// e(from, to) of a law p * e(from, to).
Expr scale_of(const Reduction& later, ir::Elem first) {
  const ir::ReducerNode& reducer = *later.update.reducer;
  if (reducer.rescale.empty())
    refuse("schedule.fuse_reductions.law", later.block,
           str("its reducer `", reducer.name, "` has no rescale law"),
           "declare how a partial result changes with the first one (te::with_rescale)");
  if (reducer.from.size() != 1 || reducer.from[0].type().elem != first)
    refuse("schedule.fuse_reductions.law", later.block,
           str("the rescale law of `", reducer.name, "` is about values of other types"),
           "declare a law about the first result");
  const auto* law = reducer.rescale[0].as<ir::Binary>();
  if (law && law->op == ir::BinaryOp::Mul) {
    if (law->a == reducer.partial[0] && !uses(law->b, reducer.partial[0])) return law->b;
    if (law->b == reducer.partial[0] && !uses(law->a, reducer.partial[0])) return law->a;
  }
  refuse("schedule.fuse_reductions.law", later.block,
         str("the rescale law of `", reducer.name, "` is not the partial result times a factor"),
         "declare a law of the form p * e(from, to)");
}

/// Does iteration after iteration of the merged loop see the same part of both iterators?
bool same_part(const Program& program, const Reduction& first, size_t mine, const Reduction& later,
               size_t theirs) {
  const ir::Range a = iterated(program, first.block, first.loop.body)[mine];
  const ir::Range b = iterated(program, later.block, later.loop.body)[theirs];
  const arith::Context context = program.context_at(program.path_to(first.loop));
  const auto at = [&](const Expr& e) { return ir::substitute(e, later.loop.var, first.loop.var); };
  return context.can_prove_equal(a.min, at(b.min)) &&
         context.can_prove_equal(a.extent, at(b.extent));
}

/// The term of `later` is g * e(x, m), where x is the term of the first and m its result. Which of
/// its reduction iterators are those of the first is tried out.
bool follows_law(const Program& program, const Reduction& first, const Reduction& later,
                 const Law& law, size_t next, ir::VarMap& map) {
  for (; next < first.block.iters.size(); ++next) {
    const ir::BlockIter& it = first.block.iters[next];
    if (it.kind != ir::IterKind::Reduction) continue;
    for (size_t i = 0; i < later.block.iters.size(); ++i) {
      if (later.block.iters[i].kind != ir::IterKind::Reduction ||
          !same_part(program, first, next, later, i))
        continue;
      map[it.var] = later.block.iters[i].var;
      if (follows_law(program, first, later, law, next + 1, map)) return true;
    }
    return false;
  }
  const ir::ReducerNode& reducer = *later.update.reducer;
  const ir::Buffer& result = first.target().buffer;
  const Expr wanted =
      ir::substitute(law.scale, {{reducer.from[0], ir::substitute(first.update.values[0], map)},
                                 {reducer.to[0], ir::load(result, law.index)}});
  std::vector<Expr> factors;
  factors_of(later.update.values[0], factors);
  size_t matching = 0;
  for (const Expr& f : factors) {
    if (ir::equal(f, wanted))
      ++matching;
    else if (loads(f, result))
      return false;
  }
  return matching == 1;
}

Law law_of(const Program& program, const Reduction& first, const Reduction& later) {
  const ir::Buffer& result = first.target().buffer;
  const Law law{index_of_first(later, result), scale_of(later, result->elem)};
  const ResultIndex dims = require_plain_result(first.block, "fuse");
  ir::VarMap map;
  for (size_t d = 0; d < dims.iter_of_dim.size(); ++d)
    map[first.block.iters[static_cast<size_t>(dims.iter_of_dim[d])].var] = law.index[d];
  for (const ir::BlockIter& it : first.block.iters)  // of extent 1 where it indexes nothing
    if (it.kind == ir::IterKind::Spatial && !map.contains(it.var)) map[it.var] = 0;
  if (!follows_law(program, first, later, law, 0, map))
    refuse(
        "schedule.fuse_reductions.term", later.block,
        str("its term ", print(later.update.values[0]), " is not a factor times ", print(law.scale),
            " from the terms of block `", first.block.name, "` to their result"),
        "write the term as the rescale law changes it, over the same part of the axis");
  return law;
}

/// In every iteration the first block reaches all that the later one uses.
void check_covered(const Program& program, const Reduction& first, const Reduction& later) {
  if (const std::string why =
          why_not_box(program, first.block, first.loop.body, /*spatial_only=*/false);
      !why.empty())
    refuse("schedule.fuse_reductions.part", first.block, why,
           "fuse reductions whose loops fill whole boxes");
  if (const std::string why =
          why_not_box(program, later.block, later.loop.body, /*spatial_only=*/true);
      !why.empty())
    refuse("schedule.fuse_reductions.part", later.block, why,
           "fuse reductions whose loops fill whole boxes");
  const ir::Buffer& result = first.target().buffer;
  const arith::Context context = program.context_at(program.path_to(first.loop));
  const Stmt theirs = ir::substitute(later.loop.body, later.loop.var, first.loop.var);
  if (!arith::covers(touched(first.loop.body, result, true, context),
                     touched(theirs, result, false, context), context))
    refuse("schedule.fuse_reductions.part", later.block,
           str("an iteration reads more of `", result->name, "` than block `", first.block.name,
               "` reduces in it"),
           "tile both reductions alike");
}

/// for … { block name { to[i] = value } } over the spatial iterators of `like`, in the loop's turn.
Stmt nest_like(Program& program, const Reduction& like, const std::string& name,
               const ir::Buffer& to, const std::vector<ir::Region>& reads, const Expr& value,
               const ir::For& loop) {
  std::vector<ir::BlockIter> iters;
  Placement placement;
  ir::VarMap fresh;
  const std::vector<ir::Range> box = iterated(program, like.block, like.loop.body);
  for (size_t i = 0; i < like.block.iters.size(); ++i) {
    const ir::BlockIter& it = like.block.iters[i];
    if (it.kind != ir::IterKind::Spatial) continue;
    const ir::Var var(it.var.name());
    fresh[it.var] = var;
    iters.push_back({var, it.kind, it.extent, var});
    placement.domain.push_back({ir::substitute(box[i].min, like.loop.var, loop.var),
                                ir::substitute(box[i].extent, like.loop.var, loop.var)});
  }
  std::vector<Expr> index;
  ir::Region written{.buffer = to, .ranges = {}, .rank = {}};
  for (const Expr& e : like.target().indices) {
    index.push_back(ir::substitute(e, fresh));
    written.ranges.push_back({index.back(), 1});
  }
  std::vector<ir::Region> regions;
  for (const ir::Region& r : reads) regions.push_back(ir::substitute(r, fresh));
  const Stmt block = ir::make_stmt<ir::Block>(
      like.block.span, program.fresh_block_name(name), iters, nullptr, regions,
      std::vector<ir::Region>{written}, nullptr,
      ir::make_stmt<ir::Store>({}, to, index, ir::substitute(value, fresh)));
  const arith::Context context = program.context_at(program.path_to(loop));
  const Stmt nest = place_block(*block.as<ir::Block>(), placement, nullptr, context);
  return ir::rewrite(nest,
                     [&](const ir::Block& b, auto&) -> Stmt { return in_turn(b, loop).first; });
}

ir::Region point(const ir::Buffer& buffer, const std::vector<Expr>& index) {
  ir::Region out{.buffer = buffer, .ranges = {}, .rank = {}};
  for (const Expr& e : index) out.ranges.push_back({e, 1});
  return out;
}

/// The body of a reduction's loop, without its init, in the merged loop's turn.
Stmt body_in_turn(const Reduction& r, const ir::For& loop, const Expr& value) {
  const Stmt body = ir::rewrite(r.loop.body, [&](const ir::Block& b, auto&) -> Stmt {
    return ir::with(b, [&](ir::Block& n) {
      n.init = nullptr;
      n.body = ir::with(r.update, [&](ir::Update& u) { u.values[0] = value; });
    });
  });
  return ir::rewrite(ir::substitute(body, r.loop.var, loop.var),
                     [&](const ir::Block& b, auto&) -> Stmt { return in_turn(b, loop).first; });
}

}  // namespace

Results FuseReductions::apply(Program& program) const {
  std::vector<Reduction> all;
  for (const BlockRef& b : blocks) {
    require_outside_of_blocks(program, program.block(b), name);
    all.push_back(reduction_of(program, program.block(b)));
  }
  if (all.size() < 2 || &all[0].loop != &program.loop(loop))
    throw Error({.code = "schedule.fuse_reductions.blocks",
                 .message = str("cannot fuse ", all.size(), " reductions along `",
                                program.loop(loop).var.name(), "`"),
                 .notes = {"it must be the outermost loop that the first of at least two blocks "
                           "has for itself"},
                 .help = "name that loop, the first reduction, and those that use its result"});
  check_loops(program, all);
  check_independent(all);
  const Reduction& first = all[0];
  const ir::For& k = first.loop;
  const ir::Buffer& result = first.target().buffer;

  // Everything that the merged loop holds, made from the program as it stands.
  ir::Scope scope;  // of what an iteration keeps: its thread's, where threads are around
  for (const ir::For* l : program.loops_around(k))
    if (l->loop == ir::ForKind::Bound && l->axis >= ir::ThreadAxis::ThreadX)
      scope.kind = ir::ScopeKind::Register;
  const ir::Buffer was = ir::make_buffer(result->name + "_was", result->elem, result->shape, scope);
  std::vector<Stmt> stmts = {
      nest_like(program, first, was->name, was, {point(result, first.target().indices)},
                ir::load(result, first.target().indices), k),
      body_in_turn(first, k, first.update.values[0])};
  for (size_t j = 1; j < all.size(); ++j) {
    const Reduction& later = all[j];
    const Law law = law_of(program, first, later);
    check_covered(program, first, later);
    const ir::ReducerNode& reducer = *later.update.reducer;
    const ir::Target& own = later.target();
    const Expr now = ir::load(result, law.index), before = ir::load(was, law.index);
    const Expr partial = ir::load(own.buffer, own.indices);
    const Expr rescaled = ir::substitute(
        reducer.rescale[0],
        {{reducer.partial[0], partial}, {reducer.from[0], before}, {reducer.to[0], now}});
    // Where nothing has changed the law may have no value: from -inf to -inf.
    stmts.push_back(
        nest_like(program, later, later.block.name + "_rescale", own.buffer,
                  {point(own.buffer, own.indices), point(result, law.index), point(was, law.index)},
                  ir::select(eq(before, now), partial, rescaled), k));
    // As long as the first result is the identity, so are all its terms, and the law takes what
    // they add to the identity as soon as it changes.
    stmts.push_back(body_in_turn(later, k,
                                 ir::select(eq(now, first.update.reducer->identity[0]),
                                            reducer.identity[0], later.update.values[0])));
  }
  const Stmt fused =
      ir::with(k, [&](ir::For& f) { f.body = ir::make_stmt<ir::Alloc>({}, was, ir::seq(stmts)); });

  // The inits go before the merged loop.
  std::vector<ir::Var> vars;
  std::vector<std::string> names;
  for (const Reduction& r : all) {
    vars.push_back(r.loop.var);
    names.push_back(r.block.name);
  }
  for (size_t j = 0; j < names.size(); ++j)
    split_init_off(program, *program.find_block(names[j]),
                   *find_loop(program.func().body, vars[j]));
  for (size_t j = 1; j < vars.size(); ++j)
    remove(program, Stmt::of(*find_loop(program.func().body, vars[j])));
  const Stmt old = Stmt::of(*find_loop(program.func().body, vars[0]));
  const Path path = program.path_to(old);
  const auto* siblings = path[path.size() - 2].as<ir::Seq>();
  require(siblings, "the inits of fused reductions stand beside their loop");
  std::vector<Stmt> order;
  // Behind the first loop stand the inits of the others, in order, then what followed them.
  const auto at = std::find(siblings->stmts.begin(), siblings->stmts.end(), old);
  order.insert(order.end(), siblings->stmts.begin(), at);
  const auto rest = at + static_cast<std::ptrdiff_t>(vars.size());
  order.insert(order.end(), at + 1, rest);
  order.push_back(fused);
  order.insert(order.end(), rest, siblings->stmts.end());
  program.replace(path[path.size() - 2], ir::seq(order));
  return {};
}

}  // namespace tilewright::schedule
