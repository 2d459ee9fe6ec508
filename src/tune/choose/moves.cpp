// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/moves.h"

#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "lower/to_blocks.h"

namespace tilewright::tune {
namespace {

using ir::Expr;
using ir::Stmt;

/// How often the function loads from each buffer, and how many statements write there.
struct Mentions {
  std::map<const ir::BufferNode*, int> loads, writes;
};
Mentions mentions_of(const ir::LoopFunc& func) {
  Mentions out;
  ir::walk(
      func.body, [&](const ir::Load& l) { ++out.loads[l.buffer.get()]; },
      [&](const ir::Block& b) {
        for (const ir::Region& r : b.writes) ++out.writes[r.buffer.get()];
        if (!b.opaque) return;
        for (const ir::Region& r : b.reads) out.loads[r.buffer.get()] += 2;
      });
  return out;
}

bool is_param(const ir::LoopFunc& func, const ir::Buffer& buffer) {
  return std::ranges::any_of(func.params, [&](const ir::Param& p) { return p.buffer == buffer; });
}

/// The function without `from`, whose value `to` computes where it read it.
ir::LoopFunc inlined(const ir::LoopFunc& func, const Stage& from, const Stage& to) {
  const Expr value = from.values()[0];
  const ir::Buffer gone = from.result();
  const auto computed = [&](const ir::Load& l, auto& self) -> Expr {
    if (l.buffer != gone) return self.children(l);
    ir::VarMap at;
    for (size_t i = 0; i < l.indices.size(); ++i) at[from.block->iters[i].var] = l.indices[i];
    return ir::substitute(value, at);
  };
  const ir::Block& reader = *to.block;
  const Stmt body = ir::rewrite(reader.body, computed);
  const Stmt now = ir::with(reader, [&](ir::Block& b) {
    b.body = body;
    b.reads = lower::regions_read({body.as<ir::Store>()->value});
  });
  const Stmt nest = from.loops.empty() ? Stmt::of(*from.block) : Stmt::of(*from.loops[0]);
  return func.with_body(ir::rewrite(
      func.body,
      [&](const ir::Block& b, auto&) -> Stmt { return &b == &reader ? now : Stmt::of(b); },
      [&](const ir::For& loop, auto& self) -> Stmt {
        return Stmt::of(loop) == nest ? ir::nothing() : self.children(loop);
      },
      [&](const ir::Seq& all, auto& self) -> Stmt {
        std::vector<Stmt> stmts;
        for (const Stmt& s : all.stmts)
          if (s != nest) stmts.push_back(self(s));
        return ir::seq(std::move(stmts), all.span);
      },
      [&](const ir::Alloc& a, auto& self) -> Stmt {
        return a.buffer == gone ? self(a.body) : self.children(a);
      }));
}

}  // namespace

bool is_single_store(const Stage& stage) {
  return stage.kind == StageKind::Map && stage.block->body.as<ir::Store>() && !stage.block->init;
}

bool stores_in_order(const Stage& stage) {
  const auto& iters = stage.block->iters;
  const auto& indices = stage.block->body.as<ir::Store>()->indices;
  for (size_t i = 0; i < indices.size(); ++i)
    if (i >= iters.size() || indices[i] != iters[i].var) return false;
  return indices.size() == iters.size();
}

std::vector<std::string> only_written(const ir::LoopFunc& func) {
  const Mentions mentions = mentions_of(func);
  std::vector<std::string> out;
  for (const ir::Param& p : func.params) {
    const auto writes = mentions.writes.find(p.buffer.get());
    if (p.access == ir::Access::Out && writes != mentions.writes.end() && writes->second == 1 &&
        !mentions.loads.contains(p.buffer.get()))
      out.push_back(p.buffer->name);
  }
  return out;
}

std::set<const ir::BufferNode*> made_together(const ir::LoopFunc& func) {
  std::set<const ir::BufferNode*> out;
  for (const Stage& s : stages_of(func)) {
    const bool follows = std::ranges::any_of(
        s.block->reads, [&](const ir::Region& r) { return out.contains(r.buffer.get()); });
    if (follows || s.kind != StageKind::Map)
      for (const ir::Region& w : s.block->writes) out.insert(w.buffer.get());
  }
  return out;
}

ir::LoopFunc with_moves_inlined(const ir::LoopFunc& given, FunctionRef<bool(const Stage&)> moves) {
  ir::LoopFunc func = given;
  const auto step = [&]() -> bool {
    const Mentions mentions = mentions_of(func);
    const Sizes sizes(func);
    const std::vector<Stage> stages = stages_of(func);
    for (const Stage& from : stages) {
      if (!is_single_store(from) || is_param(func, from.result())) continue;
      const auto loads = mentions.loads.find(from.result().get());
      if (loads == mentions.loads.end() || loads->second != 1 ||
          mentions.writes.at(from.result().get()) != 1 || !stores_in_order(from) || !moves(from))
        continue;
      const auto to = std::ranges::find_if(
          stages, [&](const Stage& s) { return s.block != from.block && s.reads(from.result()); });
      if (to == stages.end() || !is_single_store(*to) || to->points(sizes) > from.points(sizes))
        continue;
      func = inlined(func, from, *to);
      return true;
    }
    return false;
  };
  while (step()) {
  }
  return func;
}

ir::Stmt map_nest(const Stage& like, const std::string& name, std::vector<ir::BlockIter> iters,
                  const std::vector<ir::Var>& loops, const ir::Buffer& buffer,
                  std::vector<ir::Expr> indices, const ir::Expr& value) {
  const ir::Block& block = *like.block;
  std::vector<Expr> extents;
  for (const ir::BlockIter& it : iters) extents.push_back(it.extent);
  const ir::Region written = lower::region_of(buffer, indices);
  Stmt out = ir::make_stmt<ir::Block>(
      block.span, name, std::move(iters), Expr(), lower::regions_read({value}),
      std::vector{written}, Stmt(),
      ir::make_stmt<ir::Store>(block.span, buffer, std::move(indices), value), false, block.hints);
  for (size_t i = loops.size(); i-- > 0;)
    out = ir::make_stmt<ir::For>(block.span, loops[i], Expr(0), extents[i], out);
  return out;
}

}  // namespace tilewright::tune
