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

TEST(Memory, LanesThatRepeat) {
  const auto some = [](int i) { return i % 3 == 1; };
  for (const Elem elem : kElems)
    for (const int lanes : {4, 16, 32})
      for (const int64_t times : {2, 3, 4, 8})
        for (const int64_t first : {0, 8, 24, 5}) {
          SCOPED_TRACE(str("times ", times, " first ", first));
          const Expr index = ir::broadcast(Expr(7), lanes) +
                             ramp(first, lanes) / ir::broadcast(Expr(times), lanes);
          const auto at = [=](int i) { return 7 + (first + i) / times; };
          check_load(elem, lanes, index, {}, at, kAll);
          const Expr on = ir::make<ir::Binary>({}, ir::BinaryOp::Eq,
                                               ramp(0, lanes) % ir::broadcast(Expr(3), lanes),
                                               ir::broadcast(Expr(1), lanes));
          check_load(elem, lanes, index, on, at, some);
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

/// The last vector of a row stores a few elements that were narrowed, and nothing behind them.
TEST(Memory, MasksOfWhatIsNarrowed) {
  constexpr int kLanes = 16;
  for (const char* target : targets())
    for (const Elem elem : {Elem::I8, Elem::U8, Elem::I16, Elem::U16})
      for (const int64_t limit : {1, 2, 15, 17, 18, 31}) {
        SCOPED_TRACE(str(ir::name(elem), " below ", limit, " on ", target));
        const Buffer in = array("in", Elem::I32, kSize), out = array("out", elem, kSize);
        const Var i("i");
        const Expr at = ramp(Expr(i) * kLanes, kLanes);
        const Expr mask = at < ir::broadcast(Expr(limit), kLanes);
        const Expr wide = ir::make<ir::Load>({}, in, std::vector<Expr>{at}, mask);
        const JitKernel kernel =
            compile(final_func("f", {{in, Access::In}, {out, Access::InOut}},
                               loop(i, Expr(2), store(out, at, ir::cast(elem, wide), mask))),
                    parse_target(target));
        Array x(Elem::I32, kSize), y(elem, kSize);
        for (int64_t k = 0; k < kSize; ++k) {
          x.set_bits(k, static_cast<uint64_t>(k + 3));
          y.set_bits(k, 1);
        }
        void* buffers[] = {x.data(), y.data()};
        kernel.call(buffers);
        for (int64_t k = 0; k < kSize; ++k)
          ASSERT_EQ(y.bits_at(k), k < limit ? static_cast<uint64_t>(k + 3) : 1) << k;
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
void check_rows(const char* target, Elem elem, int lanes, int first, int last, int64_t stride = 1) {
  SCOPED_TRACE(
      str(ir::name(elem), "x", lanes, " on ", target, ", ", first, "..", last, " by ", stride));
  constexpr int64_t kRows = 13;
  const int64_t size = kRows * lanes * std::abs(stride);
  const Buffer in = array("in", elem, size), out = array("out", elem, size);
  const Var row("row");
  const Expr place = ramp(Expr(row) * lanes, lanes);
  const int64_t begin = stride < 0 ? (lanes - 1) * -stride : 0;
  const Expr spread = ramp(Expr(row) * (lanes * std::abs(stride)) + begin, lanes, stride);
  const Expr some_rows = ir::logical_and(Expr(row) >= 4, Expr(row) < 9);
  const Expr inside = ir::logical_and(ir::broadcast(Expr(first), lanes) <= ramp(0, lanes),
                                      ramp(0, lanes) < ir::broadcast(Expr(last), lanes));
  const Expr mask = ir::logical_and(ir::broadcast(some_rows, lanes), inside);
  const auto run = [&](const ir::Stmt& body) {
    const JitKernel kernel =
        compile(final_func("f", {{in, Access::In}, {out, Access::InOut}}, loop(row, kRows, body)),
                parse_target(target));
    Array x(elem, size), y(elem, size);
    for (int64_t i = 0; i < size; ++i) {
      x.set_bits(i, static_cast<uint64_t>(i % 100 + 3));
      y.set_bits(i, 1);
    }
    void* buffers[] = {x.data(), y.data()};
    kernel.call(buffers);
    std::vector<uint64_t> result;
    for (int64_t i = 0; i < size; ++i) result.push_back(y.bits_at(i));
    return result;
  };
  const Expr some = ir::make<ir::Load>({}, in, std::vector<Expr>{spread}, mask);
  const Expr zero =
      ir::broadcast(ir::is_float(elem) ? ir::float_imm(elem, 0) : ir::imm(elem, 0), lanes);
  const auto loaded = run(store(out, place, some));
  const auto selected = run(store(out, place, ir::select(mask, some, zero)));
  const auto stored = run(store(out, spread, ir::load(in, {place}), mask));
  const auto value = [](int64_t at) { return static_cast<uint64_t>(at % 100 + 3); };
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const bool on = r >= 4 && r < 9 && lane >= first && lane < last;
      const int64_t near = r * lanes + lane;
      const int64_t far = r * lanes * std::abs(stride) + begin + lane * stride;
      const auto at = [](const auto& all, int64_t i) { return all[static_cast<size_t>(i)]; };
      ASSERT_EQ(at(loaded, near), on ? value(far) : 0) << "row " << r << ", lane " << lane;
      ASSERT_EQ(at(selected, near), on ? value(far) : 0) << "row " << r << ", lane " << lane;
      ASSERT_EQ(at(stored, far), on ? value(near) : 1) << "row " << r << ", lane " << lane;
    }
}

/// A zero of another sign, and another condition, are chosen where the load is off.
TEST(Memory, WhatIsChosenWhereALoadIsOff) {
  constexpr int kLanes = 16;
  for (const char* target : targets()) {
    const Buffer in = array("in", Elem::F32, kLanes), out = array("out", Elem::F32, 2 * kLanes);
    const auto below = [](int64_t n) { return ramp(0, kLanes) < ir::broadcast(Expr(n), kLanes); };
    const auto load = [&](int64_t n) {
      return ir::make<ir::Load>({}, in, std::vector<Expr>{ramp(0, kLanes)}, below(n));
    };
    const auto real = [](double v) { return ir::broadcast(ir::float_imm(Elem::F32, v), kLanes); };
    const JitKernel kernel = compile(
        final_func(
            "f", {{in, Access::In}, {out, Access::InOut}},
            ir::seq({store(out, ramp(0, kLanes), ir::select(below(5), load(5), real(-0.0))),
                     store(out, ramp(kLanes, kLanes), ir::select(below(3), load(5), real(0.0)))})),
        parse_target(target));
    std::vector<float> x(kLanes, 7), y(2 * kLanes, 1);
    void* buffers[] = {x.data(), y.data()};
    kernel.call(buffers);
    for (int i = 0; i < kLanes; ++i) {
      const size_t at = static_cast<size_t>(i);
      EXPECT_EQ(std::signbit(y[at]), i >= 5) << i;
      EXPECT_EQ(y[at], i < 5 ? 7.0F : 0.0F) << i;
      EXPECT_EQ(y[at + kLanes], i < 3 ? 7.0F : 0.0F) << i;
    }
  }
}

TEST(Memory, LanesThatAreAlwaysOff) {
  for (const char* target : targets())
    for (const Elem elem : {Elem::F32, Elem::F64, Elem::I32, Elem::I8})
      for (const int lanes : {8, 9, 12, 16, 17, 32}) {
        check_rows(target, elem, lanes, lanes / 2, lanes);
        check_rows(target, elem, lanes, 0, lanes / 2);
        check_rows(target, elem, lanes, lanes / 4, lanes);
        check_rows(target, elem, lanes, lanes / 2 + 1, lanes - 1);
        for (const int64_t stride : {-1, 2, 3})
          check_rows(target, elem, lanes, 0, lanes / 2, stride);
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
