// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <set>

#include "ir/rewrite.h"
#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir {
namespace detail {

void fail(std::string_view code, const Span& at, std::string message,
          std::vector<std::string> notes, std::string help) {
  throw Error({.code = code,
               .at = at,
               .message = std::move(message),
               .notes = std::move(notes),
               .help = std::move(help)});
}

const Span& place(const Span& first, const Span& second) { return first.line > 0 ? first : second; }

const Span& place(const Expr& e, const Span& around) {
  return e.as<VarNode>() ? around : place(e->span, around);
}

std::string quoted(std::string_view name) { return str("`", name, "`"); }

std::string describe(const Stmt& s) {
  switch (s->kind) {
    case StmtKind::Store: return str("the store to ", quoted(s.as<Store>()->buffer->name));
    case StmtKind::Update:
      return str("the update of ", quoted(s.as<Update>()->targets[0].buffer->name));
    case StmtKind::Seq: return "the sequence";
    case StmtKind::Let: return str("the let ", quoted(s.as<Let>()->var.name()));
    case StmtKind::Alloc: return str("the allocation of ", quoted(s.as<Alloc>()->buffer->name));
    case StmtKind::For: {
      const For& loop = *s.as<For>();
      if (loop.loop == ForKind::Bound)
        return str("the `bind(", name(loop.axis), ")` loop ", quoted(loop.var.name()));
      return str("the `", name(loop.loop), "` loop ", quoted(loop.var.name()));
    }
    case StmtKind::While: return "the `while` loop";
    case StmtKind::If: return "the `if`";
    case StmtKind::Block: return str("the block ", quoted(s.as<Block>()->name));
    case StmtKind::InstrCall: return str("the call of ", quoted(s.as<InstrCall>()->instr->name));
    case StmtKind::Agents: return "`agents`";
    case StmtKind::ChannelScope:
      return str("the channel ", quoted(s.as<ChannelScope>()->channel->name));
    case StmtKind::ChannelOp: {
      const ChannelOp& op = *s.as<ChannelOp>();
      return str("`", name(op.op), " ", op.channel->name, "`");
    }
    case StmtKind::Async: return str("`async -> ", s.as<Async>()->channel->name, "`");
    case StmtKind::Barrier: return str("`barrier ", name(s.as<Barrier>()->reach), "`");
    case StmtKind::Atomic: return str("the atomic on ", quoted(s.as<Atomic>()->buffer->name));
    case StmtKind::Prefetch: return str("the prefetch of ", quoted(s.as<Prefetch>()->buffer->name));
  }
  __builtin_unreachable();
}

bool is_thread(ThreadAxis axis) { return axis >= ThreadAxis::ThreadX; }
bool is_cluster(ThreadAxis axis) {
  return axis >= ThreadAxis::ClusterX && axis <= ThreadAxis::ClusterZ;
}
bool is_block(ThreadAxis axis) { return axis <= ThreadAxis::BlockZ; }

bool has_lanes(const BufferNode& buffer) {
  if (!buffer.layout) return false;
  for (const PhysDim& dim : buffer.layout->dims)
    if (dim.kind == PhysKind::Lane) return true;
  return false;
}

namespace {

void walk_paths(const Stmt& s, Path& path, FunctionRef<void(const Stmt&, const Path&)> f) {
  f(s, path);
  path.push_back({s});
  if (const Agents* agents = s.as<Agents>()) {
    for (const Agent& a : agents->agents) {
      path.back().agent = &a;
      walk_paths(a.body, path, f);
    }
  } else if (const Block* block = s.as<Block>()) {
    if (block->init) {
      path.back().init = true;
      walk_paths(block->init, path, f);
      path.back().init = false;
    }
    walk_paths(block->body, path, f);
  } else {
    for_each_child(s, [](const Expr&) {}, [&](const Stmt& child) { walk_paths(child, path, f); });
  }
  path.pop_back();
}

}  // namespace

void walk_paths(const Stmt& body, FunctionRef<void(const Stmt&, const Path&)> f) {
  Path path;
  walk_paths(body, path, f);
}

void for_each_use(const Stmt& s, FunctionRef<void(const Use&)> f) {
  const auto loads_of = [&](const Expr& e) {
    walk(e, [&](const Load& load) {
      f({load.buffer.get(), true, false, load.rank, place(load.span, s->span)});
    });
  };
  if (const Block* block = s.as<Block>()) {
    for (const BlockIter& it : block->iters) {
      loads_of(it.extent);
      loads_of(it.binding);
    }
    if (block->predicate) loads_of(block->predicate);
    return;
  }
  for_each_child(s, loads_of, [](const Stmt&) {});
  if (const Store* store = s.as<Store>()) {
    f({store->buffer.get(), false, true, store->rank, s->span});
  } else if (const Update* update = s.as<Update>()) {
    for (const Target& t : update->targets) f({t.buffer.get(), true, true, nullptr, s->span});
  } else if (const Atomic* atomic = s.as<Atomic>()) {
    f({atomic->buffer.get(), true, true, nullptr, s->span});
    if (atomic->old) f({atomic->old.get(), false, true, nullptr, s->span});
  } else if (const InstrCall* call = s.as<InstrCall>()) {
    for (size_t i = 0; i < call->operands.size(); ++i) {
      const BufferNode* operand = call->instr->operands[i].buffer.get();
      Use use{call->operands[i].buffer.get(), false, false, call->operands[i].rank, s->span};
      walk_paths(call->instr->form(call->form), [&](const Stmt& meaning, const Path&) {
        for_each_use(meaning, [&](const Use& inner) {
          if (inner.buffer != operand) return;
          use.reads = use.reads || inner.reads;
          use.writes = use.writes || inner.writes;
        });
      });
      if (use.reads || use.writes) f(use);
    }
  }
}

void verify_function(const LoopFunc& func, bool instruction) {
  try {
    verify_scopes(func);
    verify_stage(func);
    verify_placement(func);
    verify_memory(func, instruction);
    verify_blocks(func);
    verify_sync(func);
    verify_calls(func);
  } catch (const Error& e) {
    Diagnostic d = e.diagnostic;
    d.notes.push_back(str("in ", instruction ? "instruction " : "function ", quoted(func.name)));
    throw Error(std::move(d));
  }
}

namespace {

template <class Items, class NameOf>
void verify_names(const Items& items, std::string_view what, NameOf name_of) {
  std::set<std::string> seen;
  for (const auto& item : items) {
    const auto& [name, span] = name_of(item);
    if (!seen.insert(name).second)
      fail("ir.verify.duplicate", span, str("the file holds two ", what, "s named ", quoted(name)),
           {}, str("give every ", what, " its own name"));
  }
}

}  // namespace
}  // namespace detail

void verify(const LoopFunc& func) {
  walk(func.body, [](const Update& u) { verify(*u.reducer); });
  detail::verify_function(func, false);
}

void verify(const BufferNode& buffer, const std::vector<Symbol>& symbols) {
  detail::verify_layout(buffer, symbols);
}

void verify(const Unit& unit) {
  using detail::verify_names;
  verify_names(unit.reducers, "reducer",
               [](const Reducer& r) { return std::pair(r->name, Span{}); });
  verify_names(unit.instructions, "instruction",
               [](const Instruction& i) { return std::pair(i->name, i->span); });
  verify_names(unit.functions, "function",
               [](const LoopFunc& f) { return std::pair(f.name, f.span); });
  for (const Reducer& r : unit.reducers) verify(*r);
  for (const Instruction& i : unit.instructions) verify(*i);
  for (const LoopFunc& f : unit.functions) verify(f);
}

}  // namespace tilewright::ir
