// SPDX-License-Identifier: Apache-2.0
// cache_read, cache_write: a copy of a buffer in another scope.
#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

[[noreturn]] void refuse(const char* code, std::string_view step, const ir::Block& block,
                         const std::string& note, const std::string& help) {
  throw Error({.code = code,
               .message = str("cannot ", step, " for block `", block.name, "`"),
               .notes = {note},
               .help = help});
}

ir::Buffer find_buffer(const std::vector<ir::Region>& regions, const std::string& name,
                       std::string_view step, const ir::Block& block) {
  ir::Buffer found;
  std::string known;
  for (const ir::Region& r : regions) {
    known += (known.empty() ? "`" : ", `") + r.buffer->name + "`";
    if (r.buffer->name == name) found = r.buffer;
  }
  if (!found)
    refuse("schedule.cache.buffer", step, block,
           str("it does not touch a buffer `", name, "`; its buffers are ", known),
           "name one of these");
  return found;
}

/// A call wants its operands in the scope that the instruction declares.
void refuse_calls(const Stmt& root, const ir::Buffer& buffer, std::string_view step,
                  const ir::Block& block) {
  ir::walk(root, [&](const ir::InstrCall& c) {
    for (const ir::Region& r : c.operands)
      if (r.buffer == buffer)
        refuse("schedule.cache.call", step, block,
               str("a call of instruction `", c.instr->name, "` works on `", buffer->name, "`"),
               str("use ", step, " before tensorize"));
  });
}

/// Does the block add to what stands in `buffer`, by itself or by what it holds?
bool reduces_into(const ir::Block& block, const ir::Buffer& buffer) {
  bool found = false;
  ir::walk(
      block.body,
      [&](const ir::Update& u) {
        for (const ir::Target& t : u.targets) found = found || t.buffer == buffer;
      },
      [&](const ir::InstrCall& c) {
        for (size_t i = 0; i < c.operands.size(); ++i)
          found = found || (c.operands[i].buffer == buffer && c.form == ir::InstrForm::Update);
      });
  return found;
}

/// for … { block copy(v…) { to[v…] = from[v…] } } over `region`.
Stmt copy_nest(const std::string& block_name, const ir::Region& region, const ir::Buffer& from,
               const ir::Buffer& to, const arith::Context& context) {
  std::vector<ir::BlockIter> iters;
  std::vector<Expr> index;
  Placement placement;
  std::vector<ir::Range> points;
  for (size_t d = 0; d < region.ranges.size(); ++d) {
    const ir::Var v(str("v", d));
    iters.push_back({v, ir::IterKind::Spatial, from->shape[d], v});
    index.push_back(v);
    points.push_back({v, 1});
    placement.domain.push_back(region.ranges[d]);
  }
  const Stmt block = ir::make_stmt<ir::Block>(
      Span{}, block_name, iters, nullptr, std::vector<ir::Region>{{from, points, {}}},
      std::vector<ir::Region>{{to, points, {}}}, nullptr,
      ir::make_stmt<ir::Store>({}, to, index, ir::load(from, index)));
  return place_block(*block.as<ir::Block>(), placement, nullptr, context);
}

ir::Buffer cache_of(const ir::Buffer& buffer, const ir::Scope& scope) {
  std::string suffix = print(scope);
  std::replace(suffix.begin(), suffix.end(), '.', '_');
  return ir::make_buffer(str(buffer->name, "_", suffix), buffer->elem, buffer->shape, scope);
}

}  // namespace

/// for i { C[i] = f(A[i]) }
///   ->  for i { A_shared[i] = A[i] }   for i { C[i] = f(A_shared[i]) }
Results CacheRead::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  const ir::Buffer from = find_buffer(b.reads, buffer, name, b);
  require_outside_of_blocks(program, b, name);
  const Stmt nest = nest_of(program, b);
  refuse_calls(nest, from, name, b);
  for (const Access& a : accesses_of(nest))
    if (a.write && a.region.buffer == from)
      refuse("schedule.cache_read.written", name, b,
             str("`", from->name, "` is written inside the block's own loops"),
             "a copy made before them would be out of date");
  const arith::Context context = context_outside(program, nest);
  const ir::Region region = touched(nest, from, false, context);
  if (!is_written_before(program, region, nest, context))
    refuse("schedule.cache_read.unwritten", name, b,
           str("not all of ", print(region), " is known to be written before"),
           "cache a parameter, or the whole result of one block");
  const ir::Buffer cache = cache_of(from, scope);
  const std::string copy_name = program.fresh_block_name(cache->name);
  const Stmt copy = copy_nest(copy_name, region, from, cache, context);
  const Stmt reader = ir::substitute_buffers(nest, {{from, cache}});
  program.replace(nest, ir::make_stmt<ir::Alloc>({}, cache, ir::seq({copy, reader})));
  return {BlockResult{copy_name}};
}

/// for i { C[i] = f(A[i]) }
///   ->  for i { C_register[i] = f(A[i]) }   for i { C[i] = C_register[i] }
Results CacheWrite::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  const ir::Buffer to = find_buffer(b.writes, buffer, name, b);
  require_outside_of_blocks(program, b, name);
  const Stmt nest = nest_of(program, b);
  refuse_calls(nest, to, name, b);
  for (const ir::Region& r : b.reads)
    if (r.buffer == to)
      refuse("schedule.cache_write.read", name, b,
             str("the block reads `", to->name, "` besides writing it"),
             "cache a result that the block only writes or reduces into");
  if (reduces_into(b, to) && (!b.init || !starts_below(program, b, nest)))
    refuse("schedule.cache_write.init", name, b,
           str("it goes on reducing what another block put into `", to->name, "`"),
           "cache the result before decompose_reduction or rfactor splits the init off");
  if (const std::string why = why_not_exact(program, b, nest); !why.empty())
    refuse("schedule.cache_write.partial", name, b, why,
           "cache a result whose block fills a whole box");
  require_plain_result(b, name);
  const arith::Context context = context_outside(program, nest);
  const ir::Region region = touched(nest, to, true, context);
  const ir::Buffer cache = cache_of(to, scope);
  const std::string copy_name = program.fresh_block_name(str(to->name, "_copy"));
  const Stmt copy = copy_nest(copy_name, region, cache, to, context);
  const Stmt writer = ir::substitute_buffers(nest, {{to, cache}});
  program.replace(nest, ir::make_stmt<ir::Alloc>({}, cache, ir::seq({writer, copy})));
  return {BlockResult{copy_name}};
}

Results SetScope::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  const ir::Buffer old = find_buffer(b.writes, buffer, name, b);
  if (param_of(program.func(), old))
    refuse("schedule.set_scope.param", name, b,
           str("`", old->name, "` is a parameter of the function"),
           "parameters are global; cache_write makes a copy in another scope");
  refuse_calls(program.func().body, old, name, b);
  const ir::Buffer now = ir::make_buffer(old->name, old->elem, old->shape, scope, old->layout,
                                         old->alignment, old->span);
  try {
    ir::verify(*now, program.func().symbols);
  } catch (const Error& e) {
    refuse("schedule.set_scope.layout", name, b, e.diagnostic.message,
           "set the scope before the layout");
  }
  program.set_body(ir::substitute_buffers(program.func().body, {{old, now}}));
  return {};
}

}  // namespace tilewright::schedule
