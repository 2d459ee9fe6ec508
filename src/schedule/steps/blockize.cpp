// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "schedule/loop_checks.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

/// The nest below one loop, on its way to become a block of tiles.
class Blockizer {
 public:
  Blockizer(Program& program, const ir::For& at)
      : program_(program), at_(at), block_(nest()), inside_(program.func()) {}

  std::string run() {
    if (block_.opaque)
      refuse("schedule.blockize.opaque",
             str("block `", block_.name, "` is opaque: only its regions are known"),
             "blockize a block that shows what it computes");
    const Path path = program_.path_to(at_);
    outside_ = program_.context_at(Path(path.begin(), path.end() - 1));
    check_loops();
    const Expr predicate = outer_predicate();
    split_iterators(predicate);
    const Stmt inner_block = ir::with(block_, [&](ir::Block& b) {
      for (size_t i = 0; i < b.iters.size(); ++i) b.iters[i].binding = inner_bindings_[i];
      b.predicate = nullptr;
    });
    Stmt init, body = with_block(inner_block);
    const auto& inner = *inner_block.as<ir::Block>();
    if (block_.init && reduces_outside()) {
      check_init();
      init = init_of(inner);
      body = with_block(ir::with(inner, [](ir::Block& b) { b.init = nullptr; }));
    }
    const std::string name = program_.fresh_block_name(block_.name + "_outer");
    program_.replace(
        at_, ir::make_stmt<ir::Block>(at_.span, name, outer_, predicate, widened(block_.reads),
                                      widened(block_.writes), init, body));
    return name;
  }

 private:
  [[noreturn]] void refuse(const char* code, const std::string& note,
                           const std::string& help) const {
    throw Error(
        {.code = code,
         .message = str("cannot make one block of the loops from `", at_.var.name(), "` inwards"),
         .notes = {note},
         .help = help});
  }

  const ir::Block& nest() {
    Stmt s = Stmt::of(at_);
    while (const auto* l = s.as<ir::For>()) {
      require_serial(*l, Blockize::name);
      loops_.push_back(l);
      vars_.push_back(l->var);
      s = l->body;
    }
    if (const auto* b = s.as<ir::Block>()) return *b;
    refuse("schedule.blockize.nest",
           str("`", loops_.back()->var.name(), "` holds something else than one loop or block"),
           "separate what stands there with fission, or move it with compute_at");
  }

  /// A tile's loops do not depend on which tile it is.
  void check_loops() const {
    const auto ours = [&](const ir::Var& v) {
      return std::find(vars_.begin(), vars_.end(), v) != vars_.end();
    };
    for (const ir::For* l : loops_)
      for (const Expr& bound : {l->min, l->extent})
        for (const ir::For* outer : program_.loops_around(at_))
          if (ir::uses(bound, outer->var) && !ours(outer->var))
            refuse("schedule.blockize.loop",
                   str("the bounds of `", l->var.name(), "` depend on `", outer->var.name(),
                       "` outside"),
                   "blockize loops of one size");
  }

  /// binding = outer + inner, where `inner` runs over 0 … E-1 and `outer` is a multiple of E:
  /// the outer block's iterator counts tiles of E. All of them are whole where the predicate lets
  /// the block run.
  void split_iterators(const Expr& predicate) {
    arith::Context context = outside_;
    if (predicate) context.assume(predicate);
    ir::VarMap first;
    for (const ir::For* l : loops_) {
      context.bind(l->var, l->min, l->extent);
      first[l->var] = l->min;
    }
    for (const ir::BlockIter& it : block_.iters) {
      const Expr outer = context.simplify(ir::substitute(it.binding, first));
      const Expr inner = context.simplify(it.binding - outer);
      const auto mixed = [&](const std::string& why) {
        refuse(
            "schedule.blockize.binding",
            str("iterator `", it.var.name(), "` is bound to `", ir::print(it.binding), "`: ", why),
            "split the loops so that the inner ones run over whole tiles of the iterator");
      };
      for (const ir::Var& v : ir::vars_of(inner))
        if (std::find(vars_.begin(), vars_.end(), v) == vars_.end())
          mixed(str("what the inner loops add to it depends on `", v.name(), "`"));
      const arith::Context::Bounds range = context.eliminate(inner, vars_);
      if (!range.lo || !range.hi || !context.can_prove_equal(range.lo, 0))
        mixed("the inner loops do not count up from a fixed start");
      const Expr tile = context.simplify(range.hi + 1);
      if (context.can_prove_equal(outer, 0) && context.can_prove_equal(tile, it.extent)) {
        inner_bindings_.push_back(inner);
        continue;
      }
      if (!context.can_prove_equal(outer % tile, 0))
        mixed(str("`", ir::print(outer), "` is not a multiple of `", ir::print(tile), "`"));
      const ir::Var var(it.var.name());
      outer_.push_back(
          {var, it.kind, context.simplify(it.extent / tile), context.simplify(outer / tile)});
      if (!context.can_prove(outer_.back().binding < outer_.back().extent))
        mixed(str("its last tile of `", ir::print(tile), "` is not whole"));
      inside_.bind(var, 0, outer_.back().extent);
      inner_bindings_.push_back(var * tile + inner);
    }
    for (const ir::For* l : loops_) inside_.bind(l->var, l->min, l->extent);
    for (Expr& e : inner_bindings_) e = inside_.simplify(e);
  }

  /// What of the predicate is left to the outer block: that which no inner loop decides.
  Expr outer_predicate() const {
    if (!block_.predicate) return {};
    arith::Context context = outside_;
    ir::VarMap bindings;
    for (const ir::For* l : loops_) context.bind(l->var, l->min, l->extent);
    for (const ir::BlockIter& it : block_.iters) bindings[it.var] = it.binding;
    const Expr predicate = context.simplify(ir::substitute(block_.predicate, bindings));
    if (ir::is_true(predicate) || context.can_prove(predicate)) return {};
    if (ir::has_load(predicate))
      refuse("schedule.blockize.predicate",
             str("the predicate of block `", block_.name, "` reads memory"),
             "blockize a block that always runs");
    for (const ir::Var& v : vars_)
      if (ir::uses(predicate, v))
        refuse("schedule.blockize.predicate",
               str("whether block `", block_.name, "` runs depends on `", v.name(), "`: `",
                   ir::print(predicate), "`"),
               "split by factors that divide, or partition the tail off first");
    return predicate;
  }

  bool reduces_outside() const {
    return std::any_of(outer_.begin(), outer_.end(),
                       [](const ir::BlockIter& it) { return it.kind == ir::IterKind::Reduction; });
  }

  /// The init of a whole tile runs before all of its terms.
  void check_init() const {
    for (const ir::Region& w : block_.writes)
      for (const ir::Region& r : block_.reads)
        if (r.buffer == w.buffer)
          refuse("schedule.blockize.init", str("it reads `", r.buffer->name, "`, its own result"),
                 "decompose the reduction first");
    for (const ir::For* l : loops_) {
      if (!outside_.can_prove(Expr(1) <= l->extent))
        refuse("schedule.blockize.init", str("`", l->var.name(), "` may run no iteration"),
               "the init must not run where the reduction does not");
      for (const ir::BlockIter& it : block_.iters)
        if (it.kind == ir::IterKind::Ordered && ir::uses(it.binding, l->var))
          refuse("schedule.blockize.init",
                 str("`", l->var.name(),
                     "` runs in order: the init of each of its iterations "
                     "comes after the one before"),
                 "blockize loops inside of it");
      if (serves(*l, true) && serves(*l, false))
        refuse("schedule.blockize.init",
               str("`", l->var.name(), "` serves a spatial and a reduction iterator at once"),
               "do not fuse spatial loops with reduction loops");
    }
  }
  bool serves(const ir::For& l, bool reduction) const {
    return std::any_of(block_.iters.begin(), block_.iters.end(), [&](const ir::BlockIter& it) {
      return (it.kind == ir::IterKind::Reduction) == reduction && ir::uses(it.binding, l.var);
    });
  }

  Stmt init_of(const ir::Block& inner) const {
    std::vector<const ir::For*> spatial;
    ir::VarMap first;
    for (const ir::For* l : loops_) {
      if (serves(*l, false))
        spatial.push_back(l);
      else
        first[l->var] = l->min;
    }
    return init_nest(inner, spatial, first, program_.fresh_block_name(block_.name + "_init"));
  }

  Stmt with_block(const Stmt& inner) const {
    Stmt s = inner;
    for (size_t i = loops_.size(); i-- > 0;)
      s = ir::with(*loops_[i], [&](ir::For& l) { l.body = s; });
    return s;
  }

  /// The regions of a whole tile, in terms of the outer iterators.
  std::vector<ir::Region> widened(const std::vector<ir::Region>& regions) const {
    ir::VarMap bindings;
    for (size_t i = 0; i < block_.iters.size(); ++i)
      bindings[block_.iters[i].var] = inner_bindings_[i];
    std::vector<ir::Region> out;
    for (const ir::Region& r : regions)
      out.push_back(arith::widen(ir::substitute(r, bindings), vars_, inside_));
    return out;
  }

  Program& program_;
  const ir::For& at_;
  std::vector<const ir::For*> loops_;  // from `at` inwards
  std::vector<ir::Var> vars_;          // theirs
  const ir::Block& block_;
  arith::Context outside_;  // what is known around `at`
  arith::Context inside_;   // in the outer block and the loops
  std::vector<ir::BlockIter> outer_;
  std::vector<Expr> inner_bindings_;
};

}  // namespace

Results Blockize::apply(Program& program) const {
  return {BlockResult{Blockizer(program, program.loop(loop)).run()}};
}

}  // namespace tilewright::schedule
