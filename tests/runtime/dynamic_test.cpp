// SPDX-License-Identifier: Apache-2.0
// Plans whose sizes only a run can tell: counts, loops, branches, views, shared storage.
#include "runtime/fixtures.h"

namespace tilewright {
namespace {

using enum KernelParam::Access;

/// The indices of the positive elements of x: a count, then the prefix of a full-size result.
Module positive_module() {
  Sample s;
  const uint32_t x = s.input("x", ElemType::F32, {{.symbol = "n"}});
  s.output("where", ElemType::I64, {{}});
  const uint32_t count = s.kernel("count_positive", {Read, Write, Write}, 1);
  PlanBuilder& p = s.plan;
  const Reg n = p.bind(x, 0, {.symbol = "n"});
  const Reg one = p.constant(1), zero = p.constant(0);
  const Reg bytes = p.op(PlanOp::Mul, n, p.constant(8));
  const Reg all = p.op(PlanOp::Add, bytes, p.constant(64));
  p.end_prologue(all);
  const ValueId in = p.input(x);
  const ValueId found = p.arena(zero, ElemType::I64, std::vector{one});
  const ValueId where = p.arena(p.constant(64), ElemType::I64, std::vector{n});
  p.call(count, std::vector{in, found, where}, std::vector{n});
  const Reg k = p.load_element(found, zero);
  const ValueId out = p.output(0, std::vector{k});
  p.alloc(out);
  const ValueId prefix = p.view(where, zero, ElemType::I64, std::vector{k});
  p.define(prefix);
  p.copy(out, prefix);
  return s.finish();
}

TEST(Dynamic, OutputsOfASizeThatTheDataDecides) {
  const Loaded loaded(positive_module());
  tw::Context context(loaded.module);
  std::vector<float> x{1, -1, 2, 0, 5};
  context.set_input("x", x.data(), {5});
  EXPECT_EQ(context.output_shape(0), std::vector<int64_t>{-1});
  context.run();
  EXPECT_EQ(list(context.output(0).data<int64_t>()), (std::vector<int64_t>{0, 2, 4}));
  x = {-1, -1, -1, -1, -1};
  context.run();
  EXPECT_EQ(context.output(0).count(), 0);
  x = {1, 1, 1, 1, 1};
  int64_t room[4];
  context.bind_output(0, room, sizeof room);
  EXPECT_TRUE(contains(error_of([&] { context.run(); }), "output `where` has 40 bytes"));
  x[0] = -1;
  context.run();
  EXPECT_EQ(list(context.output(0).data<int64_t>()), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(context.output(0).data<int64_t>().data(), room);
  context.set_input("x", x.data(), {0});
  context.run();
  EXPECT_EQ(context.output(0).count(), 0);
}

TEST(Dynamic, KeepsNoMoreThanTheLargestRunUsed) {
  const Loaded loaded(positive_module());
  tw::Context context(loaded.module);
  std::vector<float> x(100000, 1.0f);
  const auto run = [&](int64_t n) {
    context.set_input("x", x.data(), {n});
    context.run();
  };
  for (int64_t n = 1; n <= 100000; n += n / 3 + 1) run(n);
  run(100000);
  const int64_t indices = 8 * 100000;  // they lie in the arena and are an output
  EXPECT_GE(tw_context_bytes(context.get()), 2 * indices);
  EXPECT_LE(tw_context_bytes(context.get()), 3 * indices) << "an arena rises by halves";
}

TEST(Dynamic, GivesMemoryBack) {
  const Loaded loaded(positive_module());
  tw::Context context(loaded.module);
  std::vector<float> x(100000, 1.0f);
  const auto run = [&](int64_t n) {
    context.set_input("x", x.data(), {n});
    context.run();
  };
  run(100000);
  run(3);
  context.trim();
  EXPECT_LT(tw_context_bytes(context.get()), 2000);
  tw_tensor gone;
  EXPECT_EQ(tw_output(context.get(), 0, &gone), TW_INVALID_ARGUMENT);
  context.run();  // at the same shapes, without its arena
  EXPECT_EQ(list(context.output(0).data<int64_t>()), (std::vector<int64_t>{0, 1, 2}));
}

TEST(Dynamic, ARunHoldsNoMoreThanTheLimit) {
  const Loaded loaded(positive_module());
  tw_context_options options{};
  options.memory_limit = 1000;
  tw::Context context(loaded.module, options);
  std::vector<float> x(1000, 1);
  context.set_input("x", x.data(), {1000});
  EXPECT_TRUE(contains(error_of([&] { context.run(); }), "the arena of 8064 bytes does not fit"));
  context.set_input("x", x.data(), {70});  // room for the arena, and none for the result
  EXPECT_TRUE(contains(error_of([&] { context.run(); }), "tensor `where` of 560 bytes"));
  EXPECT_LE(tw_context_bytes(context.get()), 1000);
  context.set_input("x", x.data(), {3});
  context.run();
  EXPECT_EQ(list(context.output(0).data<int64_t>()), (std::vector<int64_t>{0, 1, 2}));
  options.memory_limit = -1;
  EXPECT_TRUE(contains(error_of([&] { tw::Context(loaded.module, options); }), "memory_limit"));
}

/// rows[t] = state after t + 1 steps of `state += 1`; stops after `trips` or when state[0] reaches
/// `limit`. A Loop with a carried value and a scan output that grows.
Module loop_module() {
  Sample s;
  const uint32_t trips = s.input("trips", ElemType::I32, {});
  const uint32_t limit = s.input("limit", ElemType::I64, {});
  const uint32_t start = s.input("start", ElemType::I64, {fixed(2)});
  s.output("last", ElemType::I64, {fixed(2)});
  s.output("rows", ElemType::I64, {{}, fixed(2)});
  const uint32_t increment = s.kernel("increment", {Update}, 1);
  PlanBuilder& p = s.plan;
  const Reg zero = p.constant(0), one = p.constant(1), two = p.constant(2), row = p.constant(16);
  p.bind_to(start, 0, two);
  p.end_prologue(zero);
  const ValueId v_trips = p.input(trips), v_limit = p.input(limit), v_start = p.input(start);
  const ValueId carried = p.dynamic({ElemType::I64}, 1),
                next = p.dynamic(ElemType::I64, std::vector{two});
  const Reg t = p.fresh(), count = p.fresh(), offset = p.fresh(), go = p.fresh();
  const ValueId rows = p.dynamic(ElemType::I64, std::vector{count, two});
  const ValueId place = p.view(rows, offset, ElemType::I64, std::vector{two});

  const Reg n = p.load_element(v_trips, zero), stop = p.load_element(v_limit, zero);
  p.share(carried, v_start);
  p.set(t, zero);
  p.set(count, zero);
  p.alloc(rows);
  const PlanBuilder::Label head = p.label(), end = p.label();
  p.place(head);
  p.op_to(go, PlanOp::Less, t, n);
  p.jump_if_zero(go, end);
  p.alloc(next);
  p.copy(next, carried);
  p.call(increment, std::vector{next}, std::vector{two});
  p.share(carried, next);
  p.free(next);
  p.op_to(count, PlanOp::Add, t, one);
  p.resize(rows);
  p.op_to(offset, PlanOp::Mul, t, row);
  p.define(place);
  p.copy(place, carried);
  p.op_to(t, PlanOp::Add, t, one);
  p.op_to(go, PlanOp::Less, p.load_element(carried, zero), stop);
  p.jump_if_zero(go, end);
  p.jump(head);
  p.place(end);
  p.share(p.output(0), carried);
  const ValueId out = p.output(1, std::vector{count, two});
  p.alloc(out);
  p.copy(out, rows);
  return s.finish();
}

TEST(Dynamic, LoopsWithCarriedValuesAndGrowingResults) {
  const Loaded loaded(loop_module());
  tw::Context context(loaded.module);
  int32_t trips = 5;
  int64_t limit = 100, start[] = {10, 20};
  context.set_input("trips", &trips, {});
  context.set_input("limit", &limit, {});
  context.set_input("start", start, {2});
  context.run();
  EXPECT_EQ(list(context.output("last").data<int64_t>()), (std::vector<int64_t>{15, 25}));
  EXPECT_EQ(list(context.output("rows").data<int64_t>()),
            (std::vector<int64_t>{11, 21, 12, 22, 13, 23, 14, 24, 15, 25}));
  limit = 12;
  context.run();
  EXPECT_EQ(list(context.output("rows").data<int64_t>()), (std::vector<int64_t>{11, 21, 12, 22}));
  trips = 0;
  context.run();
  EXPECT_EQ(context.output("rows").count(), 0);
  EXPECT_EQ(list(context.output("last").data<int64_t>()), (std::vector<int64_t>{10, 20}));
  EXPECT_EQ(start[0], 10) << "an input was written";
  trips = 1000;
  limit = 1 << 30;
  context.run();
  ASSERT_EQ(context.output("rows").count(), 2000);
  EXPECT_EQ(context.output("rows").data<int64_t>()[1999], 1020);
  int64_t bound[2] = {};
  context.bind_output(0, bound, sizeof bound);
  context.run();
  EXPECT_EQ(bound[1], 1020);
}

/// y = flag ? a : b, of different lengths: If.
Module branch_module() {
  Sample s;
  const uint32_t flag = s.input("flag", ElemType::Bool, {});
  const uint32_t a = s.input("a", ElemType::F32, {{.symbol = "n"}});
  const uint32_t b = s.input("b", ElemType::F32, {{.symbol = "m"}});
  s.output("y", ElemType::F32, {{}});
  s.output("length", ElemType::I64, {});
  PlanBuilder& p = s.plan;
  p.bind(a, 0, {});
  p.bind(b, 0, {});
  const Reg zero = p.constant(0);
  p.end_prologue(zero);
  const ValueId v_flag = p.input(flag), v_a = p.input(a), v_b = p.input(b);
  const ValueId picked = p.dynamic({ElemType::F32}, 1);
  const PlanBuilder::Label other = p.label(), end = p.label();
  p.jump_if_zero(p.load_element(v_flag, zero), other);
  p.share(picked, v_a);
  p.jump(end);
  p.place(other);
  p.share(picked, v_b);
  p.place(end);
  const Reg n = p.load_dim(picked, 0);
  p.check(p.op(PlanOp::LessEqual, n, p.constant(4)), "node `if` (If): more than 4 elements");
  p.share(p.output(0), picked);
  const ValueId length = p.output(1, std::vector<Reg>{});
  const ValueId lengths = p.constant_value(s.constant(std::vector<int64_t>{0, 1, 2, 3, 4}),
                                           ElemType::I64, std::vector{p.constant(5)});
  const Reg offset = p.op(PlanOp::Mul, n, p.constant(8));
  const ValueId one = p.view(lengths, offset, ElemType::I64, std::vector<Reg>{});
  p.define(one);
  p.copy(length, one);
  return s.finish();
}

TEST(Dynamic, Branches) {
  const Loaded loaded(branch_module());
  tw::Context context(loaded.module);
  bool flag = true;
  std::vector<float> a{1, 2}, b{3, 4, 5};
  context.set_input("flag", &flag, {});
  context.set_input("a", a.data(), {2});
  context.set_input("b", b.data(), {3});
  context.run();
  EXPECT_EQ(list(context.output("y").data<float>()), a);
  EXPECT_EQ(context.output("length").data<int64_t>()[0], 2);
  flag = false;
  context.run();
  EXPECT_EQ(list(context.output("y").data<float>()), b);
  EXPECT_NE(context.output("y").data<float>().data(), b.data()) << "an output outlives its input";
  std::vector<float> many(5);
  context.set_input("b", many.data(), {5});
  EXPECT_EQ(error_of([&] { context.run(); }), "run failed: node `if` (If): more than 4 elements");
}

/// `increment` on a value that shares its memory with an input, or with another value.
Module careless_module(bool of_input) {
  Sample s;
  const uint32_t x = s.input("x", ElemType::I64, {fixed(2)});
  s.output("y", ElemType::I64, {fixed(2)});
  const uint32_t increment = s.kernel("increment", {Update}, 1);
  PlanBuilder& p = s.plan;
  const Reg two = p.constant(2);
  p.bind_to(x, 0, two);
  p.end_prologue(p.constant(0));
  const ValueId in = p.input(x), mine = p.dynamic(ElemType::I64, std::vector{two});
  const ValueId other = p.dynamic({ElemType::I64}, 1);
  p.alloc(mine);
  p.copy(mine, in);
  p.share(other, of_input ? in : mine);
  p.call(increment, std::vector{other}, std::vector{two});
  p.share(p.output(0), other);
  return s.finish();
}

TEST(Dynamic, RefusesToWriteWhatOthersHold) {
  for (const bool of_input : {false, true}) {
    const Loaded loaded(careless_module(of_input));
    tw::Context context(loaded.module);
    std::vector<int64_t> x{1, 2};
    context.set_input("x", x.data(), {2});
    EXPECT_TRUE(contains(error_of([&] { context.run(); }), "which is shared"));
    EXPECT_EQ(x[0], 1);
  }
}

TEST(Dynamic, StoresElements) {
  Sample s;
  s.output("y", ElemType::I32, {fixed(3)});
  PlanBuilder& p = s.plan;
  p.end_prologue(p.constant(0));
  const ValueId out = p.output(0, std::vector{p.constant(3)});
  for (int i = 0; i < 3; ++i) p.store_element(out, p.constant(i), p.constant(10 - 20 * i));
  const Loaded loaded(s.finish());
  tw::Context context(loaded.module);
  context.run();
  EXPECT_EQ(list(context.output(0).data<int32_t>()), (std::vector<int32_t>{10, -10, -30}));
}

/// One integer operation on two inputs.
Module integer_module(PlanOp op) {
  Sample s;
  s.input("a", ElemType::I64, {});
  s.input("b", ElemType::I64, {});
  s.output("length", ElemType::Bool, {{}});
  PlanBuilder& p = s.plan;
  const Reg zero = p.constant(0);
  p.end_prologue(zero);
  const Reg a = p.load_element(p.input(0), zero), b = p.load_element(p.input(1), zero);
  const Reg r = p.op(op, a, b);
  // Moved up by 100, so that negative results have a length too.
  const ValueId out = p.output(0, std::vector{p.op(PlanOp::Add, r, p.constant(100))});
  p.alloc(out);
  return s.finish();
}

int64_t compute(PlanOp op, int64_t a, int64_t b) {
  const Loaded loaded(integer_module(op));
  tw::Context context(loaded.module);
  context.set_input("a", &a, {});
  context.set_input("b", &b, {});
  context.run();
  return context.output(0).count() - 100;
}

TEST(Dynamic, IntegersRoundDownAndDoNotOverflow) {
  EXPECT_EQ(compute(PlanOp::FloorDiv, -7, 2), -4);
  EXPECT_EQ(compute(PlanOp::FloorMod, -7, 2), 1);
  EXPECT_EQ(compute(PlanOp::FloorDiv, 7, -2), -4);
  EXPECT_EQ(compute(PlanOp::FloorMod, 7, -2), -1);
  EXPECT_EQ(compute(PlanOp::FloorDiv, 6, 2), 3);
  EXPECT_EQ(compute(PlanOp::Min, 3, -4), -4);
  EXPECT_EQ(compute(PlanOp::Max, 3, -4), 3);
  EXPECT_EQ(compute(PlanOp::Less, 3, 3), 0);
  EXPECT_EQ(compute(PlanOp::LessEqual, 3, 3), 1);
  EXPECT_EQ(compute(PlanOp::Equal, 3, 3), 1);
  EXPECT_EQ(compute(PlanOp::And, 2, 0), 0);
  EXPECT_EQ(compute(PlanOp::Or, 2, 0), 1);
  EXPECT_EQ(compute(PlanOp::Sub, 3, 5), -2);
  EXPECT_EQ(error_of([] { compute(PlanOp::Mul, INT64_MAX, 2); }),
            "run failed: a size of the model cannot be computed: mul of 9223372036854775807 and 2");
  EXPECT_TRUE(contains(error_of([] { compute(PlanOp::FloorDiv, 1, 0); }), "floordiv of 1 and 0"));
  EXPECT_TRUE(contains(error_of([] { compute(PlanOp::FloorMod, INT64_MIN, -1); }), "floormod"));
  EXPECT_TRUE(contains(error_of([] { compute(PlanOp::Sub, 0, 200); }), "dimension 0 = -100"));
  EXPECT_TRUE(
      contains(error_of([] { compute(PlanOp::Sub, INT64_MAX, 200); }), "too large for any memory"));
}

TEST(Dynamic, ReadsElementsOfEveryIntegerType) {
  const auto element = [](ElemType elem, std::vector<uint64_t> words, int64_t index) {
    Sample s;
    s.output("length", ElemType::Bool, {{}});
    PlanBuilder& p = s.plan;
    p.end_prologue(p.constant(0));
    const ValueId v = p.constant_value(s.constant(words), elem, std::vector{p.constant(8)});
    const Reg r = p.load_element(v, p.constant(index));
    p.alloc(p.output(0, std::vector{p.op(PlanOp::Add, r, p.constant(1000))}));
    const Loaded loaded(s.finish());
    tw::Context context(loaded.module);
    context.run();
    return context.output(0).count() - 1000;
  };
  const std::vector<uint64_t> words{0x0000'0000'0000'93fe, 0xffff'ffff'ffff'fffe, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(element(ElemType::U8, words, 1), 0x93);
  EXPECT_EQ(element(ElemType::I8, words, 0), -2);
  EXPECT_EQ(element(ElemType::U4, words, 3), 9);
  EXPECT_EQ(element(ElemType::I4, words, 3), -7);
  EXPECT_EQ(element(ElemType::I4, words, 2), 3);
  EXPECT_EQ(element(ElemType::U2, words, 1), 3);
  EXPECT_EQ(element(ElemType::I2, words, 0), -2);
  EXPECT_EQ(element(ElemType::I64, words, 1), -2);
  EXPECT_TRUE(contains(error_of([&] { element(ElemType::U64, words, 1); }), "beyond 2^63"));
  EXPECT_TRUE(
      contains(error_of([&] { element(ElemType::U8, words, 8); }), "element 8 of a tensor with 8"));
  EXPECT_TRUE(contains(error_of([&] { element(ElemType::U8, words, -1); }), "element -1"));
}

}  // namespace
}  // namespace tilewright
