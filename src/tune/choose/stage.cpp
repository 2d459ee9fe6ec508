// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/stage.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace tilewright::tune {
namespace {

/// The stores or the update that a plain body consists of.
bool is_stores(const ir::Stmt& body) {
  if (const auto* seq = body.as<ir::Seq>())
    return std::ranges::all_of(seq->stmts, [](const ir::Stmt& s) { return s.as<ir::Store>(); });
  return body.as<ir::Store>() != nullptr;
}

StageKind kind_of(const ir::Block& b, const std::vector<const ir::For*>& loops) {
  if (b.opaque || b.predicate || b.writes.empty() || loops.size() != b.iters.size())
    return StageKind::Other;
  bool reduces = false;
  for (size_t i = 0; i < b.iters.size(); ++i) {
    const ir::BlockIter& it = b.iters[i];
    if (it.kind == ir::IterKind::Ordered || it.binding != loops[i]->var ||
        loops[i]->loop != ir::ForKind::Serial || !ir::is_const(loops[i]->min, 0))
      return StageKind::Other;
    reduces = reduces || it.kind == ir::IterKind::Reduction;
  }
  if (!reduces) return is_stores(b.body) ? StageKind::Map : StageKind::Other;
  return b.body.as<ir::Update>() ? StageKind::Reduce : StageKind::Other;
}

void collect(const ir::Stmt& s, std::vector<const ir::For*>& around, std::vector<Stage>& out) {
  if (const auto* b = s.as<ir::Block>()) {
    out.push_back({.block = b, .loops = around, .kind = kind_of(*b, around)});
    return;
  }
  const auto* loop = s.as<ir::For>();
  if (loop) around.push_back(loop);
  ir::for_each_child(
      s, [](const ir::Expr&) {}, [&](const ir::Stmt& c) { collect(c, around, out); });
  if (loop) around.pop_back();
}

bool only_blocks(const ir::Stmt& s) {
  if (s.as<ir::Block>()) return true;
  if (!s.as<ir::For>() && !s.as<ir::Seq>() && !s.as<ir::Alloc>()) return false;
  bool all = true;
  ir::for_each_child(
      s, [](const ir::Expr&) {}, [&](const ir::Stmt& c) { all = all && only_blocks(c); });
  return all;
}

bool mentions(const std::vector<ir::Region>& regions, const ir::Buffer& buffer) {
  return std::ranges::any_of(regions, [&](const ir::Region& r) { return r.buffer == buffer; });
}

}  // namespace

std::vector<ir::Expr> Stage::values() const {
  if (const auto* update = block->body.as<ir::Update>()) return update->values;
  std::vector<ir::Expr> out;
  ir::walk(block->body, [&](const ir::Store& s) { out.push_back(s.value); });
  return out;
}

std::vector<const ir::Load*> Stage::loads() const {
  std::vector<const ir::Load*> out;
  for (const ir::Expr& value : values())
    ir::walk(value, [&](const ir::Load& l) { out.push_back(&l); });
  return out;
}

bool Stage::reads(const ir::Buffer& buffer) const { return mentions(block->reads, buffer); }
bool Stage::writes(const ir::Buffer& buffer) const { return mentions(block->writes, buffer); }

double Stage::points(const Sizes& sizes) const {
  double n = 1;
  for (const ir::BlockIter& it : block->iters) n *= static_cast<double>(sizes.of(it.extent));
  return n;
}

double Stage::work(const Sizes& sizes) const {
  int64_t each = 1;
  for (const ir::Expr& value : values()) each += operations(value);
  return static_cast<double>(each) * points(sizes);
}

double Stage::terms(const Sizes& sizes) const {
  double n = 1;
  for (const ir::BlockIter& it : block->iters)
    if (it.kind == ir::IterKind::Reduction)
      n *= static_cast<double>(std::max<int64_t>(sizes.of(it.extent), 1));
  return n;
}

std::vector<Stage> stages_of(const ir::LoopFunc& func) {
  std::vector<Stage> out;
  std::vector<const ir::For*> around;
  collect(func.body, around, out);
  return out;
}

std::optional<Stage> find_stage(const ir::LoopFunc& func, const std::string& name) {
  for (Stage& s : stages_of(func))
    if (s.name() == name) return s;
  return std::nullopt;
}

ir::Stmt with_stages(const ir::LoopFunc& func, FunctionRef<ir::Buffer(const ir::Buffer&)> buffer,
                     FunctionRef<ir::Stmt(const Stage&)> stage) {
  const std::vector<Stage> stages = stages_of(func);
  const auto now = [&](const ir::Stmt& s, const auto& self) -> ir::Stmt {
    for (const Stage& each : stages) {
      if (each.kind == StageKind::Other) continue;
      const ir::StmtNode& nest = each.loops.empty()
                                     ? static_cast<const ir::StmtNode&>(*each.block)
                                     : static_cast<const ir::StmtNode&>(*each.loops[0]);
      if (ir::Stmt::of(nest) == s) return stage(each);
    }
    if (const auto* a = s.as<ir::Alloc>())
      return ir::with(*a, [&](ir::Alloc& n) {
        n.buffer = buffer(a->buffer);
        n.body = self(a->body, self);
      });
    const auto* seq = s.as<ir::Seq>();
    if (!seq) return s;
    std::vector<ir::Stmt> out;
    for (const ir::Stmt& c : seq->stmts) out.push_back(self(c, self));
    return ir::seq(std::move(out), seq->span);
  };
  return now(func.body, now);
}

std::vector<std::string> with_derived(const ir::LoopFunc& func,
                                      std::vector<std::string> constants) {
  const auto known = [&](const ir::Load* l) {
    return std::ranges::find(constants, l->buffer->name) != constants.end();
  };
  for (const Stage& s : stages_of(func)) {
    const std::vector<const ir::Load*> loads =
        s.kind == StageKind::Other ? std::vector<const ir::Load*>() : s.loads();
    if (!loads.empty() && std::ranges::all_of(loads, known)) constants.push_back(s.result()->name);
  }
  return constants;
}

std::vector<Use> uses_of(const ir::Block& block) {
  std::vector<Use> out;
  for (const ir::Stmt& s : {block.init, block.body})
    if (s)
      ir::walk(
          s, [&](const ir::Load& l) { out.push_back({l.buffer, l.indices}); },
          [&](const ir::Store& st) { out.push_back({st.buffer, st.indices}); },
          [&](const ir::Update& u) {
            for (const ir::Target& t : u.targets) out.push_back({t.buffer, t.indices});
          });
  return out;
}

bool only_blocks(const ir::LoopFunc& func) { return only_blocks(func.body); }

}  // namespace tilewright::tune
