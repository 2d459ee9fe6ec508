// SPDX-License-Identifier: Apache-2.0
// Loops, branches, variables, symbols, allocations.
#include "gtest/gtest.h"

#include "target/host.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"

namespace tilewright::target::llvm {
namespace {

using namespace ir;
using target::llvm::store;  // not an IR node's

Stmt assign(const Buffer& scalar, const Expr& value) {
  return make_stmt<Store>({}, scalar, std::vector<Expr>{}, value);
}

Expr value_of(const Buffer& scalar) { return load(scalar, {}); }

std::vector<int64_t> run(const LoopFunc& f, std::vector<int64_t> in, size_t out_size,
                         std::vector<int64_t> scalars = {}) {
  std::vector<int64_t> out(out_size, -99);
  void* buffers[] = {in.data(), out.data()};
  compile(f, host_target()).call(buffers, scalars);
  return out;
}

struct Io {
  Buffer in, out;
  std::vector<Param> params;
};
Io io(Expr in_size, Expr out_size) {
  const Buffer in = array("in", Elem::I64, in_size), out = array("out", Elem::I64, out_size);
  return {in, out, {{in, Access::In}, {out, Access::Out}}};
}

TEST(Control, WhileWithScalarVariables) {
  // Collatz: the steps from in[0] to 1
  const Io b = io(1, 1);
  const Buffer x = make_buffer("x", Elem::I64, {}, {ScopeKind::Register, ""});
  const Buffer steps = make_buffer("steps", Elem::I64, {}, {ScopeKind::Register, ""});
  const Stmt even = assign(x, value_of(x) / 2), odd = assign(x, value_of(x) * 3 + 1);
  const Stmt step = seq(
      {make_stmt<If>({}, eq(value_of(x) % 2, 0), even, odd), assign(steps, value_of(steps) + 1)});
  Stmt body =
      seq({assign(x, load(b.in, {0})), assign(steps, 0),
           make_stmt<While>({}, ne(value_of(x), 1), step), store(b.out, 0, value_of(steps))});
  body = make_stmt<Alloc>({}, x, make_stmt<Alloc>({}, steps, body));
  const LoopFunc f = final_func("collatz", b.params, body);
  EXPECT_EQ(run(f, {27}, 1)[0], 111);
  EXPECT_EQ(run(f, {1}, 1)[0], 0);
  // Scalar variables are values, not memory.
  EXPECT_EQ(emit_llvm_ir(f, host_target()).find("alloca"), std::string::npos);
}

TEST(Control, GuardEvaluatesOneSide) {
  const Io b = io(4, 8);
  const Var i("i");
  // in[i] only where it exists; a select would read beyond.
  const Expr v = guard(Expr(i) < 4, load(b.in, {min(Expr(i), Expr(1 << 30))}), Expr(-1));
  const auto out = run(final_func("f", b.params, loop(i, 8, store(b.out, i, v))), {5, 6, 7, 8}, 8);
  EXPECT_EQ(out, (std::vector<int64_t>{5, 6, 7, 8, -1, -1, -1, -1}));
}

TEST(Control, LetAndSharedSubexpressions) {
  const Io b = io(16, 16);
  const Var v("v", {Elem::I64, 8});
  // A chain of v = v + v would be exponential if each use were computed anew.
  Expr sum = v;
  for (int i = 0; i < 40; ++i) sum = sum + sum;
  const Stmt body = make_stmt<Let>({}, v, load(b.in, {ramp(0, 8)}), store(b.out, ramp(0, 8), sum));
  const auto out = run(final_func("f", b.params, body), std::vector<int64_t>(16, 1), 16);
  EXPECT_EQ(out[7], int64_t{1} << 40);
  EXPECT_EQ(out[8], -99);
}

TEST(Control, SymbolicExtentsIncludingZero) {
  const Symbol n{Var("n"), 0, 100}, m{Var("m"), 1, 8};
  const Io b = io(n.var, n.var);
  const Var i("i");
  const LoopFunc f = final_func(
      "f", b.params, loop(i, n.var, store(b.out, i, load(b.in, {i}) * Expr(m.var))), {n, m});
  EXPECT_EQ(run(f, {1, 2, 3}, 4, {3, 5}), (std::vector<int64_t>{5, 10, 15, -99}));
  EXPECT_EQ(run(f, {1, 2, 3}, 4, {0, 5}), (std::vector<int64_t>(4, -99)));
}

TEST(Control, LoopsWithAStart) {
  const Io b = io(1, 10);
  const Var i("i");
  for (const ForKind kind : {ForKind::Serial, ForKind::Unrolled, ForKind::Parallel}) {
    const Stmt body = make_stmt<For>({}, i, Expr(3), Expr(4), store(b.out, i, Expr(i)), kind);
    EXPECT_EQ(run(final_func("f", b.params, body), {0}, 10),
              (std::vector<int64_t>{-99, -99, -99, 3, 4, 5, 6, -99, -99, -99}));
  }
  EXPECT_EQ(run(final_func("f", b.params,
                           make_stmt<For>({}, i, Expr(3), Expr(0), store(b.out, i, Expr(i)))),
                {0}, 10),
            std::vector<int64_t>(10, -99));
}

/// out[i] = in[i] * 2 through a buffer of `size` elements, filled before it is read.
LoopFunc through_buffer(int64_t size, Scope scope) {
  const Io b = io(size, size);
  const Buffer t = make_buffer("t", Elem::I64, {size}, std::move(scope));
  const Var i("i"), j("j");
  const Stmt body = seq({loop(i, size, store(t, i, load(b.in, {i}) * 2)),
                         loop(j, size, store(b.out, j, load(t, {j})))});
  return final_func("f", b.params, make_stmt<Alloc>({}, t, body));
}

TEST(Control, AllocationsOnTheStackAndInTheWorkspace) {
  for (const int64_t size : {1, 100, 1 << 16}) {
    const LoopFunc f = through_buffer(size, {});
    std::vector<int64_t> in(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) in[static_cast<size_t>(i)] = i;
    const auto out = run(f, in, static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], 2 * i);
    const Kernel kernel = emit_object(f, host_target());
    EXPECT_EQ(const_int(kernel.workspace.shared), size > 1000 ? size * 8 : 0);
    EXPECT_EQ(const_int(kernel.workspace.per_worker), 0);
  }
}

TEST(Control, RegistersWithComputedIndicesLiveOnTheStack) {
  const auto out = run(through_buffer(8, {ScopeKind::Register, ""}), {1, 2, 3, 4, 5, 6, 7, 8}, 8);
  EXPECT_EQ(out[7], 16);
}

TEST(Control, RegisterSlicesThatOverlap) {
  // Cleared element by element, used as a vector.
  const Io b = io(8, 8);
  const Buffer t = make_buffer("t", Elem::I64, {8}, {ScopeKind::Register, ""});
  std::vector<Stmt> body;
  for (int64_t i = 0; i < 8; ++i) body.push_back(store(t, i, load(b.in, {i}) + i));
  body.push_back(store(t, ramp(2, 4), load(t, {ramp(2, 4)}) * broadcast(Expr(10), 4)));
  body.push_back(store(b.out, ramp(0, 8), load(t, {ramp(0, 8)})));
  const LoopFunc f = final_func("f", b.params, make_stmt<Alloc>({}, t, seq(body)));
  EXPECT_EQ(run(f, std::vector<int64_t>(8, 1), 8),
            (std::vector<int64_t>{1, 2, 30, 40, 50, 60, 7, 8}));
  EXPECT_EQ(emit_llvm_ir(f, host_target()).find("alloca"), std::string::npos);
}

TEST(Control, SubByteRegisters) {
  const Buffer in = array("in", Elem::I4, 8), out = array("out", Elem::I4, 8);
  const Buffer t = make_buffer("t", Elem::I4, {8}, {ScopeKind::Register, ""});
  const Stmt body = seq({store(t, ramp(0, 8), load(in, {ramp(0, 8)})),
                         store(out, ramp(0, 8), load(t, {ramp(0, 8)}))});
  const Stmt single =
      seq({store(t, ramp(0, 8), load(in, {ramp(0, 8)})), store(out, 3, load(t, {3}))});
  for (const Stmt& s : {body, single}) {
    const JitKernel k = compile(
        final_func("f", {{in, Access::In}, {out, Access::InOut}}, make_stmt<Alloc>({}, t, s)),
        host_target());
    uint8_t x[] = {0x21, 0x43, 0x65, 0x87}, y[] = {0, 0, 0, 0};
    void* buffers[] = {x, y};
    k.call(buffers);
    EXPECT_EQ(y[1] >> 4, 4);
  }
}

}  // namespace
}  // namespace tilewright::target::llvm
