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
  [[noreturn]] void operator()(const char* code, const std::string& note,
                               const std::string& help) const {
    throw Error({.code = code,
                 .message = str("cannot pad block `", block.name, "`"),
                 .notes = {note},
                 .help = help});
  }
};

/// A buffer that padded iterators index, each dimension by one of the block's iterators.
struct Operand {
  ir::Buffer buffer, padded;
  std::vector<size_t> iters;  // by dimension
};

/// How far each iterator runs after padding, and which do change.
struct Domain {
  std::vector<Expr> extents;
  std::vector<bool> padded;
};

Domain padded_domain(const Program& program, const ir::Block& b,
                     const std::vector<Number>& multiples, const Refuse& refuse) {
  if (multiples.size() != b.iters.size())
    refuse("schedule.pad.multiples",
           str("it has ", b.iters.size(), " iterators, there are ", multiples.size(), " multiples"),
           "give one multiple for each iterator, 1 where nothing is padded");
  const arith::Context context(program.func());
  Domain out;
  for (size_t i = 0; i < b.iters.size(); ++i) {
    const int64_t m = multiples[i].open ? 0 : program.value(multiples[i]);
    if (m < 1 || m > int64_t{1} << 20)
      refuse("schedule.pad.multiples", str("the multiple for `", b.iters[i].var.name(), "` is ", m),
             "use multiples of 1 to 2^20");
    const Expr wanted = context.simplify(ir::ceil_div(b.iters[i].extent, m) * m);
    out.padded.push_back(!context.can_prove_equal(wanted, b.iters[i].extent));
    out.extents.push_back(out.padded.back() ? wanted : b.iters[i].extent);
  }
  return out;
}

/// The iterators that are the index of an access, one per dimension; empty when it is no such
/// index.
std::vector<size_t> plain_index(const ir::Block& b, const std::vector<Expr>& indices) {
  std::vector<size_t> out;
  for (const Expr& e : indices) {
    const auto it = std::find_if(b.iters.begin(), b.iters.end(),
                                 [&](const ir::BlockIter& i) { return i.var == e; });
    if (it == b.iters.end()) return {};
    out.push_back(static_cast<size_t>(it - b.iters.begin()));
  }
  return out;
}

/// The buffers that the block reads at padded iterators.
std::vector<Operand> inputs_of(const Program& program, const ir::Block& b, const Domain& domain,
                               const Refuse& refuse) {
  const arith::Context context(program.func());
  std::vector<Operand> out;
  const auto add = [&](const ir::Load& l) {
    bool concerned = false;
    for (size_t i = 0; i < b.iters.size(); ++i)
      for (const Expr& e : l.indices)
        concerned = concerned || (domain.padded[i] && uses(e, b.iters[i].var));
    if (!concerned) return;
    const std::vector<size_t> iters = plain_index(b, l.indices);
    if (iters.empty())
      refuse("schedule.pad.index",
             str("it reads `", l.buffer->name, "` at other places than its iterators"),
             "use reindex first");
    for (size_t d = 0; d < iters.size(); ++d)
      if (!context.can_prove(b.iters[iters[d]].extent <= l.buffer->shape[d]))
        refuse("schedule.pad.index",
               str("`", b.iters[iters[d]].var.name(), "` goes further than dimension ", d, " of `",
                   l.buffer->name, "`"),
               "pad blocks that read inside of their inputs everywhere");
    if (std::none_of(out.begin(), out.end(),
                     [&](const Operand& o) { return o.buffer == l.buffer; }))
      out.push_back({l.buffer, {}, iters});
  };
  // A second look finds the loads of padded buffers that do not concern padded iterators.
  const auto check = [&](const ir::Load& l) {
    for (const Operand& o : out)
      if (o.buffer == l.buffer && o.iters != plain_index(b, l.indices))
        refuse("schedule.pad.index", str("it reads `", l.buffer->name, "` at several places"),
               "use cache_read or reindex first, to have a buffer for each of them");
  };
  for (const Stmt& s : {b.init, b.body})
    if (s) ir::walk(s, add);
  for (const Stmt& s : {b.init, b.body})
    if (s) ir::walk(s, check);
  return out;
}

/// What stands in the padding of an input: 0, or one of the values of the reducer's identity.
struct Padding {
  Expr identity;  // null: 0
  Expr of(ir::Elem elem) const {
    return identity && identity.type() == ir::Type{elem, 1} ? identity : ir::imm(elem, 0);
  }
};

/// The padding with which the terms that a padded reduction adds change nothing, whatever the other
/// inputs are; with floats `0.0 * x` is not known to be 0.
Padding neutral_padding(const ir::Block& b, const Domain& domain,
                        const std::vector<Operand>& inputs, const Refuse& refuse) {
  const auto* update = b.body.as<ir::Update>();
  std::vector<size_t> reductions;
  for (size_t i = 0; i < b.iters.size(); ++i)
    if (domain.padded[i] && b.iters[i].kind == ir::IterKind::Reduction) reductions.push_back(i);
  if (reductions.empty()) return {};
  const auto neutral = [&](const Padding& padding, size_t reduction) {
    const auto padded = [&](const ir::Load& l, auto&) -> Expr {
      for (const Operand& o : inputs)
        if (o.buffer == l.buffer && std::count(o.iters.begin(), o.iters.end(), reduction))
          return padding.of(l.buffer->elem);
      return Expr::of(l);
    };
    const arith::Context nothing;
    for (size_t v = 0; v < update->values.size(); ++v)
      if (!ir::equal(nothing.simplify(ir::rewrite(update->values[v], padded)),
                     nothing.simplify(update->reducer->identity[v])))
        return false;
    return true;
  };
  std::vector<Padding> candidates = {{}};
  for (const Expr& e : update->reducer->identity) candidates.push_back({e});
  for (const Padding& candidate : candidates)
    if (std::all_of(reductions.begin(), reductions.end(),
                    [&](size_t i) { return neutral(candidate, i); }))
      return candidate;
  refuse("schedule.pad.neutral",
         str("no padding makes the terms of reducer `", update->reducer->name, "` beyond `",
             b.iters[reductions[0]].var.name(), "` neutral"),
         "pad spatial iterators only, or a reduction whose terms vanish for 0 or the identity");
}

/// for v… { block name(v…) { to[v…] = value(v…) } }, iterators as far as `extents` say.
Stmt element_nest(const std::string& name, const ir::Block& b, const Operand& o,
                  const std::vector<Expr>& extents, const ir::Buffer& from, const ir::Buffer& to,
                  FunctionRef<Expr(const std::vector<Expr>&)> value,
                  const arith::Context& context) {
  std::vector<ir::BlockIter> iters;
  std::vector<Expr> index;
  std::vector<ir::Range> points;
  Placement placement;
  for (const size_t i : o.iters) {
    const ir::Var v(b.iters[i].var.name());
    iters.push_back({v, ir::IterKind::Spatial, extents[i], v});
    index.push_back(v);
    points.push_back({v, 1});
    placement.domain.push_back({0, extents[i]});
  }
  const Stmt block = ir::make_stmt<ir::Block>(
      b.span, name, iters, nullptr, std::vector<ir::Region>{{from, points, {}}},
      std::vector<ir::Region>{{to, points, {}}}, nullptr,
      ir::make_stmt<ir::Store>({}, to, index, value(index)));
  return place_block(*block.as<ir::Block>(), placement, nullptr, context);
}

/// to[v…] = guard(v < extent…, from[v…], padding)
Stmt fill_nest(const std::string& name, const ir::Block& b, const Operand& o, const Domain& domain,
               const Padding& padding, const arith::Context& context) {
  const auto value = [&](const std::vector<Expr>& index) {
    Expr valid;
    for (size_t d = 0; d < index.size(); ++d)
      if (domain.padded[o.iters[d]]) valid = ir::both(valid, index[d] < b.iters[o.iters[d]].extent);
    return ir::guard(valid, ir::load(o.buffer, index), padding.of(o.buffer->elem));
  };
  return element_nest(name, b, o, domain.extents, o.buffer, o.padded, value, context);
}

/// The valid part of a result.
Stmt copy_out_nest(const std::string& name, const ir::Block& b, const Operand& o,
                   const arith::Context& context) {
  std::vector<Expr> extents;
  for (const ir::BlockIter& it : b.iters) extents.push_back(it.extent);
  const auto value = [&](const std::vector<Expr>& index) { return ir::load(o.padded, index); };
  return element_nest(name, b, o, extents, o.padded, o.buffer, value, context);
}

ir::Buffer padded_buffer(const ir::Buffer& buffer, const std::vector<size_t>& iters,
                         const Domain& domain) {
  std::vector<Expr> shape;
  for (const size_t i : iters) shape.push_back(domain.extents[i]);
  return ir::make_buffer(
      buffer->name + "_pad", buffer->elem, shape,
      buffer->scope.kind == ir::ScopeKind::Constant ? ir::Scope{} : buffer->scope);
}

/// All of the block's domain runs in its own loops, once, and starts there.
void check_whole(const Program& program, const ir::Block& b, const Stmt& nest,
                 const Refuse& refuse) {
  for (const ir::BlockIter& it : b.iters)
    if (it.kind == ir::IterKind::Ordered)
      refuse("schedule.pad.domain", str("its iterator `", it.var.name(), "` is ordered"),
             "pad blocks without a scan");
  if (!b.body.as<ir::Store>() && !b.body.as<ir::Update>())
    refuse("schedule.pad.body", "its body is not one assignment or reduction",
           "pad blocks that compute one element");
  if (b.body.as<ir::Update>() && (!b.init || !starts_below(program, b, nest)))
    refuse("schedule.pad.init", "its reduction starts elsewhere",
           "pad before decompose_reduction or partition cuts it");
  for (const std::string& why : {why_not_exact(program, b, nest), why_not_whole(program, b, nest)})
    if (!why.empty()) refuse("schedule.pad.domain", why, "pad before cutting the block's loops");
  const arith::Context context = context_outside(program, nest);
  const std::vector<ir::Range> box = iterated(program, b, nest);
  for (size_t i = 0; i < box.size(); ++i)
    if (!context.can_prove_equal(box[i].min, 0) ||
        !context.can_prove(b.iters[i].extent <= box[i].extent))
      refuse("schedule.pad.domain",
             str("only a part of `", b.iters[i].var.name(), "` runs in the block's own loops"),
             "pad before compute_at moves the block");
}

}  // namespace

Results Pad::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  require_outside_of_blocks(program, b, name);
  const Refuse refuse{b};
  if (holds_others(b))
    refuse("schedule.pad.body", "an instruction or another block stands inside of it",
           "pad before tensorize and blockize");
  const ResultIndex result = require_plain_result(b, name);
  const Domain domain = padded_domain(program, b, multiples, refuse);
  if (std::none_of(domain.padded.begin(), domain.padded.end(), [](bool p) { return p; })) return {};
  const Stmt nest = nest_of(program, b);
  check_whole(program, b, nest, refuse);
  const arith::Context context = context_outside(program, nest);

  std::vector<Operand> inputs = inputs_of(program, b, domain, refuse);
  std::vector<Operand> outputs;
  for (const ir::Region& w : b.writes) {
    for (const ir::Region& r : b.reads)
      if (r.buffer == w.buffer)
        refuse("schedule.pad.body", str("it reads its own result `", w.buffer->name, "`"),
               "pad a block that only writes its result");
    std::vector<size_t> iters(result.iter_of_dim.begin(), result.iter_of_dim.end());
    const bool concerned =
        std::any_of(iters.begin(), iters.end(), [&](size_t i) { return domain.padded[i]; });
    if (!concerned) continue;
    for (size_t d = 0; d < iters.size(); ++d)
      if (!context.can_prove(b.iters[iters[d]].extent <= w.buffer->shape[d]))
        refuse("schedule.pad.index", str("it writes outside of `", w.buffer->name, "`"),
               "pad blocks that write inside of their results");
    outputs.push_back({w.buffer, padded_buffer(w.buffer, iters, domain), iters});
  }
  const Padding padding = neutral_padding(b, domain, inputs, refuse);
  std::vector<Stmt> parts;
  std::vector<Operand> buffers;
  Results made;
  for (Operand& in : inputs) {
    ir::Region all{.buffer = in.buffer, .ranges = {}, .rank = {}};
    for (const size_t i : in.iters) all.ranges.push_back({0, b.iters[i].extent});
    if (!is_written_before(program, all, nest, context))
      refuse("schedule.pad.unwritten",
             str("not all of ", print(all), " is known to be written before"),
             "pad what reads parameters, or whole results of one block");
    in.padded = padded_buffer(in.buffer, in.iters, domain);
    const std::string copy = program.fresh_block_name(in.padded->name);
    parts.push_back(fill_nest(copy, b, in, domain, padding, context));
    made.push_back(BlockResult{copy});
    buffers.push_back(in);
  }
  ir::BufferMap padded;
  for (const auto* operands : {&inputs, &outputs})
    for (const Operand& o : *operands) padded[o.buffer] = o.padded;
  const Stmt wide =
      ir::with(*ir::substitute_buffers(Stmt::of(b), padded).as<ir::Block>(), [&](ir::Block& n) {
        for (size_t i = 0; i < n.iters.size(); ++i) n.iters[i].extent = domain.extents[i];
      });
  Placement placement;
  for (const Expr& extent : domain.extents) placement.domain.push_back({0, extent});
  parts.push_back(place_block(*wide.as<ir::Block>(), placement, nullptr, context));
  for (const Operand& o : outputs) {
    const std::string copy = program.fresh_block_name(str(o.buffer->name, "_unpad"));
    parts.push_back(copy_out_nest(copy, b, o, context));
    made.push_back(BlockResult{copy});
    buffers.push_back(o);
  }
  Stmt all = ir::seq(std::move(parts));
  for (const Operand& o : buffers) all = ir::make_stmt<ir::Alloc>({}, o.padded, all);
  program.replace(nest, all);
  return made;
}

}  // namespace tilewright::schedule
