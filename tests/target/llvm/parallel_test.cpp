// SPDX-License-Identifier: Apache-2.0
// Parallel loops: what they capture, memory of their own, atomics between them.
#include <numeric>

#include "gtest/gtest.h"

#include "runtime/thread_pool.h"
#include "target/host.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"

namespace tilewright::target::llvm {
namespace {

using namespace ir;
using target::llvm::store;

TEST(Parallel, CapturesVariablesBuffersAndSymbols) {
  const Symbol n{Var("n"), 0, 1000};
  const Buffer in = array("in", Elem::F32, n.var), out = array("out", Elem::F32, n.var);
  const Buffer local = make_buffer("local", Elem::F32, {4});
  const Var i("i"), scale("scale", kF32);
  const Stmt inner =
      loop(i, n.var, store(out, i, load(in, {i}) * scale + load(local, {Expr(i) % 4})),
           ForKind::Parallel);
  std::vector<Stmt> body;
  for (int64_t k = 0; k < 4; ++k)
    body.push_back(store(local, k, float_imm(Elem::F32, static_cast<double>(k))));
  body.push_back(make_stmt<Let>({}, scale, load(in, {0}) + float_imm(Elem::F32, 1), inner));
  const LoopFunc f = final_func("f", {{in, Access::In}, {out, Access::Out}},
                                make_stmt<Alloc>({}, local, seq(body)), {n});
  const JitKernel kernel = compile(f, host_target());
  runtime::ThreadPool pool(3);
  for (const int64_t size : {1, 2, 777}) {
    std::vector<float> x(static_cast<size_t>(size)), y(static_cast<size_t>(size));
    std::iota(x.begin(), x.end(), 1.0f);
    void* buffers[] = {x.data(), y.data()};
    const int64_t scalars[] = {size};
    kernel.call(buffers, scalars, pool.host());
    for (int64_t k = 0; k < size; ++k)
      ASSERT_EQ(y[static_cast<size_t>(k)], static_cast<float>((k + 1) * 2 + k % 4)) << k;
  }
}

TEST(Parallel, CapturesVectorsAsTheirTypeIsAligned) {
  // Two vectors wider than a register, stored into the closure and loaded from it.
  const Buffer in = array("in", Elem::I64, 64), out = array("out", Elem::I64, 64);
  const Var i("i"), v("v", Type{Elem::I64, 16}), w("w", Type{Elem::I64, 16});
  const auto at = [](const Expr& first) { return make<Ramp>({}, first, Expr(1), 16); };
  const Stmt inner = loop(i, 4, store(out, at(Expr(i) * 16), Expr(v) + Expr(w)), ForKind::Parallel);
  const Stmt body =
      make_stmt<Let>({}, v, load(in, {at(0)}), make_stmt<Let>({}, w, load(in, {at(16)}), inner));
  const JitKernel kernel =
      compile(final_func("f", {{in, Access::In}, {out, Access::Out}}, body), host_target());
  std::vector<int64_t> x(64), y(64);
  std::iota(x.begin(), x.end(), 0);
  void* buffers[] = {x.data(), y.data()};
  kernel.call(buffers);
  for (int64_t k = 0; k < 64; ++k) ASSERT_EQ(y[static_cast<size_t>(k)], 16 + 2 * (k % 16)) << k;
}

TEST(Parallel, EachWorkerHasItsOwnScratch) {
  // Too large for the stack: every iteration fills and sums a buffer of its own.
  constexpr int64_t kRows = 64, kSize = 1 << 13;
  const Buffer out = array("out", Elem::I64, kRows);
  const Buffer a = make_buffer("a", Elem::I64, {kSize}), b = make_buffer("b", Elem::I64, {kSize});
  const Var r("r"), i("i"), j("j"), k("k");
  Stmt row = seq({loop(i, kSize, store(a, i, Expr(r) + Expr(i))),
                  loop(j, kSize, store(b, j, load(a, {j}) * 2)), store(out, r, Expr(0)),
                  loop(k, kSize, store(out, r, load(out, {r}) + load(b, {k}) - load(a, {k})))});
  row = make_stmt<Alloc>({}, a, make_stmt<Alloc>({}, b, row));
  const LoopFunc f = final_func("f", {{out, Access::Out}}, loop(r, kRows, row, ForKind::Parallel));
  const JitKernel kernel = compile(f, host_target());
  EXPECT_EQ(const_int(kernel.kernel().workspace.per_worker), 2 * kSize * 8);
  EXPECT_EQ(const_int(kernel.kernel().workspace.shared), 0);
  runtime::ThreadPool pool(4);
  std::vector<int64_t> y(kRows);
  void* buffers[] = {y.data()};
  kernel.call(buffers, {}, pool.host());
  for (int64_t n = 0; n < kRows; ++n)
    ASSERT_EQ(y[static_cast<size_t>(n)], kSize * n + kSize * (kSize - 1) / 2);
}

TEST(Parallel, WorkspaceSizesFollowTheSymbols) {
  const Symbol n{Var("n"), 1, 1 << 20};
  const Buffer out = array("out", Elem::F32, n.var);
  const Buffer t = make_buffer("t", Elem::F32, {n.var}),
               u = make_buffer("u", Elem::F32, {Expr(n.var) * 3});
  const Var i("i"), j("j");
  const Stmt fill =
      loop(i, n.var, seq({store(t, i, cast(Elem::F32, i)), store(u, Expr(i) * 3, load(t, {i}))}));
  Stmt body = seq({fill, loop(j, n.var, store(out, j, load(u, {Expr(j) * 3})))});
  body = make_stmt<Alloc>({}, t, make_stmt<Alloc>({}, u, body));
  const JitKernel kernel = compile(final_func("f", {{out, Access::Out}}, body, {n}), host_target());
  std::vector<float> y(1000);
  void* buffers[] = {y.data()};
  const int64_t scalars[] = {1000};
  kernel.call(buffers, scalars);
  EXPECT_EQ(y[999], 999);
}

TEST(Parallel, NestedLoopsRunInsideTheTask) {
  constexpr int64_t kRows = 8, kColumns = 40;
  const Buffer out = array("out", Elem::I64, kRows * kColumns);
  const Var r("r"), c("c");
  const Expr at = Expr(r) * kColumns + Expr(c);
  const Stmt body =
      loop(r, kRows, loop(c, kColumns, store(out, at, at), ForKind::Parallel), ForKind::Parallel);
  const LoopFunc f = final_func("f", {{out, Access::Out}}, body);
  runtime::ThreadPool pool(2);
  std::vector<int64_t> y(kRows * kColumns, -1);
  void* buffers[] = {y.data()};
  compile(f, host_target()).call(buffers, {}, pool.host());
  for (int64_t i = 0; i < kRows * kColumns; ++i) ASSERT_EQ(y[static_cast<size_t>(i)], i);
}

TEST(Parallel, AtomicsLoseNothing) {
  constexpr int64_t kIterations = 20000;
  for (const Elem elem : {Elem::I32, Elem::I64, Elem::F32, Elem::F64}) {
    const Buffer sum = array("sum", elem, 3);
    const Var i("i");
    const auto atomic = [&](AtomicOp op, int64_t at, const Expr& v) {
      return make_stmt<Atomic>({}, op, MemoryOrder::AcquireRelease, sum,
                               std::vector<Expr>{Expr(at)}, v);
    };
    const Expr v = cast(elem, Expr(i));
    const Stmt body = seq({atomic(AtomicOp::Add, 0, imm(elem, 1)), atomic(AtomicOp::Max, 1, v),
                           atomic(AtomicOp::Min, 2, v)});
    const LoopFunc f =
        final_func("f", {{sum, Access::InOut}}, loop(i, kIterations, body, ForKind::Parallel));
    runtime::ThreadPool pool(2);
    union {
      int32_t i32[3];
      int64_t i64[3];
      float f32[3];
      double f64[3];
    } y{};
    if (elem == Elem::I32) y.i32[2] = 5;
    if (elem == Elem::I64) y.i64[2] = 5;
    if (elem == Elem::F32) y.f32[2] = 5;
    if (elem == Elem::F64) y.f64[2] = 5;
    void* buffers[] = {&y};
    compile(f, host_target()).call(buffers, {}, pool.host());
    const double got[3] = {elem == Elem::I32   ? y.i32[0]
                           : elem == Elem::I64 ? static_cast<double>(y.i64[0])
                           : elem == Elem::F32 ? y.f32[0]
                                               : y.f64[0],
                           elem == Elem::I32   ? y.i32[1]
                           : elem == Elem::I64 ? static_cast<double>(y.i64[1])
                           : elem == Elem::F32 ? y.f32[1]
                                               : y.f64[1],
                           elem == Elem::I32   ? y.i32[2]
                           : elem == Elem::I64 ? static_cast<double>(y.i64[2])
                           : elem == Elem::F32 ? y.f32[2]
                                               : y.f64[2]};
    EXPECT_EQ(got[0], kIterations) << name(elem);
    EXPECT_EQ(got[1], kIterations - 1) << name(elem);
    EXPECT_EQ(got[2], 0) << name(elem);
  }
}

TEST(Parallel, ExchangeGivesTheOldValue) {
  const Buffer x = array("x", Elem::I64, 2), out = array("out", Elem::I64, 2);
  const Buffer old = make_buffer("old", Elem::I64, {}, {ScopeKind::Register, ""});
  const Stmt exchange = make_stmt<Atomic>({}, AtomicOp::Exchange, MemoryOrder::Relaxed, x,
                                          std::vector<Expr>{Expr(0)}, Expr(7), Expr(), old);
  const Stmt compare = make_stmt<Atomic>({}, AtomicOp::CompareExchange, MemoryOrder::Acquire, x,
                                         std::vector<Expr>{Expr(1)}, Expr(8), Expr(4), old);
  const Stmt body =
      seq({exchange, store(out, 0, load(old, {})), compare, store(out, 1, load(old, {}))});
  const LoopFunc f =
      final_func("f", {{x, Access::InOut}, {out, Access::Out}}, make_stmt<Alloc>({}, old, body));
  int64_t xs[] = {3, 4}, ys[] = {0, 0};
  void* buffers[] = {xs, ys};
  compile(f, host_target()).call(buffers);
  EXPECT_EQ(xs[0], 7);
  EXPECT_EQ(xs[1], 8);
  EXPECT_EQ(ys[0], 3);
  EXPECT_EQ(ys[1], 4);
}

}  // namespace
}  // namespace tilewright::target::llvm
