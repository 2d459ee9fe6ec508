// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "target/c_source/emitter.h"
#include "target/c_source/types.h"

namespace tilewright::target::c_source {

using ir::BinaryOp;
using ir::Expr;
using ir::ForKind;

void Emitter::unsupported(const Span& at, const std::string& what, const std::string& help) const {
  throw Error({.code = "target.c_source.unsupported",
               .at = at,
               .message = str(dialect_.name, " code cannot contain ", what),
               .notes = {"its threads share nothing but memory"},
               .help = help});
}

void Emitter::other(const ir::Stmt& s) {
  std::string what = "this statement";
  std::string help = "use a target that has it, or schedule the function without it";
  switch (s->kind) {
    case ir::StmtKind::Agents: what = "`agents`"; break;
    case ir::StmtKind::ChannelScope:
      what = str("the channel `", s.as<ir::ChannelScope>()->channel->name, "`");
      break;
    case ir::StmtKind::ChannelOp:
      what = str("an operation of channel `", s.as<ir::ChannelOp>()->channel->name, "`");
      break;
    case ir::StmtKind::Async: what = "`async`"; break;
    case ir::StmtKind::Barrier: what = "a barrier"; break;
    case ir::StmtKind::For:
      what = str("the loop `", s.as<ir::For>()->var.name(), "` bound to hardware threads");
      help = "make the loop `parallel`, or use a target that has such threads";
      break;
    default: break;
  }
  unsupported(s->span, what, help);
}

void Emitter::stmt(const ir::Stmt& s) {
  ir::visit(s, [&]<class T>(const T& node) {
    if constexpr (std::is_same_v<T, ir::Alloc>) {
      alloc(node);
    } else if constexpr (std::is_same_v<T, ir::Atomic>) {
      atomic(node);
    } else if constexpr (requires { emit(node); }) {
      emit(node);
    } else {
      other(s);
    }
  });
}

Lines Emitter::lines_of(FunctionRef<void()> f) {
  Lines lines;
  Lines* const outside = out_;
  out_ = &lines;
  f();
  out_ = outside;
  return lines;
}

Lines Emitter::inside(const ir::Stmt& s) {
  const NameScope scope(frame_->names);
  return lines_of([&] { stmt(s); });
}

void Emitter::emit(const ir::Store& s) {
  if (s.rank)
    unsupported(s.span, str("a store into another block's `", s.buffer->name, "`"),
                "schedule the function without clusters");
  Place& place = place_of(s.buffer);
  place.is_written = true;
  if (s.value.type().is_vector()) return vector_store(s);
  const Text value = expr(s.value);
  const std::string line = store(place, s.indices, value);
  out_->line(s.mask ? "if (" + expr(s.mask).s + ") " + line : line);
}

void Emitter::emit(const ir::Seq& s) {
  for (size_t i = 0; i < s.stmts.size(); ++i) {
    const ir::Stmt& one = s.stmts[i];
    // A declaration holds to the end of C's braces: those that end earlier get braces of their own.
    const bool declares = one.as<ir::Let>() || one.as<ir::Alloc>();
    if (declares && i + 1 < s.stmts.size()) {
      const Lines lines = inside(one);
      out_->open("");
      out_->append(lines);
      out_->close();
    } else {
      stmt(one);
    }
  }
}

void Emitter::emit(const ir::Let& s) {
  const ir::Type type = s.var.type();
  const std::string name = frame_->names.take(s.var.name());
  bind(s.var, name, type.is_float() ? Range{} : range(s.value));
  // The body comes first: a value that it never names needs no variable.
  const Lines body = lines_of([&] { stmt(s.body); });
  if (frame_->vars.at(s.var).used) {
    if (type.is_vector()) {
      out_->line(str(value_type(type.elem), " ", name, "[", type.lanes, "];"));
      for_lanes(type.lanes, [&] { return str(name, "[", kLane, "] = ", expr(s.value).s, ";"); });
    } else {
      const Text value = expr(s.value);
      out_->line(str("const ", value_type(type.elem), " ", name, " = ", value.s, ";"));
    }
  }
  out_->append(body);
}

void Emitter::emit(const ir::For& s) {
  switch (s.loop) {
    case ForKind::Parallel: return parallel(s);
    case ForKind::Bound:
    case ForKind::VThread: return other(ir::Stmt::of(s));
    case ForKind::Serial:
    case ForKind::Vectorized:
    case ForKind::Unrolled: return serial(s);
  }
}

/// A bound of a loop: its value from before the first iteration, whatever the body writes.
Text Emitter::bound(const ir::For& s, const Expr& e, std::string_view suffix) {
  const Text text = expr(e);
  if (!ir::has_load(e)) return text;
  const std::string name = frame_->names.take(s.var.name() + std::string(suffix));
  out_->line(str("const int64_t ", name, " = ", text.s, ";"));
  return {name};
}

void Emitter::iterate(const ir::For& s, const Expr& min, const Expr& from, const Expr& to) {
  const Range first = exact(BinaryOp::Add, range(min), range(from));
  const Range end = exact(BinaryOp::Add, range(min), range(to)), index = range_of(ir::Elem::I64);
  if (range(to).hi <= range(from).lo) return;
  const auto head = [](const std::string& name, const Text& begin, const Text& last) {
    return str("for (int64_t ", name, " = ", begin.s, "; ", name, " < ", last.in(Bind::Sum), "; ++",
               name, ")");
  };
  if (end.within(index)) {
    const Text begin = bound(s, min + from, "_begin"), last = bound(s, min + to, "_end");
    const NameScope scope(frame_->names);
    const std::string name = frame_->names.take(s.var.name());
    bind(s.var, name, {first.lo, end.hi - 1});
    return out_->wrap(head(name, begin, last), inside(s.body));
  }
  // min + to may not be an i64: count the iterations instead.
  const Text start = bound(s, min, "_min"), begin = bound(s, from, "_begin");
  const Text last = bound(s, to, "_end");
  const NameScope scope(frame_->names);
  const std::string name = frame_->names.take(s.var.name());
  const std::string n = frame_->names.take(s.var.name() + "_n");
  bind(s.var, name, {std::max(first.lo, index.lo), index.hi});
  const Lines body = lines_of([&] { stmt(s.body); });
  out_->open(head(n, begin, last));
  if (frame_->vars.at(s.var).used)
    out_->line(str("const int64_t ", name, " = tw_add_i64(", start.s, ", ", n, ");"));
  out_->append(body);
  out_->close();
}

void Emitter::emit(const ir::While& s) {
  const NameScope scope(frame_->names);
  Text cond;
  const Lines before = lines_of([&] { cond = expr(s.cond); });
  const Lines body = inside(s.body);
  if (before.empty()) return out_->wrap("while (" + cond.s + ")", body);
  out_->open("for (;;)");
  out_->append(before);
  out_->line("if (!" + cond.in(Bind::Unary) + ") break;");
  out_->append(body);
  out_->close();
}

void Emitter::emit(const ir::If& s) {
  const auto head = [](const Text& cond) { return "if (" + cond.s + ")"; };
  const Text cond = expr(s.cond);
  if (!s.no || ir::is_nothing(s.no)) return out_->wrap(head(cond), inside(s.yes));
  out_->open(head(cond));
  out_->append(inside(s.yes));
  ir::Stmt rest = s.no;
  while (const auto* next = rest.as<ir::If>()) {
    Text other;
    if (!lines_of([&] { other = expr(next->cond); }).empty()) break;
    out_->reopen("} else " + head(other) + " {");
    out_->append(inside(next->yes));
    rest = next->no;
    if (!rest) break;
  }
  if (rest && !ir::is_nothing(rest)) {
    out_->reopen("} else {");
    out_->append(inside(rest));
  }
  out_->close();
}

void Emitter::emit(const ir::Prefetch& s) {
  Place& place = place_of(s.buffer);
  if (place.is_variable) return;
  place.is_read = true;
  std::vector<Expr> indices = s.indices;
  if (is_packed(s.buffer->elem) && !indices.empty())
    indices[0] = indices[0] / Expr(8 / ir::bits(s.buffer->elem));
  out_->line(str("tw_prefetch(", address(place, indices), ", ", s.for_write ? 1 : 0, ", ",
                 4 - s.level, ");"));
}

}  // namespace tilewright::target::c_source
