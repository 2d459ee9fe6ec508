// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Stmt;

struct Refuse {
  const ir::Buffer& buffer;
  const ir::For& loop;
  [[noreturn]] void operator()(const char* code, const std::string& note,
                               const std::string& help) const {
    throw Error({.code = code,
                 .message = str("cannot store `", buffer->name, "` at `", loop.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  }
};

bool is_concurrent(const ir::For& l) {
  return l.loop != ir::ForKind::Serial && l.loop != ir::ForKind::Unrolled;
}

/// Does the block combine with what stands in the buffer, rather than just write it?
bool adds(const ir::Block& block) {
  bool found = false;
  ir::walk(block.body, [&](const ir::Update&) { found = true; });
  return found;
}

/// Every element that a block inside reads of the buffer was written before, in the same iteration.
void check_iteration(const Program& program, const ir::Buffer& buffer, const ir::For& loop,
                     const Refuse& refuse) {
  for (const Access& a : accesses_of(loop.body)) {
    if (a.region.buffer != buffer) continue;
    const Stmt nest = nest_of(program, *a.block);
    const Stmt root = contains(nest, Stmt::of(loop)) ? loop.body : nest;
    const arith::Context context = context_outside(program, root);
    if (a.write && !adds(*a.block)) continue;
    // A reduction that starts here needs nothing from before; any other adds to what stands there.
    if (a.write && a.block->init && starts_below(program, *a.block, root)) {
      if (const std::string why = why_not_exact(program, *a.block, root); !why.empty())
        refuse("schedule.store_at.flow",
               str("block `", a.block->name, "` reduces into it, and ", why),
               "choose a loop that holds the whole reduction");
      continue;
    }
    const ir::Region region = touched(root, buffer, a.write, context);
    if (!is_written_before(program, region, root, context))
      refuse("schedule.store_at.flow",
             str("block `", a.block->name, "` ", a.write ? "adds to " : "reads ", print(region),
                 ", which is not known to be written before in the same iteration"),
             "choose a loop whose iterations do not hand values on, or compute_at first");
  }
}

/// The path from `outer` to `inner`, both left out.
Path between(const Program& program, const Stmt& outer, const Stmt& inner) {
  const Path path = program.path_to(inner);
  return Path(std::find(path.begin(), path.end(), outer) + 1, path.end() - 1);
}

/// Outwards: more iterations share the buffer, which only threads and lanes would notice.
void raise(Program& program, const ir::Alloc& alloc, const ir::For& loop, const Refuse& refuse) {
  const ir::Buffer buffer = alloc.buffer;
  for (const Stmt& s : between(program, Stmt::of(loop), Stmt::of(alloc))) {
    const auto* l = s.as<ir::For>();
    if (l && is_concurrent(*l))
      refuse("schedule.store_at.threads",
             str("the iterations of `", l->var.name(), "`, which is ", name(l->loop),
                 ", would share it"),
             "store it inside of that loop");
    const auto* let = s.as<ir::Let>();
    for (const ir::Expr& extent : buffer->shape)
      if ((l && uses(extent, l->var)) || (let && uses(extent, let->var)))
        refuse("schedule.store_at.shape",
               str("its shape depends on `", (l ? l->var : let->var).name(), "`"),
               "store it inside of that");
  }
  const ir::Var var = loop.var;
  program.replace(alloc, alloc.body);
  const ir::For& now = *find_loop(program.func().body, var);
  program.replace(now, ir::with(now, [&](ir::For& f) {
                    f.body = ir::make_stmt<ir::Alloc>({}, buffer, f.body);
                  }));
}

}  // namespace

Results StoreAt::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  require_outside_of_blocks(program, b, name);
  const ir::Var var = program.loop(loop).var;
  std::vector<ir::Buffer> buffers;
  for (const ir::Region& w : b.writes)
    if (!std::count(buffers.begin(), buffers.end(), w.buffer)) buffers.push_back(w.buffer);
  for (const ir::Buffer& buffer : buffers) {
    const ir::For& at = program.loop(loop);
    const Refuse refuse{buffer, at};
    if (param_of(program.func(), buffer))
      refuse("schedule.store_at.param", "it is a parameter of the function",
             "use cache_write first, and store the cache");
    for (const Access& a : accesses_of(program.func().body)) {
      if (a.region.buffer != buffer) continue;
      if (!a.block) refuse("schedule.store_at.use", "a plain statement uses it", "use blocks only");
      if (!contains(at.body, Stmt::of(*a.block)))
        refuse("schedule.store_at.use",
               str("block `", a.block->name, "` uses it outside of `", var.name(), "`"),
               "choose a loop around all of its uses");
    }
    const Stmt alloc = Stmt::of(*allocation_of(program, buffer));
    if (contains(at.body, alloc)) {
      raise(program, *alloc.as<ir::Alloc>(), at, refuse);
      continue;
    }
    Path crossed = between(program, alloc, Stmt::of(at));
    crossed.push_back(Stmt::of(at));
    const ir::ScopeKind scope = buffer->scope.kind;
    const bool own = scope == ir::ScopeKind::Global || scope == ir::ScopeKind::Register ||
                     scope == ir::ScopeKind::Tile;
    for (const Stmt& s : crossed)
      if (const auto* l = s.as<ir::For>(); l && is_concurrent(*l) && !own)
        refuse("schedule.store_at.threads",
               str("it is ", print(buffer->scope), " memory, which the iterations of `",
                   l->var.name(), "` share"),
               "store it outside of that loop");
    check_iteration(program, buffer, at, refuse);
    sink_allocation(program, buffer, var);
  }
  return {};
}

}  // namespace tilewright::schedule
