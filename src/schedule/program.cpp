// SPDX-License-Identifier: Apache-2.0
#include "schedule/program.h"

#include <unordered_set>

#include "ir/build.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Stmt;

[[noreturn]] void unknown(const std::string& ref, const char* kind) {
  throw Error({.code = "schedule.ref.unknown",
               .message = str("`%", ref, "` names no ", kind, " of the program"),
               .notes = {"a step that replaces a loop or block ends the life of its reference"},
               .help = "use the references that the last step on it returned"});
}

bool descend(const Stmt& at, const Stmt& wanted, Path& path) {
  path.push_back(at);
  if (at == wanted) return true;
  bool found = false;
  ir::for_each_child(
      at, [](const ir::Expr&) {},
      [&](const Stmt& child) { found = found || descend(child, wanted, path); });
  if (!found) path.pop_back();
  return found;
}

}  // namespace

const ir::For* find_loop(const Stmt& body, const ir::Var& var) {
  const ir::For* found = nullptr;
  ir::walk(body, [&](const ir::For& loop) {
    if (loop.var == var) found = &loop;
    return found == nullptr;
  });
  return found;
}

const ir::For& Program::loop(const LoopRef& ref) const {
  const auto named = names_.find(ref.name);
  if (named == names_.end()) unknown(ref.name, "loop");
  const auto* result = std::get_if<LoopResult>(&named->second);
  const ir::For* found = result ? find_loop(func_.body, result->var) : nullptr;
  if (!found) unknown(ref.name, "loop");
  return *found;
}

const ir::Block* Program::find_block(const std::string& name) const {
  const ir::Block* found = nullptr;
  ir::walk(func_.body, [&](const ir::Block& b) {
    if (b.name == name) found = &b;
    return found == nullptr;
  });
  return found;
}

const ir::Block& Program::block(const BlockRef& ref) const {
  const auto named = names_.find(ref.name);
  if (named == names_.end()) unknown(ref.name, "block");
  const auto* result = std::get_if<BlockResult>(&named->second);
  const ir::Block* found = result ? find_block(result->name) : nullptr;
  if (!found) unknown(ref.name, "block");
  return *found;
}

Stmt Program::loop_or_block(const AnyRef& ref) const {
  const auto named = names_.find(ref.name);
  if (named != names_.end() && std::holds_alternative<LoopResult>(named->second))
    return Stmt::of(loop(LoopRef{ref.name}));
  return Stmt::of(block(BlockRef{ref.name}));
}

bool Program::is_loop(const AnyRef& ref) const {
  const auto named = names_.find(ref.name);
  if (named == names_.end()) unknown(ref.name, "loop or block");
  return std::holds_alternative<LoopResult>(named->second);
}

const ir::Instruction& Program::instruction(const std::string& name) const {
  std::string known;
  for (const ir::Instruction& i : instructions_) {
    if (i->name == name) return i;
    known += str(known.empty() ? "`" : ", `", i->name, "`");
  }
  throw Error({.code = "schedule.instruction.unknown",
               .message = str("there is no instruction `", name, "`"),
               .notes = {known.empty() ? "no instructions were given" : str("known are ", known)},
               .help = "declare it (`instr …`), or schedule for a target that has it"});
}

int64_t Program::value(const Number& number) const {
  if (number.open)
    throw Error({.code = "schedule.number.open",
                 .message = "`?` has no value here",
                 .notes = {"only a part of a split may follow from the others"},
                 .help = "write a number, or `$name` of a decision"});
  if (number.decision.empty()) return number.value;
  const auto found = decisions_.find(number.decision);
  if (found == decisions_.end())
    throw Error({.code = "schedule.decision.unknown",
                 .message = str("`$", number.decision, "` has no value"),
                 .notes = {},
                 .help = str("add `decide ", number.decision, " = …` to the trace")});
  return found->second;
}

Path Program::path_to(const Stmt& stmt) const {
  Path path;
  require(descend(func_.body, stmt, path), "path_to: the statement is not in the program");
  return path;
}

std::vector<const ir::For*> Program::loops_around(const ir::StmtNode& node) const {
  std::vector<const ir::For*> out;
  for (const Stmt& s : path_to(node))
    if (const auto* loop = s.as<ir::For>(); loop && s.get() != &node) out.push_back(loop);
  return out;
}

arith::Context Program::context_at(const Path& path) const {
  arith::Context context(func_);
  for (size_t i = 0; i < path.size(); ++i) {
    const Stmt& s = path[i];
    if (const auto* loop = s.as<ir::For>()) context.bind(loop->var, loop->min, loop->extent);
    if (const auto* let = s.as<ir::Let>(); let && let->value.type() == ir::kIndex)
      context.define(let->var, let->value);
    if (const auto* choice = s.as<ir::If>();
        choice && i + 1 < path.size() && !has_load(choice->cond))
      context.assume(path[i + 1] == choice->yes ? choice->cond : ir::logical_not(choice->cond));
    if (const auto* block = s.as<ir::Block>()) {
      for (const ir::BlockIter& it : block->iters) {
        context.bind(it.var, 0, it.extent);
        context.assume(eq(it.var, it.binding));
      }
      if (block->predicate && !has_load(block->predicate)) context.assume(block->predicate);
    }
  }
  return context;
}

void Program::replace(const Stmt& before, const Stmt& now) {
  const Path path = path_to(before);
  Stmt child = now;
  for (size_t i = path.size() - 1; i-- > 0;) {
    const Stmt old_child = path[i + 1];
    bool done = false;  // a statement may stand twice in a program; the path means its first place
    child = ir::map_children(path[i], {[](const ir::Expr& e) { return e; },
                                       [&](const Stmt& s) {
                                         if (done || s != old_child) return s;
                                         done = true;
                                         return child;
                                       },
                                       [](const ir::Buffer& b) { return b; }});
  }
  set_body(child);
}

void Program::drop_lost_prefetches() {
  if (!asks_ahead_) return;
  std::unordered_set<ir::Buffer> there;
  for (const ir::Param& p : func_.params) there.insert(p.buffer);
  set_body(ir::rewrite(
      func_.body,
      [&](const ir::Alloc& a, auto& self) -> Stmt {
        there.insert(a.buffer);
        const Stmt out = self.children(a);
        there.erase(a.buffer);
        return out;
      },
      [&](const ir::Prefetch& p, auto&) -> Stmt {
        return there.contains(p.buffer) ? Stmt::of(p) : ir::nothing();
      }));
}

std::string Program::fresh_block_name(const std::string& wanted) const {
  std::string name = wanted;
  for (int i = 1; find_block(name); ++i) name = str(wanted, "_", i);
  return name;
}

Stmt guarded(const Stmt& stmt, const ir::Expr& condition) {
  if (ir::is_true(condition)) return stmt;
  const auto inside = [&](const auto& node) {
    return ir::with(node, [&](auto& n) { n.body = guarded(n.body, condition); });
  };
  if (const auto* block = stmt.as<ir::Block>())
    return ir::with(*block, [&](ir::Block& b) { b.predicate = ir::both(condition, b.predicate); });
  if (const auto* loop = stmt.as<ir::For>();
      loop && !has_load(loop->min) && !has_load(loop->extent))
    return inside(*loop);
  if (const auto* let = stmt.as<ir::Let>(); let && !has_load(let->value)) return inside(*let);
  if (const auto* alloc = stmt.as<ir::Alloc>()) return inside(*alloc);
  if (const auto* all = stmt.as<ir::Seq>()) {
    std::vector<Stmt> stmts;
    for (const Stmt& s : all->stmts) stmts.push_back(guarded(s, condition));
    return ir::seq(std::move(stmts), stmt->span);
  }
  return ir::make_stmt<ir::If>(stmt->span, condition, stmt);
}

const ir::Param* param_of(const ir::LoopFunc& func, const ir::Buffer& buffer) {
  for (const ir::Param& p : func.params)
    if (p.buffer == buffer) return &p;
  return nullptr;
}

Stmt with_fresh_names(const Stmt& stmt) {
  ir::VarMap vars;
  ir::BufferMap buffers;
  const auto renew = [&](ir::Var& var) {
    if (!var) return;
    const ir::Var fresh(var.name(), var.type());
    vars[var] = fresh;
    var = fresh;
  };
  // Definitions first, outside in, so that every use below finds its new object.
  return ir::rewrite(
      stmt,
      [&](const ir::VarNode& v, auto&) -> ir::Expr {
        const auto found = vars.find(ir::Var::of(v));
        return found == vars.end() ? ir::Expr::of(v) : found->second;
      },
      [&](const ir::Buffer& b) -> ir::Buffer {
        const auto found = buffers.find(b);
        return found == buffers.end() ? b : found->second;
      },
      [&](const ir::For& loop, auto& self) -> Stmt {
        const Stmt renamed = ir::with(loop, [&](ir::For& f) { renew(f.var); });
        return self.children(*renamed);
      },
      [&](const ir::Let& let, auto& self) -> Stmt {
        const Stmt renamed = ir::with(let, [&](ir::Let& l) { renew(l.var); });
        return self.children(*renamed);
      },
      [&](const ir::Block& block, auto& self) -> Stmt {
        const Stmt renamed = ir::with(block, [&](ir::Block& b) {
          for (ir::BlockIter& it : b.iters) renew(it.var);
        });
        return self.children(*renamed);
      },
      [&](const ir::Alloc& alloc, auto& self) -> Stmt {
        const ir::BufferNode& b = *alloc.buffer;
        buffers[alloc.buffer] =
            ir::make_buffer(b.name, b.elem, b.shape, b.scope, b.layout, b.alignment, b.span);
        return self.children(alloc);
      });
}

Stmt copy_of(const Program& program, const Stmt& stmt, const std::string& suffix) {
  return ir::rewrite(with_fresh_names(stmt), [&](const ir::Block& b, auto& self) -> Stmt {
    const Stmt inner = self.children(b);
    return ir::with(*inner.as<ir::Block>(),
                    [&](ir::Block& n) { n.name = program.fresh_block_name(b.name + suffix); });
  });
}

}  // namespace tilewright::schedule
