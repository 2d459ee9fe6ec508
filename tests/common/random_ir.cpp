// SPDX-License-Identifier: Apache-2.0
#include "common/random_ir.h"

#include <limits>

#include "ir/build.h"
#include "ir/scalar.h"

namespace tilewright {

using namespace ir;

namespace {

/// Puts back the things in scope when it ends.
template <class Scope>
struct Restore {
  Scope& scope;
  Scope saved = scope;
  ~Restore() { scope = std::move(saved); }
};

}  // namespace

/// Clashes, reserved words, words of clauses, and what is no name at all.
std::string RandomIr::name() {
  static const std::vector<std::string> names = {
      "i",     "j",    "k",      "x",     "x_1", "x_2", "A",    "B",     "for",   "f32",  "i8",
      "inf",   "mask", "shared", "align", "pad", "sum", "max",  "bytes", "write", "init", "",
      "7.out", "a-b",  "é",      "min",   "in",  "exp", "bits", "where", "true",  "_"};
  return chance(1) ? std::string(1000, 'n') : one_of(names);
}

std::string RandomIr::word() {
  static const std::vector<std::string> words = {"mm",  "load", "compute", "block",
                                                 "for", "f32",  "_x9"};
  return one_of(words);
}

std::string RandomIr::bytes() {
  std::string out;
  for (int64_t n = 1 + below(6); n > 0; --n) out += static_cast<char>(below(256));
  return out;
}

Expr RandomIr::constant(Elem e) {
  if (!is_float(e)) {
    const std::vector<int64_t> values = {0,
                                         1,
                                         2,
                                         7,
                                         -1,
                                         int_min(e),
                                         static_cast<int64_t>(int_max(e)),
                                         static_cast<int64_t>(random_())};
    return make<IntImm>({}, Type{e, 1}, wrap_int(e, one_of(values)));
  }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {
      0.0,  -0.0, 1.0,   0.1,         -2.5,
      1e20, kInf, -kInf, kInf - kInf, float_from_bits(e, random_() >> (64 - bits(e)))};
  return make<FloatImm>({}, Type{e, 1}, round_to(e, one_of(values)));
}

Expr RandomIr::leaf(Type t) {
  std::vector<Var> fitting;
  for (const Var& v : scope_.vars)
    if (v.type() == t) fitting.push_back(v);
  if (!fitting.empty() && chance(60)) return one_of(fitting);
  if (!t.is_vector()) return constant(t.elem);
  if (t.is_int() && chance(50)) return make<Ramp>({}, constant(t.elem), constant(t.elem), t.lanes);
  return make<Broadcast>({}, leaf(t.scalar()), t.lanes);
}

Expr RandomIr::expr(Type t, int depth) {
  if (depth <= 0 || chance(15)) return leaf(t);
  switch (below(10)) {
    case 0:
      return make<Select>({}, expr(kBool.with_lanes(chance(50) ? t.lanes : 1), depth - 1),
                          expr(t, depth - 1), expr(t, depth - 1));
    case 1: return make<Guard>({}, expr(kBool, depth - 1), expr(t, depth - 1), expr(t, depth - 1));
    case 2: return make<Cast>({}, t.elem, expr({elem(), t.lanes}, depth - 1));
    case 3: return load(t, depth - 1);
    case 4:
      if (t.is_vector()) return make<Broadcast>({}, expr(t.scalar(), depth - 1), t.lanes);
      if (t.is_bool())
        return make<VectorReduce>({}, chance(50) ? BinaryOp::And : BinaryOp::Or,
                                  expr(t.with_lanes(lanes()), depth - 1));
      return make<VectorReduce>(
          {}, one_of(std::vector{BinaryOp::Add, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max}),
          expr(t.with_lanes(lanes()), depth - 1));
    case 5:
      if (t.is_vector() && t.is_int())
        return make<Ramp>({}, expr(t.scalar(), depth - 1), expr(t.scalar(), depth - 1), t.lanes);
      return scalar_op(t, depth);
    case 6:
      if (!t.is_bool()) {
        std::vector<Elem> same_width;
        for (int i = 1; i < kElemCount; ++i)
          if (bits(static_cast<Elem>(i)) == bits(t.elem))
            same_width.push_back(static_cast<Elem>(i));
        return make<Reinterpret>({}, t.elem, expr(t.with_elem(one_of(same_width)), depth - 1));
      }
      return scalar_op(t, depth);
    default: return scalar_op(t, depth);
  }
}

/// Unary, Binary and Call.
Expr RandomIr::scalar_op(Type t, int depth) {
  const auto sub = [&](Type type) { return expr(type, depth - 1); };
  const auto two = [&](BinaryOp op, Type type) {
    return make<Binary>({}, op, sub(type), sub(type));
  };
  if (t.is_bool()) {
    const Type numbers{any(Elem::F64), t.lanes};
    switch (below(5)) {
      case 0: return make<Unary>({}, UnaryOp::Not, sub(t));
      case 1: return two(one_of(std::vector{BinaryOp::And, BinaryOp::Or, BinaryOp::BitXor}), t);
      case 2: return two(chance(50) ? BinaryOp::Eq : BinaryOp::Ne, numbers);
      case 3:
        return make<Call>({}, chance(50) ? MathFn::IsNan : MathFn::IsInf,
                          std::vector{sub(t.with_elem(Elem::F16))});
      default:
        if (numbers.is_bool()) return make<Unary>({}, UnaryOp::Not, sub(t));
        return two(chance(50) ? BinaryOp::Lt : BinaryOp::Le, numbers);
    }
  }
  if (chance(20))
    return make<Unary>({},
                       one_of(t.is_int() ? std::vector{UnaryOp::Neg, UnaryOp::Abs, UnaryOp::BitNot}
                                         : std::vector{UnaryOp::Neg, UnaryOp::Abs}),
                       sub(t));
  if (chance(20)) {
    const MathFn fn = t.is_int() ? (chance(50) ? MathFn::Popcount : MathFn::Clz) : any(MathFn::Fma);
    if (info(fn).on_floats == t.is_float() && fn != MathFn::IsNan && fn != MathFn::IsInf) {
      std::vector<Expr> args;
      for (int i = 0; i < info(fn).args; ++i) args.push_back(sub(t));
      return make<Call>({}, fn, std::move(args));
    }
  }
  const BinaryOp last = t.is_int() ? BinaryOp::Shr : BinaryOp::Max;
  const BinaryOp op = any(last);
  return two(op == BinaryOp::Mod && !t.is_int() ? BinaryOp::Div : op, t);
}

std::vector<Expr> RandomIr::indices(const Buffer& b, int n, int depth) {
  std::vector<Expr> out;
  for (int i = 0; i < b->rank(); ++i)
    out.push_back(expr(kIndex.with_lanes(i == 0 || chance(30) ? n : 1), depth));
  return out;
}

Expr RandomIr::load(Type t, int depth) {
  std::vector<Buffer> fitting;
  for (const Buffer& b : scope_.buffers)
    if (b->elem == t.elem && (b->rank() > 0 || !t.is_vector())) fitting.push_back(b);
  if (fitting.empty()) return leaf(t);
  const Buffer b = one_of(fitting);
  const Expr mask = chance(25) ? expr(kBool.with_lanes(t.lanes), depth) : Expr();
  const Expr rank = chance(20) ? index(depth) : Expr();
  return make<Load>({}, b, indices(b, t.lanes, depth), mask, rank);
}

Range RandomIr::range(int depth) {
  const Expr min = index(depth);
  switch (below(4)) {
    case 0: return {Expr(0), index(depth)};
    case 1: return {Expr(below(9) - 4), Expr(below(9) - 4)};
    case 2: return {min, make<Binary>({}, BinaryOp::Sub, index(depth), min)};
    default: return {min, index(depth)};
  }
}

Region RandomIr::region(const Buffer& b) {
  Region out{b, {}, chance(15) ? index(1) : Expr()};
  for (int i = 0; i < b->rank(); ++i)
    out.ranges.push_back(chance(40) ? Range{index(1), Expr(1)} : range(1));
  return out;
}

std::vector<Region> RandomIr::regions() {
  std::vector<Region> out;
  for (int64_t n = below(4); n > 0 && !scope_.buffers.empty(); --n)
    out.push_back(region(one_of(scope_.buffers)));
  return out;
}

Var RandomIr::bound_var(Type type) {
  const Var v(name(), type);
  scope_.vars.push_back(v);
  return v;
}

Layout RandomIr::layout(size_t rank) {
  auto out = std::make_shared<LayoutNode>();
  std::vector<Expr> extents;
  const int64_t dims = below(4);
  for (int64_t i = 0; i < dims; ++i) extents.push_back(index(1));
  const Restore<Scope> restore{scope_};
  for (size_t i = 0; i < rank; ++i) out->indices.push_back(bound_var());
  if (chance(30)) {
    out->replica = bound_var();
    out->replicas = 1 + below(4);
  }
  for (const Expr& extent : extents)
    out->dims.push_back({any(PhysKind::Register), index(2), extent});
  out->padding = any(Padding::Zero);
  return Layout(std::shared_ptr<const LayoutNode>(std::move(out)));
}

Buffer RandomIr::buffer(Elem e) {
  std::vector<Expr> shape;
  for (int64_t n = below(4); n > 0; --n) shape.push_back(index(1));
  ir::Scope where{any(ScopeKind::Named), ""};
  if (where.kind == ScopeKind::Named)
    where.name =
        one_of(std::vector<std::string>{"vdla.inp", "x.for", "acc", "a.b.c", "global", bytes()});
  Layout places = chance(30) ? layout(shape.size()) : nullptr;
  return make_buffer(name(), e, std::move(shape), where, std::move(places), chance(30) ? 64 : 0);
}

Stmt RandomIr::store() {
  if (scope_.buffers.empty()) return make_stmt<Barrier>({}, BarrierReach::Block);
  const Buffer b = one_of(scope_.buffers);
  const int n = b->rank() > 0 && chance(30) ? lanes() : 1;
  const Expr mask = chance(20) ? expr(kBool.with_lanes(n), 1) : Expr();
  const Expr rank = chance(20) ? index(1) : Expr();
  return make_stmt<Store>({}, b, indices(b, n, 2), expr({b->elem, n}, 3), mask, rank);
}

Stmt RandomIr::update() {
  std::vector<Reducer> fitting;
  const auto target_of = [&](Elem e) {
    std::vector<Buffer> out;
    for (const Buffer& b : scope_.buffers)
      if (b->elem == e) out.push_back(b);
    return out.empty() ? Buffer() : one_of(out);
  };
  for (const Reducer& r : reducers_) {
    bool fits = true;
    for (const Var& v : r->lhs) fits = fits && target_of(v.type().elem);
    if (fits) fitting.push_back(r);
  }
  Reducer r;
  if (!fitting.empty() && chance(50)) {
    r = one_of(fitting);
  } else {
    if (scope_.buffers.empty()) return store();
    const Elem e = one_of(scope_.buffers)->elem;
    r = e == Elem::Bool
            ? builtin_reducer(chance(50) ? BinaryOp::And : BinaryOp::Or, e)
            : builtin_reducer(
                  one_of(std::vector{BinaryOp::Add, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max}),
                  e);
  }
  std::vector<Target> targets;
  std::vector<Expr> values;
  for (const Var& v : r->lhs) {
    const Buffer b = target_of(v.type().elem);
    targets.push_back({b, indices(b, 1, 2)});
    values.push_back(expr(v.type(), 2));
  }
  return make_stmt<Update>({}, r, std::move(targets), std::move(values));
}

Stmt RandomIr::loop(int depth) {
  const Range over = range(1);
  const Restore<Scope> restore{scope_};
  const Var v = bound_var();
  const ForKind kind = any(ForKind::VThread);
  const ThreadAxis axis = kind == ForKind::Bound ? any(ThreadAxis::ThreadZ) : ThreadAxis::BlockX;
  return make_stmt<For>({}, v, over.min, over.extent, stmt(depth - 1), kind, axis, hints());
}

Stmt RandomIr::block(int depth) {
  std::vector<BlockIter> iters;
  for (int64_t n = below(4); n > 0; --n)
    iters.push_back({Var(), any(IterKind::Ordered), index(1), index(1)});
  const Restore<Scope> restore{scope_};
  for (BlockIter& it : iters) it.var = bound_var();
  const Expr predicate = chance(40) ? expr(kBool, 2) : Expr();
  std::vector<Region> reads = regions(), writes = regions();
  const Stmt init = chance(40) ? stmt(depth - 1) : Stmt();
  return make_stmt<Block>({}, word(), std::move(iters), predicate, std::move(reads),
                          std::move(writes), init, stmt(depth - 1), chance(20), hints());
}

std::vector<Hint> RandomIr::hints() {
  std::vector<Hint> out;
  if (chance(10)) out.push_back({"depth", below(9) - 4, ""});
  if (chance(10)) out.push_back({"for", 0, "a \"quoted\" text"});
  return out;
}

Stmt RandomIr::instr_call() {
  if (instructions_.empty()) return update();
  const Instruction instr = one_of(instructions_);
  std::vector<Region> operands;
  for (const Param& p : instr->operands) {
    std::vector<Buffer> fitting;
    for (const Buffer& b : scope_.buffers)
      if (b->elem == p.buffer->elem) fitting.push_back(b);
    if (fitting.empty()) return update();
    operands.push_back(region(one_of(fitting)));
  }
  const InstrForm wanted = any(InstrForm::Update);
  const InstrForm form = instr->form(wanted) ? wanted : InstrForm::Compute;
  std::vector<std::vector<Expr>> strides;
  if (chance(30))
    for (const Param& p : instr->operands) {
      strides.emplace_back();
      for (size_t d = 0; d < p.buffer->physical_rank(); ++d) strides.back().push_back(index(1));
    }
  return make_stmt<InstrCall>({}, instr, form, std::move(operands), std::move(strides));
}

Stmt RandomIr::agents(int depth) {
  std::vector<Agent> out;
  for (int64_t n = 1 + below(3); n > 0; --n) {
    const Restore<Scope> restore{scope_};
    Agent a;
    a.name = word();
    if (chance(50)) {
      a.index = bound_var();
      a.count = 1 + below(3);
    }
    a.thread = bound_var();
    a.threads = 1 + below(128);
    a.registers = chance(50) ? 0 : 1 + below(255);
    a.body = stmt(depth - 1);
    out.push_back(std::move(a));
  }
  return make_stmt<Agents>({}, std::move(out));
}

Stmt RandomIr::channel_op(int depth) {
  if (scope_.channels.empty()) return scoped(depth);
  const Channel c = one_of(scope_.channels);
  const Expr bytes = chance(50) ? index(1) : Expr();
  const Expr rank = chance(30) ? index(1) : Expr();
  if (depth > 0 && chance(30))
    return make_stmt<Async>({}, c, index(2), bytes, rank, stmt(depth - 1));
  const ChannelOpKind op = any(ChannelOpKind::Release);
  return make_stmt<ChannelOp>({}, op, c, index(2), op == ChannelOpKind::Commit ? bytes : Expr(),
                              rank);
}

Stmt RandomIr::atomic() {
  if (scope_.buffers.empty()) return store();
  const Buffer b = one_of(scope_.buffers);
  const AtomicOp op = any(AtomicOp::CompareExchange);
  Buffer old;
  for (const Buffer& candidate : scope_.buffers)
    if (candidate->rank() == 0 && candidate->elem == b->elem &&
        candidate->scope.kind == ScopeKind::Register)
      old = candidate;
  const Type t{b->elem, 1};
  return make_stmt<Atomic>({}, op, any(MemoryOrder::AcquireRelease), b, indices(b, 1, 1),
                           expr(t, 1), op == AtomicOp::CompareExchange ? expr(t, 1) : Expr(), old);
}

/// Let, Alloc and ChannelScope.
Stmt RandomIr::scoped(int depth) {
  switch (below(3)) {
    case 0: {
      const Type t{elem(), chance(30) ? lanes() : 1};
      const Expr value = expr(t, 2);
      const Restore<Scope> restore{scope_};
      const Var v = bound_var(t);
      return make_stmt<Let>({}, v, value, stmt(depth - 1));
    }
    case 1: {
      const Elem e = scope_.buffers.empty() || chance(50) ? elem() : one_of(scope_.buffers)->elem;
      const Buffer b =
          chance(30) ? make_buffer(name(), e, {}, {ScopeKind::Register, ""}) : buffer(e);
      const Restore<Scope> restore{scope_};
      scope_.buffers.push_back(b);
      return make_stmt<Alloc>({}, b, stmt(depth - 1));
    }
    default: {
      auto node = std::make_shared<ChannelNode>();
      node->name = name();
      node->slots = 1 + below(4);
      node->commits = 1 + below(3);
      node->releases = 1 + below(3);
      node->reach = any(ChannelReach::Cluster);
      const Channel c{std::shared_ptr<const ChannelNode>(std::move(node))};
      const Restore<Scope> restore{scope_};
      scope_.channels.push_back(c);
      return make_stmt<ChannelScope>({}, c, stmt(depth - 1));
    }
  }
}

Stmt RandomIr::simple(int depth) {
  switch (below(7)) {
    case 0: return update();
    case 1: return instr_call();
    case 2: return atomic();
    case 3: {
      const BarrierReach reach = any(BarrierReach::Grid);
      if (reach != BarrierReach::Named) return make_stmt<Barrier>({}, reach);
      return make_stmt<Barrier>({}, reach, bytes(), 1 + below(512));
    }
    case 4: {
      if (scope_.buffers.empty()) return store();
      const Buffer b = one_of(scope_.buffers);
      return make_stmt<Prefetch>({}, b, indices(b, 1, 1), static_cast<int32_t>(1 + below(3)),
                                 chance(50));
    }
    case 5: return scope_.channels.empty() ? store() : channel_op(depth);
    default: return store();
  }
}

Stmt RandomIr::stmt(int depth) {
  if (depth <= 0) return chance(10) ? nothing() : simple(0);
  switch (below(9)) {
    case 0: return loop(depth);
    case 1: return make_stmt<While>({}, expr(kBool, 2), stmt(depth - 1));
    case 2:
      return make_stmt<If>({}, expr(kBool, 2), stmt(depth - 1),
                           chance(50) ? stmt(depth - 1) : Stmt());
    case 3: return block(depth);
    case 4: return agents(depth);
    case 5: return channel_op(depth);
    case 6: return scoped(depth);
    default: {
      std::vector<Stmt> list;
      for (int64_t n = 2 + below(3); n > 0; --n) list.push_back(stmt(depth - 1));
      return seq(std::move(list));
    }
  }
}

Reducer RandomIr::reducer() {
  const Restore<Scope> restore{scope_};
  auto out = std::make_shared<ReducerNode>();
  out->name = chance(50) ? "argmax" : name();
  std::vector<Type> types;
  for (int64_t n = 1 + below(2); n > 0; --n) types.push_back({elem(), 1});
  const auto vars = [&] {
    std::vector<Var> list;
    for (const Type t : types) list.push_back(bound_var(t));
    return list;
  };
  const auto values = [&](int depth) {
    std::vector<Expr> list;
    for (const Type t : types) list.push_back(expr(t, depth));
    return list;
  };
  scope_ = {};
  out->identity = values(1);
  out->lhs = vars();
  out->rhs = vars();
  out->combine = values(2);
  if (chance(50)) {
    scope_ = {};
    out->partial = vars();
    for (int64_t n = 1 + below(2); n > 0; --n) out->from.push_back(bound_var({elem(), 1}));
    for (const Var& v : out->from) out->to.push_back(bound_var(v.type()));
    out->rescale = values(2);
  }
  return Reducer(std::shared_ptr<const ReducerNode>(std::move(out)));
}

std::vector<Param> RandomIr::params() {
  std::vector<Param> out;
  for (int64_t n = 1 + below(3); n > 0; --n) {
    out.push_back({buffer(chance(50) ? Elem::F32 : elem()), any(Access::InOut)});
    scope_.buffers.push_back(out.back().buffer);
  }
  return out;
}

Instruction RandomIr::instruction() {
  const Restore<Scope> restore{scope_};
  scope_ = {};
  auto out = std::make_shared<InstructionNode>();
  out->name = chance(50) ? "dot" : name();
  out->operands = params();
  out->compute = stmt(1);
  if (chance(50)) out->reset = stmt(1);
  if (chance(50)) out->update = stmt(1);
  if (chance(50)) out->emit = bytes();
  return Instruction(std::shared_ptr<const InstructionNode>(std::move(out)));
}

LoopFunc RandomIr::function() {
  scope_ = {};
  LoopFunc f;
  f.name = word();
  for (int64_t n = below(3); n > 0; --n) {
    Symbol s;
    s.var = bound_var();
    s.min = below(10) - 5;
    s.max = s.min + below(1000);
    s.divisor = 1 + below(3);
    for (int64_t k = below(3); k > 0; --k) s.likely.push_back(below(1000) - 500);
    f.symbols.push_back(std::move(s));
  }
  f.params = params();
  f.stage = any(Stage::Final);
  f.body = stmt(4);
  return f;
}

Unit RandomIr::unit() {
  Unit out;
  reducers_.clear();
  instructions_.clear();
  for (int64_t n = below(3); n > 0; --n) reducers_.push_back(reducer());
  for (int64_t n = below(3); n > 0; --n) instructions_.push_back(instruction());
  out.reducers = reducers_;
  out.instructions = instructions_;
  out.functions.push_back(function());
  return out;
}

}  // namespace tilewright
