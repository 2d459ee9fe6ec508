// SPDX-License-Identifier: Apache-2.0
#include "ops/loops.h"

#include <unordered_set>

#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::ops {

using graph::Call;
using ir::Buffer;
using ir::Elem;
using ir::Expr;
using ir::Stmt;
using ir::Var;

LoopForm::LoopForm(const Call& call, std::string_view name, size_t outputs)
    : call_(call), name_(name) {
  for (size_t i = 0; i < call.inputs(); ++i)
    in_.push_back(call.has(i) ? ir::make_buffer(str("in", i), call.elem(i), call.shape(i))
                              : Buffer());
  for (size_t i = 0; i < outputs; ++i)
    out_.push_back(ir::make_buffer(str("out", i), call.out(i).elem, call.out(i).shape));
}

const Buffer& LoopForm::in(size_t i) const {
  require(i < in_.size() && in_[i], "an input that is not there is read");
  return in_[i];
}

ir::LoopFunc LoopForm::func(Stmt body) const {
  ir::LoopFunc f;
  f.name = name_;
  std::unordered_set<Var> used;
  const auto note = [&](const Expr& e) { used.merge(ir::vars_of(e)); };
  const auto note_shape = [&](const Buffer& b) {
    for (const Expr& extent : b->shape) note(extent);
  };
  for (const Buffer& b : in_)
    if (b) f.params.push_back({b, ir::Access::In}), note_shape(b);
  for (const Buffer& b : out_) f.params.push_back({b, ir::Access::Out}), note_shape(b);
  ir::walk(
      body, [&](const ir::VarNode& v) { used.insert(Var::of(v)); },
      [&](const ir::Alloc& a) { note_shape(a.buffer); });
  for (const graph::SymbolInfo& info : call_.graph().symbols)
    if (used.contains(info.symbol.var)) f.symbols.push_back(info.symbol);
  f.body = std::move(body);
  return f;
}

Scalar::Scalar(std::string name, Elem elem)
    : buffer(ir::make_buffer(std::move(name), elem, {}, {ir::ScopeKind::Register, ""})) {}

Stmt Scalar::set(const Expr& value) const { return store(buffer, {}, value); }

Stmt store(const Buffer& buffer, Coords at, const Expr& value) {
  return ir::make_stmt<ir::Store>({}, buffer, std::move(at), value);
}

Stmt when(const Expr& condition, Stmt yes, Stmt no) {
  if (ir::is_true(condition)) return yes;
  return ir::make_stmt<ir::If>({}, condition, std::move(yes), std::move(no));
}

Stmt loop_while(const Expr& condition, Stmt body) {
  return ir::make_stmt<ir::While>({}, condition, std::move(body));
}

Stmt each(std::string_view name, const Expr& extent, FunctionRef<Stmt(const Expr&)> body) {
  const Var i{std::string(name)};
  return ir::make_stmt<ir::For>({}, i, Expr(0), extent, body(i));
}

Stmt each(const std::vector<Expr>& extents, FunctionRef<Stmt(const Coords&)> body) {
  std::vector<Var> vars;
  for (size_t d = 0; d < extents.size(); ++d) vars.emplace_back(str("i", d));
  Stmt s = body(Coords(vars.begin(), vars.end()));
  for (size_t d = extents.size(); d-- > 0;)
    s = ir::make_stmt<ir::For>({}, vars[d], Expr(0), extents[d], std::move(s));
  return s;
}

Stmt let(std::string_view name, const Expr& value, FunctionRef<Stmt(const Expr&)> body) {
  const Var v{std::string(name), value.type()};
  return ir::make_stmt<ir::Let>({}, v, value, body(v));
}

Stmt with(const std::vector<Local>& locals, Stmt body) {
  for (size_t i = locals.size(); i-- > 0;)
    body = ir::make_stmt<ir::Alloc>({}, locals[i].buffer, std::move(body));
  return body;
}

ir::Region whole(const Buffer& buffer) { return part(buffer, Coords(buffer->shape.size())); }

ir::Region part(const Buffer& buffer, const Coords& at) {
  ir::Region region{.buffer = buffer, .ranges = {}, .rank = {}};
  for (size_t d = 0; d < at.size(); ++d)
    region.ranges.push_back(at[d] ? ir::Range{at[d], 1} : ir::Range{0, buffer->shape[d]});
  return region;
}

/// Loops around a block with an iterator for each.
static Stmt block_in_loops(std::string_view name, const std::vector<Expr>& extents, bool opaque,
                           FunctionRef<std::vector<ir::Region>(const Coords&)> reads,
                           FunctionRef<std::vector<ir::Region>(const Coords&)> writes,
                           FunctionRef<Stmt(const Coords&)> body) {
  return each(extents, [&](const Coords& loops) {
    std::vector<ir::BlockIter> iters;
    Coords at;
    for (size_t d = 0; d < extents.size(); ++d) {
      const Var v(str("v", d));
      iters.push_back({v, ir::IterKind::Spatial, extents[d], loops[d]});
      at.push_back(v);
    }
    return ir::make_stmt<ir::Block>({}, std::string(name), std::move(iters), Expr(), reads(at),
                                    writes(at), Stmt(), body(at), opaque);
  });
}

Stmt independent(std::string_view name, const std::vector<Expr>& extents,
                 FunctionRef<std::vector<ir::Region>(const Coords&)> reads,
                 FunctionRef<std::vector<ir::Region>(const Coords&)> writes,
                 FunctionRef<Stmt(const Coords&)> body) {
  return block_in_loops(name, extents, true, reads, writes, body);
}

Stmt stored(std::string_view name, const Buffer& buffer, FunctionRef<Expr(const Coords&)> value) {
  const auto read = [&](const Coords& v) {
    std::vector<ir::Region> regions;
    ir::walk(value(v), [&](const ir::Load& l) { regions.push_back(part(l.buffer, l.indices)); });
    return regions;
  };
  return block_in_loops(
      name, buffer->shape, false, read,
      [&](const Coords& v) { return std::vector{part(buffer, v)}; },
      [&](const Coords& v) { return store(buffer, v, value(v)); });
}

Stmt alone(std::string_view name, const std::vector<Buffer>& reads,
           const std::vector<Buffer>& writes, Stmt body) {
  const auto all = [](const std::vector<Buffer>& buffers) {
    std::vector<ir::Region> regions;
    for (const Buffer& b : buffers) regions.push_back(whole(b));
    return regions;
  };
  return independent(
      name, {}, [&](const Coords&) { return all(reads); },
      [&](const Coords&) { return all(writes); }, [&](const Coords&) { return body; });
}

Stmt sort_indices(const Buffer& order, const Buffer& scratch, const Expr& n, const Scalar& sign,
                  FunctionRef<Stmt(const Expr& i, const Expr& j)> compare) {
  const Scalar width("width", Elem::I64), a("a", Elem::I64), b("b", Elem::I64);
  const auto item = [&](const Expr& at) { return ir::load(order, {at}); };
  const auto take = [&](const Expr& to, const Scalar& from) {
    return steps({store(scratch, {to}, item(from.get())), from.add(1)});
  };
  // Merges the runs lo..mid and mid..hi; of equal ones that of the left run comes first.
  const auto merge = [&](const Expr& lo, const Expr& mid, const Expr& hi) {
    return steps({a.set(lo), b.set(mid), each("t", hi - lo, [&](const Expr& t) {
                    return steps({sign.set(ir::select(a.get() < mid, Expr(-1), Expr(1))),
                                  when(ir::logical_and(a.get() < mid, b.get() < hi),
                                       compare(item(a.get()), item(b.get()))),
                                  when(sign.get() <= 0, take(lo + t, a), take(lo + t, b))});
                  })});
  };
  const Stmt pass = let("w", width.get(), [&](const Expr& w) {
    const auto run = [&](const Expr& r) {
      return let("lo", r * 2 * w, [&](const Expr& lo) {
        return let("mid", ir::min(lo + w, n), [&](const Expr& mid) {
          return let("hi", ir::min(lo + 2 * w, n),
                     [&](const Expr& hi) { return merge(lo, mid, hi); });
        });
      });
    };
    return steps(
        {each("run", ir::ceil_div(n, 2 * w), run),
         each("t", n, [&](const Expr& t) { return store(order, {t}, ir::load(scratch, {t})); }),
         width.set(2 * w)});
  });
  return with({width, a, b},
              steps({each("t", n, [&](const Expr& t) { return store(order, {t}, t); }),
                     width.set(1), loop_while(width.get() < n, pass)}));
}

Coords replaced(Coords at, int axis, const Expr& by) {
  at[static_cast<size_t>(axis)] = by;
  return at;
}

std::vector<Expr> without(std::vector<Expr> extents, int axis) {
  extents.erase(extents.begin() + axis);
  return extents;
}

Coords inserted(Coords at, int axis, const Expr& by) {
  at.insert(at.begin() + axis, by);
  return at;
}

Expr from_end(const Expr& index, const Expr& extent) {
  return ir::select(index < 0, index + extent, index);
}

Expr linear(const Coords& at, const std::vector<Expr>& extents) {
  Expr index = 0;
  for (size_t d = 0; d < at.size(); ++d) index = index * extents[d] + at[d];
  return index;
}

Coords unravel(const Expr& index, const std::vector<Expr>& extents) {
  Coords at(extents.size());
  Expr rest = index;
  for (size_t d = extents.size(); d-- > 0;) {
    at[d] = d == 0 ? rest : rest % extents[d];
    if (d > 0) rest = rest / extents[d];
  }
  return at;
}

}  // namespace tilewright::ops
