// SPDX-License-Identifier: Apache-2.0
#include "schedule/meaning.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

/// Walks from the outermost loop to the one statement.
class Reader {
 public:
  Reader(const arith::Context& context, std::string& why_not)
      : context_(context), why_not_(why_not) {}

  std::optional<NestMeaning> read(const Stmt& s) {
    if (const auto* all = s.as<ir::Seq>()) return init_and_terms(*all);
    if (const auto* loop = s.as<ir::For>()) return in_loop(*loop);
    if (const auto* block = s.as<ir::Block>()) return in_block(*block);
    const auto* store = s.as<ir::Store>();
    const bool plain = s.as<ir::Update>() || (store && !store->mask && !store->rank);
    if (!plain) return no("something else than loops, blocks, stores and updates stands in it");
    return NestMeaning{{}, {axes_, finish(s)}};
  }

 private:
  std::optional<NestMeaning> no(std::string why) {
    why_not_ = std::move(why);
    return std::nullopt;
  }

  Stmt finish(const Stmt& leaf) const {
    return arith::simplify(ir::substitute(leaf, values_), context_);
  }

  std::optional<NestMeaning> in_loop(const ir::For& loop) {
    if (loop.loop == ir::ForKind::Bound || loop.loop == ir::ForKind::VThread)
      return no(str("`", loop.var.name(), "` runs on hardware threads"));
    const Expr min = ir::substitute(loop.min, values_);
    const auto extent = ir::const_int(context_.simplify(ir::substitute(loop.extent, values_)));
    if (!extent || *extent < 1)
      return no(str("the extent of `", loop.var.name(), "` is not a positive constant"));
    if (*extent == 1) {
      values_[loop.var] = min;
      return read(loop.body);
    }
    const ir::Var var(loop.var.name());
    axes_.push_back({var, *extent});
    context_.bind(var, 0, *extent);
    values_[loop.var] = min + var;
    return read(loop.body);
  }

  std::optional<NestMeaning> in_block(const ir::Block& block) {
    if (block.opaque) return no(str("block `", block.name, "` is opaque"));
    ir::VarMap first = values_;  // of the iterators where the reduction starts
    for (const ir::BlockIter& it : block.iters) {
      const Expr at = context_.simplify(ir::substitute(it.binding, values_));
      values_[it.var] = at;
      first[it.var] = it.kind == ir::IterKind::Reduction ? Expr(0) : at;
    }
    if (block.predicate &&
        !context_.can_prove(context_.simplify(ir::substitute(block.predicate, values_))))
      return no(str("block `", block.name, "` does not always run"));
    std::optional<NestMeaning> out = read(block.body);
    if (!out || !block.init) return out;
    if (out->init) return no("it has two inits");
    const auto* store = block.init.as<ir::Store>();
    if (!store || store->mask || store->rank)
      return no(str("the init of block `", block.name, "` is not one store"));
    Meaning init;
    init.leaf = arith::simplify(ir::substitute(block.init, first), context_);
    for (const Meaning::Axis& axis : out->main.axes)
      if (ir::uses(init.leaf, axis.var)) init.axes.push_back(axis);
    out->init = std::move(init);
    return out;
  }

  std::optional<NestMeaning> init_and_terms(const ir::Seq& all) {
    const bool pair = all.stmts.size() == 2 && axes_.empty();
    if (!pair) return no("it has several statements");
    Reader first(context_, why_not_), second(context_, why_not_);
    first.values_ = second.values_ = values_;
    const auto init = first.read(all.stmts[0]);
    auto terms = second.read(all.stmts[1]);
    if (!init || !terms) return std::nullopt;
    if (init->init || terms->init || !init->main.leaf.as<ir::Store>() ||
        !terms->main.leaf.as<ir::Update>())
      return no("its two statements are not an init and its terms");
    terms->init = init->main;
    return terms;
  }

  arith::Context context_;
  std::string& why_not_;
  ir::VarMap values_;
  std::vector<Meaning::Axis> axes_;
};

}  // namespace

std::optional<NestMeaning> meaning_of(const Stmt& nest, const arith::Context& context,
                                      std::string& why_not) {
  return Reader(context, why_not).read(nest);
}

}  // namespace tilewright::schedule
