// SPDX-License-Identifier: Apache-2.0
// Declared instructions that name a hardware instruction.
#include "gtest/gtest.h"

#include "ir/rewrite.h"
#include "support/str.h"
#include "target/host.h"
#include "target/llvm/arrays.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"

namespace tilewright::target::llvm {
namespace {

using namespace ir;
using target::llvm::store;

const Scope kRegister{ScopeKind::Register, ""};
const Scope kTile{ScopeKind::Tile, ""};

Instruction instruction(const std::string& emit, std::vector<Param> operands) {
  auto node = std::make_shared<InstructionNode>();
  node->name = emit;
  node->emit = emit;
  node->operands = std::move(operands);
  node->compute = node->reset = node->update = nothing();  // the meaning does not matter here
  return Instruction(std::shared_ptr<const InstructionNode>(std::move(node)));
}

Region region(const Buffer& b, const Expr& first, const Expr& extent) {
  return {b, {{first, extent}}, nullptr};
}

/// Operands are contiguous unless strides are given.
Stmt call_of(const Instruction& i, std::vector<Region> operands, InstrForm form = InstrForm::Update,
             std::vector<std::vector<Expr>> strides = {}) {
  if (strides.empty())
    for (const Param& p : i->operands) {
      std::vector<Expr>& own = strides.emplace_back(p.buffer->shape.size(), 1);
      for (size_t d = own.size(); d-- > 1;)
        own[d - 1] = *const_int(own[d]) * *const_int(p.buffer->shape[d]);
    }
  return make_stmt<InstrCall>({}, i, form, std::move(operands), std::move(strides));
}

/// acc[l] = sum over k and the group of a * b, with `a` for all lanes or for each.
LoopFunc dots(const std::string& emit, int lanes, Elem ea, Elem eb, Elem out, int group, bool splat,
              int64_t k) {
  const int64_t wide = int64_t{lanes} * group, narrow = splat ? group : wide;
  const Buffer a = array("a", ea, narrow * k), b = array("b", eb, wide * k),
               c = array("c", out, lanes);
  const Buffer acc = make_buffer("acc", out, {lanes}, kRegister);
  const Instruction i =
      instruction(emit, {{make_buffer("acc", out, {lanes}, kRegister), Access::InOut},
                         {array("a", ea, narrow), Access::In},
                         {array("b", eb, wide), Access::In}});
  const Var v("k");
  const auto regions = [&](const Expr& at) {
    return std::vector<Region>{region(acc, 0, lanes), region(a, at * narrow, narrow),
                               region(b, at * wide, wide)};
  };
  const Stmt body =
      seq({call_of(i, regions(0), InstrForm::Reset), loop(v, k, call_of(i, regions(v))),
           store(c, ramp(0, lanes), load(acc, {ramp(0, lanes)}))});
  return final_func("dots", {{a, Access::In}, {b, Access::In}, {c, Access::Out}},
                    make_stmt<Alloc>({}, acc, body));
}

TEST(Instr, ByteDotProductsDoNotSaturate) {
  if (!host_target().isa.has(Isa::Avx512Vnni)) GTEST_SKIP() << "this machine has no VNNI";
  for (const int lanes : {4, 8, 16})
    for (const bool splat : {false, true}) {
      constexpr int64_t kK = 9;
      const LoopFunc f = dots("vpdpbusd", lanes, Elem::U8, Elem::I8, Elem::I32, 4, splat, kK);
      std::vector<uint8_t> a(static_cast<size_t>(kK * lanes * 4), 255);
      std::vector<int8_t> b(static_cast<size_t>(kK * lanes * 4), -128);
      for (size_t i = 0; i < b.size(); i += 3) b[i] = static_cast<int8_t>(i);
      std::vector<int32_t> c(static_cast<size_t>(lanes)), want(static_cast<size_t>(lanes), 0);
      for (int64_t k = 0; k < kK; ++k)
        for (int l = 0; l < lanes; ++l)
          for (int g = 0; g < 4; ++g)
            want[static_cast<size_t>(l)] += 255 * b[static_cast<size_t>((k * lanes + l) * 4 + g)];
      void* buffers[] = {a.data(), b.data(), c.data()};
      compile(f, host_target()).call(buffers);
      EXPECT_EQ(c, want);
      // The accumulator is a register.
      EXPECT_EQ(emit_llvm_ir(f, host_target()).find("alloca"), std::string::npos);
    }
}

TEST(Instr, Bf16DotProducts) {
  if (!host_target().isa.has(Isa::Avx512Bf16)) GTEST_SKIP() << "this machine has no AVX512_BF16";
  const LoopFunc f = dots("vdpbf16ps", 16, Elem::BF16, Elem::BF16, Elem::F32, 2, true, 3);
  std::vector<uint16_t> a(6, 0x4000), b(96, 0x3fc0);  // 2 and 1.5
  std::vector<float> c(16);
  void* buffers[] = {a.data(), b.data(), c.data()};
  compile(f, host_target()).call(buffers);
  EXPECT_EQ(c, std::vector<float>(16, 18.0f));
}

TEST(Instr, NeonDotProducts) {
  const std::string text = emit_assembly(dots("sdot", 4, Elem::I8, Elem::I8, Elem::I32, 4, true, 8),
                                         parse_target("aarch64"));
  EXPECT_NE(text.find("sdot\t"), std::string::npos);
}

/// C[16, 16] f32 = A[16, 32 k] * B[k][16, 32], bf16, by one tile each.
LoopFunc amx(int64_t k) {
  const auto tile = [](const char* name, Elem e, int64_t n) {
    return make_buffer(name, e, {n}, kTile);
  };
  const auto rows = [](const char* name, Elem e, int64_t columns, Scope scope = {}) {
    return make_buffer(name, e, {16, columns}, scope);
  };
  const Buffer a = array("a", Elem::BF16, 16 * 32 * k), b = array("b", Elem::BF16, 16 * 32 * k),
               c = array("c", Elem::F32, 256);
  const Buffer tc = tile("tc", Elem::F32, 256), ta = tile("ta", Elem::BF16, 512),
               tb = tile("tb", Elem::BF16, 512);
  const Instruction load_tile = instruction(
      "tileloadd",
      {{rows("t", Elem::BF16, 32, kTile), Access::Out}, {rows("m", Elem::BF16, 32), Access::In}});
  const Instruction product =
      instruction("tdpbf16ps", {{rows("c", Elem::F32, 16, kTile), Access::InOut},
                                {rows("a", Elem::BF16, 32, kTile), Access::In},
                                {rows("b", Elem::BF16, 32, kTile), Access::In}});
  const Instruction store_tile = instruction(
      "tilestored",
      {{rows("m", Elem::F32, 16), Access::Out}, {rows("t", Elem::F32, 16, kTile), Access::In}});
  const Var v("k");
  const std::vector<Region> cab{region(tc, 0, 256), region(ta, 0, 512), region(tb, 0, 512)};
  const Stmt step = seq(
      {call_of(load_tile, {region(ta, 0, 512), region(a, Expr(v) * 32, 15 * 32 * k + 32)},
               InstrForm::Compute, {{32, 1}, {32 * k, 1}}),
       call_of(load_tile, {region(tb, 0, 512), region(b, Expr(v) * 512, 512)}, InstrForm::Compute),
       call_of(product, cab)});
  Stmt body =
      seq({call_of(product, cab, InstrForm::Reset), loop(v, k, step),
           call_of(store_tile, {region(c, 0, 256), region(tc, 0, 256)}, InstrForm::Compute)});
  for (const Buffer& t : {ta, tb, tc}) body = make_stmt<Alloc>({}, t, body);
  return final_func("amx", {{a, Access::In}, {b, Access::In}, {c, Access::Out}}, body);
}

TEST(Instr, AmxKeepsItsOrderAndConfiguresOnce) {
  const std::string text = emit_assembly(amx(4), parse_target("amx"));
  const auto count = [&](const std::string& what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("\tldtilecfg"), 1u);
  EXPECT_EQ(count("\ttilerelease"), 1u);
  EXPECT_EQ(count("\ttilezero"), 1u);
  EXPECT_EQ(count("\ttileloadd"), 2u);
  EXPECT_EQ(count("\ttdpbf16ps"), 1u);
  EXPECT_EQ(count("\ttilestored"), 1u);
  EXPECT_LT(text.find("\ttdpbf16ps"), text.find("\ttilestored"));
}

TEST(Instr, AmxProducts) {
  if (!host_target().isa.has(Isa::AmxBf16)) GTEST_SKIP() << "this machine has no AMX";
  std::vector<uint16_t> a(16 * 128, 0x3f80), b(16 * 128, 0x4000);  // 1 and 2
  std::vector<float> c(256);
  void* buffers[] = {a.data(), b.data(), c.data()};
  compile(amx(4), host_target()).call(buffers);
  EXPECT_EQ(c, std::vector<float>(256, 256.0f));
}

void expect_error(const LoopFunc& f, const char* target, const char* code, const char* phrase) {
  try {
    emit_object(f, parse_target(target));
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostic.code, code);
    EXPECT_NE(std::string(e.what()).find(phrase), std::string::npos) << e.what();
  }
}

/// LLVM ends the process where it has no instruction for what it is given; we do not.
TEST(Instr, ThatLlvmDoesNotHaveIsAnError) {
  ir::TargetSpec lies = parse_target("amx");
  lies.cpu = "x86-64";  // a machine that has no tiles
  lies.features = "";
  for (int i = 0; i < 2; ++i) {
    try {
      emit_object(amx(4), lies);
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.diagnostic.code, "target.llvm.given_up");
      EXPECT_NE(std::string(e.what()).find("`amx`"), std::string::npos) << e.what();
    }
    EXPECT_FALSE(emit_object(amx(4), parse_target("amx")).code.empty());
  }
}

TEST(Instr, RefusesOperandsThatAreApart) {
  const LoopFunc dense = dots("vpdpbusd", 8, Elem::U8, Elem::I8, Elem::I32, 4, true, 2);
  const LoopFunc apart = dense.with_body(rewrite(dense.body, [](const InstrCall& c, auto&) -> Stmt {
    return with(c, [](InstrCall& out) { out.strides[2] = {2}; });
  }));
  expect_error(apart, "amx", "target.llvm.intrinsic",
               "the elements of operand `b` are apart in `b`");
}

TEST(Instr, RefusesOtherTypesThanTheInstructionHas) {
  expect_error(dots("vpdpbusd", 8, Elem::I8, Elem::I8, Elem::I32, 4, true, 2), "amx",
               "target.llvm.intrinsic", "operand `a` holds i8, that of `vpdpbusd` u8");
}

TEST(Instr, RefusesWhatTheTargetLacks) {
  expect_error(dots("vpdpbusd", 8, Elem::U8, Elem::I8, Elem::I32, 4, true, 2), "x86-64-v3",
               "target.llvm.intrinsic", "`x86-64-v3` has no instruction `vpdpbusd`");
  expect_error(dots("vpdpbus", 8, Elem::U8, Elem::I8, Elem::I32, 4, true, 2), "x86-64-v4",
               "target.llvm.intrinsic", "no instruction `vpdpbus`");
  expect_error(amx(1), "x86-64-v4", "target.llvm.tiles", "cannot place `tc` in tile registers");
}

}  // namespace
}  // namespace tilewright::target::llvm
