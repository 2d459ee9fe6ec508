// SPDX-License-Identifier: Apache-2.0
// Loads and stores of every shape: strides, masks, gathers, sub-byte elements.
#include "gtest/gtest.h"

#include "support/str.h"
#include "target/host.h"
#include "target/llvm/arrays.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"

namespace tilewright::target::llvm {
namespace {

using ir::Access;
using ir::Buffer;
using ir::Elem;
using ir::Expr;
using ir::Var;

constexpr int64_t kSize = 256;

std::vector<const char*> targets() { return {"host", "x86-64-v3"}; }

/// out[i] = in[index(i)] where mask(i), else 0, loaded as one vector of `lanes`.
void check_load(Elem elem, int lanes, const Expr& index, const Expr& mask,
                const std::function<int64_t(int)>& expected_index,
                const std::function<bool(int)>& on) {
  for (const char* target : targets()) {
    SCOPED_TRACE(str(ir::name(elem), "x", lanes, " on ", target));
    const Buffer in = array("in", elem, kSize), out = array("out", elem, kSize);
    const Expr value = ir::make<ir::Load>({}, in, std::vector<Expr>{index}, mask);
    const JitKernel kernel = compile(final_func("f", {{in, Access::In}, {out, Access::InOut}},
                                                store(out, ramp(0, lanes), value)),
                                     parse_target(target));
    Array x(elem, kSize), y(elem, kSize);
    for (int64_t i = 0; i < kSize; ++i) {
      x.set_bits(i, static_cast<uint64_t>(i * 7 + 1));
      y.set_bits(i, 1);
    }
    void* buffers[] = {x.data(), y.data()};
    kernel.call(buffers);
    for (int i = 0; i < lanes; ++i) {
      const uint64_t want = on(i) ? x.bits_at(expected_index(i)) : 0;
      ASSERT_EQ(y.bits_at(i), elem == Elem::Bool ? want != 0 : want) << "lane " << i;
    }
    for (int64_t i = lanes; i < kSize; ++i) ASSERT_EQ(y.bits_at(i), 1) << "beyond the lanes: " << i;
  }
}

/// out[index(i)] = in[i] where mask(i), stored as one vector; the rest of `out` stays.
void check_store(Elem elem, int lanes, const Expr& index, const Expr& mask,
                 const std::function<int64_t(int)>& expected_index,
                 const std::function<bool(int)>& on) {
  for (const char* target : targets()) {
    SCOPED_TRACE(str(ir::name(elem), "x", lanes, " on ", target));
    const Buffer in = array("in", elem, kSize), out = array("out", elem, kSize);
    const JitKernel kernel =
        compile(final_func("f", {{in, Access::In}, {out, Access::InOut}},
                           store(out, index, ir::load(in, {ramp(0, lanes)}), mask)),
                parse_target(target));
    Array x(elem, kSize), y(elem, kSize);
    for (int64_t i = 0; i < kSize; ++i) {
      x.set_bits(
          i, elem == Elem::Bool ? static_cast<uint64_t>(i % 2) : static_cast<uint64_t>(i * 5 + 2));
      y.set_bits(i, 1);
    }
    std::vector<uint64_t> want;
    for (int64_t i = 0; i < kSize; ++i) want.push_back(y.bits_at(i));
    for (int i = 0; i < lanes; ++i)
      if (on(i)) want[static_cast<size_t>(expected_index(i))] = x.bits_at(i);
    void* buffers[] = {x.data(), y.data()};
    kernel.call(buffers);
    for (int64_t i = 0; i < kSize; ++i)
      ASSERT_EQ(y.bits_at(i), want[static_cast<size_t>(i)]) << "element " << i;
  }
}

const std::function<bool(int)> kAll = [](int) { return true; };
const std::vector<Elem> kElems = {Elem::F32,  Elem::F64, Elem::I8, Elem::BF16,
                                  Elem::Bool, Elem::I4,  Elem::U2};

TEST(Memory, ConstantStrides) {
  for (const Elem elem : kElems)
    for (const int lanes : {4, 16, 32})
      for (const int64_t stride : {1, 2, 3, 4, 0, -1, -2}) {
        const int64_t base = stride < 0 ? 200 : 5;
        const auto at = [=](int i) { return base + stride * i; };
        SCOPED_TRACE(str("stride ", stride));
        check_load(elem, lanes, ramp(base, lanes, stride), {}, at, kAll);
        if (stride != 0) check_store(elem, lanes, ramp(base, lanes, stride), {}, at, kAll);
      }
}

TEST(Memory, ColumnsOfAMatrix) {
  for (const Elem elem : kElems)
    for (const int lanes : {4, 8, 16})
      for (const int64_t stride : {lanes, 2 * lanes, -lanes, 12}) {
        const int64_t reach = stride * (lanes - 1);
        if (std::abs(reach) >= kSize) continue;
        const int64_t first = std::max<int64_t>(0, -reach);
        const int64_t last = kSize - 1 - std::max<int64_t>(0, reach);
        for (const int64_t base : {first, first + 3, last - 1, last}) {
          SCOPED_TRACE(str("base ", base, " stride ", stride));
          const auto at = [=](int i) { return base + stride * i; };
          check_load(elem, lanes, ramp(base, lanes, stride), {}, at, kAll);
        }
      }
}

TEST(Memory, Transposition) {
  constexpr int kLanes = 8;
  for (const char* target : targets()) {
    SCOPED_TRACE(target);
    const Buffer in = array("in", Elem::F32, kSize), out = array("out", Elem::F32, kSize);
    const Var block("block");
    std::vector<ir::Stmt> columns;
    for (int i = 0; i < kLanes; ++i)
      columns.push_back(store(out, ramp(block * 64 + 8 * i, kLanes),
                              ir::load(in, {ramp(block * 64 + i, kLanes, 8)})));
    const JitKernel kernel = compile(
        final_func("f", {{in, Access::In}, {out, Access::Out}}, loop(block, 4, ir::seq(columns))),
        parse_target(target));
    Array x(Elem::F32, kSize), y(Elem::F32, kSize);
    for (int64_t i = 0; i < kSize; ++i) x.set_bits(i, static_cast<uint64_t>(i + 1));
    void* buffers[] = {x.data(), y.data()};
    kernel.call(buffers);
    for (int64_t i = 0; i < kSize; ++i)
      ASSERT_EQ(y.bits_at(i), x.bits_at(i / 64 * 64 + i % 8 * 8 + i / 8 % 8)) << i;
  }
}

TEST(Memory, MasksOfAPrefix) {
  // ramp < limit: the tail of a vectorised loop
  for (const Elem elem : kElems)
    for (const int lanes : {4, 16, 64})
      for (const int64_t limit : {-3, 0, 1, 3, 100}) {
        const Expr mask = ramp(0, lanes) < ir::broadcast(Expr(limit), lanes);
        const auto on = [=](int i) { return i < limit; };
        const auto at = [](int i) { return int64_t{10} + i; };
        check_load(elem, lanes, ramp(10, lanes), mask, at, on);
        check_store(elem, lanes, ramp(10, lanes), mask, at, on);
      }
}

TEST(Memory, ArbitraryMasksAndStrides) {
  for (const Elem elem : kElems) {
    const int lanes = 8;
    const Expr three = ir::broadcast(Expr(3), lanes), one = ir::broadcast(Expr(1), lanes);
    const Expr mask = ir::eq(ramp(0, lanes) % three, one);
    const auto on = [](int i) { return i % 3 == 1; };
    for (const int64_t stride : {1, -1, 2, 4, 5}) {
      const int64_t base = stride < 0 ? 100 : 3;
      const auto at = [=](int i) { return base + stride * i; };
      check_load(elem, lanes, ramp(base, lanes, stride), mask, at, on);
      check_store(elem, lanes, ramp(base, lanes, stride), mask, at, on);
    }
  }
}

/// Rows of which some are read and written at all, and of those only the lanes from `first` to
/// `last`: whole registers of a wide vector are off whatever the row.
void check_rows(const char* target, Elem elem, int lanes, int first, int last) {
  SCOPED_TRACE(str(ir::name(elem), "x", lanes, " on ", target, ", ", first, "..", last));
  constexpr int64_t kRows = 13;
  const Buffer in = array("in", elem, kRows * lanes), out = array("out", elem, kRows * lanes);
  const Var row("row");
  const Expr place = ramp(Expr(row) * lanes, lanes);
  const Expr some_rows = ir::logical_and(Expr(row) >= 4, Expr(row) < 9);
  const Expr inside = ir::logical_and(ir::broadcast(Expr(first), lanes) <= ramp(0, lanes),
                                      ramp(0, lanes) < ir::broadcast(Expr(last), lanes));
  const Expr mask = ir::logical_and(ir::broadcast(some_rows, lanes), inside);
  const auto run = [&](const ir::Stmt& body) {
    const JitKernel kernel =
        compile(final_func("f", {{in, Access::In}, {out, Access::InOut}}, loop(row, kRows, body)),
                parse_target(target));
    Array x(elem, kRows * lanes), y(elem, kRows * lanes);
    for (int64_t i = 0; i < kRows * lanes; ++i) {
      x.set_bits(i, static_cast<uint64_t>(i % 100 + 3));
      y.set_bits(i, 1);
    }
    void* buffers[] = {x.data(), y.data()};
    kernel.call(buffers);
    std::vector<uint64_t> result;
    for (int64_t i = 0; i < kRows * lanes; ++i) result.push_back(y.bits_at(i));
    return result;
  };
  const auto loaded =
      run(store(out, place, ir::make<ir::Load>({}, in, std::vector<Expr>{place}, mask)));
  const auto stored = run(store(out, place, ir::load(in, {place}), mask));
  for (int64_t i = 0; i < kRows * lanes; ++i) {
    const int64_t r = i / lanes, lane = i % lanes;
    const bool on = r >= 4 && r < 9 && lane >= first && lane < last;
    const auto x = static_cast<uint64_t>(i % 100 + 3);
    ASSERT_EQ(loaded[static_cast<size_t>(i)], on ? x : 0) << "row " << r << ", lane " << lane;
    ASSERT_EQ(stored[static_cast<size_t>(i)], on ? x : 1) << "row " << r << ", lane " << lane;
  }
}

TEST(Memory, LanesThatAreAlwaysOff) {
  for (const char* target : targets())
    for (const Elem elem : {Elem::F32, Elem::F64, Elem::I32, Elem::I8})
      for (const int lanes : {8, 12, 16, 32}) {
        check_rows(target, elem, lanes, lanes / 2, lanes);
        check_rows(target, elem, lanes, 0, lanes / 2);
        check_rows(target, elem, lanes, lanes / 4, lanes);
        check_rows(target, elem, lanes, lanes / 2 + 1, lanes - 1);
      }
}

TEST(Memory, GatherAndScatter) {
  for (const Elem elem : kElems)
    for (const int lanes : {4, 16, 32}) {
      // i * i / 3: no stride
      const Expr r = ramp(0, lanes);
      const Expr index = (r * r) / ir::broadcast(Expr(5), lanes) + r;
      const auto at = [](int i) { return int64_t{i} * i / 5 + i; };
      check_load(elem, lanes, index, {}, at, kAll);
      check_store(elem, lanes, index, {}, at, kAll);
    }
}

TEST(Memory, ScalarMask) {
  const Buffer in = array("in", Elem::F32, 4), out = array("out", Elem::F32, 4);
  for (const bool on : {false, true}) {
    const ir::Symbol s{Var("s"), 0, 10};
    const Expr mask = Expr(s.var) < Expr(5);
    const Expr value = ir::make<ir::Load>({}, in, std::vector<Expr>{Expr(2)}, mask);
    const JitKernel kernel = compile(
        final_func(
            "f", {{in, Access::In}, {out, Access::InOut}},
            ir::seq({store(out, 0, value), store(out, 1, ir::float_imm(Elem::F32, 7), mask)}), {s}),
        host_target());
    float x[] = {1, 2, 3, 4}, y[] = {9, 9, 9, 9};
    void* buffers[] = {x, y};
    const int64_t scalars[] = {on ? 3 : 8};
    kernel.call(buffers, scalars);
    EXPECT_EQ(y[0], on ? 3 : 0);
    EXPECT_EQ(y[1], on ? 7 : 9);
  }
}

TEST(Memory, VectorReduce) {
  for (const int lanes : {2, 5, 16}) {
    const Buffer in = array("in", Elem::F32, 64), out = array("out", Elem::F32, 4);
    const Expr v = ir::load(in, {ramp(0, lanes)});
    std::vector<ir::Stmt> body;
    int64_t at = 0;
    for (const ir::BinaryOp op :
         {ir::BinaryOp::Add, ir::BinaryOp::Mul, ir::BinaryOp::Min, ir::BinaryOp::Max})
      body.push_back(store(out, at++, ir::make<ir::VectorReduce>({}, op, v)));
    for (const Numerics numerics : {Numerics::Ieee, Numerics::Reassociated}) {
      const JitKernel kernel =
          compile(final_func("f", {{in, Access::In}, {out, Access::Out}}, ir::seq(body)),
                  host_target(), {numerics});
      std::vector<float> x(64, 0);
      float y[4], sum = 0, product = 1;
      for (int i = 0; i < lanes; ++i) {
        x[static_cast<size_t>(i)] = static_cast<float>((i * 5) % 7 - 3 + (i % 7 == 2 ? 0.5f : 0));
        sum += x[static_cast<size_t>(i)];
        product *= x[static_cast<size_t>(i)];
      }
      void* buffers[] = {x.data(), y};
      kernel.call(buffers);
      EXPECT_EQ(y[0], sum);
      EXPECT_EQ(y[1], product);
      EXPECT_EQ(y[2], *std::min_element(x.begin(), x.begin() + lanes));
      EXPECT_EQ(y[3], *std::max_element(x.begin(), x.begin() + lanes));
      // NaN wins, and of two zeros the first.
      std::fill(x.begin(), x.end(), 1.0f);
      x[1] = std::numeric_limits<float>::quiet_NaN();
      kernel.call(buffers);
      EXPECT_TRUE(std::isnan(y[2]) && std::isnan(y[3]));
      std::fill(x.begin(), x.end(), 1.0f);
      x[0] = -0.0f;
      x[1] = 0.0f;
      kernel.call(buffers);
      EXPECT_TRUE(y[2] == 0 && std::signbit(y[2]));
    }
  }
}

}  // namespace
}  // namespace tilewright::target::llvm
