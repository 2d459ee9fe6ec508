// SPDX-License-Identifier: Apache-2.0
// From a tensor expression through tensorize to machine code, to the last bit of the interpreter.
#include "gtest/gtest.h"

#include "ir/interpret/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "lower/pipeline.h"
#include "lower/to_blocks.h"
#include "schedule/schedule.h"
#include "target/host.h"
#include "target/llvm/compile.h"
#include "te/te.h"

namespace tilewright::target::llvm {
namespace {

using ir::Elem;
using schedule::BlockRef;
using schedule::kOpen;
using schedule::Schedule;

ir::LoopFunc lowered(const ir::LoopFunc& func, const ir::TargetSpec& spec) {
  lower::PassContext context;
  context.limits.max_lanes = spec.vector_bits / 8;
  context.limits.instructions = instruction_names(spec);
  return lower::run(lower::cpu_pipeline(), func, context);
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

/// Runs the function as it is, lowered in the interpreter, and as machine code.
void expect_native(const ir::LoopFunc& plain, const ir::LoopFunc& scheduled,
                   const ir::TargetSpec& spec) {
  ir::verify(scheduled);
  std::vector<ir::Array> expected, interpreted;
  std::vector<std::vector<std::byte>> memory;
  for (const ir::Param& p : plain.params) {
    std::vector<int64_t> shape;
    int64_t size = 1;
    for (const ir::Expr& e : p.buffer->shape) {
      shape.push_back(*ir::const_int(e));
      size *= shape.back();
    }
    ASSERT_FALSE(p.buffer->layout);
    expected.push_back(ir::random_array(p.buffer->elem, shape, 3 + expected.size()));
    interpreted.push_back(expected.back());
    interpreted.back().shape = {size};
    memory.push_back(ir::to_bytes(expected.back()));
  }
  const ir::LoopFunc final = lowered(scheduled, spec);
  ir::interpret(plain, expected, {}, {});
  ir::interpret(final, interpreted, {}, {});
  std::vector<void*> pointers;
  for (auto& m : memory) pointers.push_back(m.data());
  compile(final, spec, {.numerics = Numerics::Ieee}).call(pointers);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].cells, interpreted[i].cells) << ir::print(final);
    EXPECT_EQ(ir::to_bytes(expected[i]), memory[i]) << plain.params[i].buffer->name << "\n"
                                                    << ir::print(final);
  }
}

/// C[m, n] = Σ_k term(A[m, k], B[n / lanes, k / group, n % lanes, k % group])
struct Packed {
  int64_t m, n, k;
  int lanes, group;
  Elem a, b, c;
};
te::Program packed_gemm(const Packed& s, bool bits = false) {
  const te::Tensor a = te::placeholder("A", s.a, {s.m, s.k});
  const te::Tensor b = te::placeholder("B", s.b, {s.n / s.lanes, s.k / s.group, s.lanes, s.group});
  const te::Axis k = te::reduce_axis(s.k, "k");
  const te::Tensor c = te::compute("C", {s.m, s.n}, [&](te::Var y, te::Var x) {
    const te::Expr u = a(y, k), v = b(x / s.lanes, k / s.group, x % s.lanes, k % s.group);
    return te::sum(bits ? te::cast(s.c, te::popcount(u & v)) : te::cast(s.c, u) * te::cast(s.c, v),
                   k);
  });
  return te::program("gemm", {a, b}, {c});
}

/// Rows of `rows` x one vector of accumulators in registers, filled by the instruction.
ir::LoopFunc with_dots(const ir::LoopFunc& f, const Packed& s, int rows,
                       const std::string& instruction, const ir::TargetSpec& spec) {
  Schedule sch(f, spec.instructions);
  const BlockRef c = sch.block("C");
  sch.cache_write(c, "C", ir::ScopeKind::Register);
  auto [y, x, k] = sch.loops<3>("C");
  auto [y0, y1] = sch.split<2>(y, {kOpen, rows});
  auto [x0, x1] = sch.split<2>(x, {kOpen, s.lanes});
  auto [k0, k1] = sch.split<2>(k, {kOpen, s.group});
  sch.reorder({y0, x0, k0, y1, x1, k1});
  sch.reverse_compute_at(sch.block("C_copy"), x0);
  const BlockRef tile = sch.tensorize(x1, instruction);
  sch.decompose_reduction(tile, k0);
  sch.unroll(y1);
  const auto init = sch.loops("C_outer_init");
  sch.unroll(init.back());
  const auto copy = sch.loops("C_copy");
  sch.unroll(copy[copy.size() - 2]);
  sch.vectorize(copy.back());
  return sch.func();
}

TEST(TensorizeNative, BytesByVnni) {
  const ir::TargetSpec& spec = host_target();
  if (!spec.isa.has(ir::Isa::Avx512Vnni)) GTEST_SKIP() << "this machine has no VNNI";
  const Packed s{6, 32, 24, 16, 4, Elem::U8, Elem::I8, Elem::I32};
  const ir::LoopFunc f = lower::to_blocks(packed_gemm(s));
  const ir::LoopFunc scheduled = with_dots(f, s, 3, "dot_u8i8_16", spec);
  expect_native(f, scheduled, spec);
  const std::string text = emit_assembly(lowered(scheduled, spec), spec);
  EXPECT_EQ(count(text, "vpdpbusd"), 3u) << text;
}

TEST(TensorizeNative, BytesOnAvx2NeverSaturate) {
  const ir::TargetSpec& spec = host_target();
  if (!spec.isa.has(ir::Isa::Avx2)) GTEST_SKIP() << "this machine has no AVX2";
  const Packed s{4, 16, 12, 8, 4, Elem::U8, Elem::I8, Elem::I32};
  const ir::LoopFunc f = lower::to_blocks(packed_gemm(s));
  const ir::LoopFunc scheduled = with_dots(f, s, 2, "dot_u8i8_avx2", spec);
  expect_native(f, scheduled, spec);
  const ir::TargetSpec v3 = parse_target("x86-64-v3");
  const std::string text = emit_assembly(lowered(scheduled, v3), v3);
  EXPECT_NE(count(text, "vpmaddwd"), 0u);
  EXPECT_EQ(count(text, "vpmaddubsw"), 0u);
}

TEST(TensorizeNative, NeonDot) {
  const ir::TargetSpec spec = parse_target("aarch64");
  const Packed s{4, 8, 12, 4, 4, Elem::I8, Elem::I8, Elem::I32};
  const ir::LoopFunc scheduled =
      with_dots(lower::to_blocks(packed_gemm(s)), s, 2, "dot_i8i8_4", spec);
  EXPECT_EQ(count(emit_assembly(lowered(scheduled, spec), spec), "sdot\t"), 2u);
}

/// A is 2 bits wide: two planes of bits. C = P[0] + 2 P[1], P[p] = Σ popcount(A[p] & B).
te::Program two_by_one_bits(const Packed& s) {
  const te::Tensor a = te::placeholder("A", Elem::U8, {2, s.m, s.k});
  const te::Tensor b = te::placeholder("B", Elem::U8, {s.n / s.lanes, s.k / 4, s.lanes, 4});
  const te::Axis k = te::reduce_axis(s.k, "k");
  const te::Tensor p = te::compute("P", {2, s.m, s.n}, [&](te::Var q, te::Var y, te::Var x) {
    return te::sum(
        te::cast(Elem::I32, te::popcount(a(q, y, k) & b(x / s.lanes, k / 4, x % s.lanes, k % 4))),
        k);
  });
  const te::Tensor c = te::compute(
      "C", {s.m, s.n}, [&](te::Var y, te::Var x) { return p(0, y, x) + (p(1, y, x) << 1); });
  return te::program("bits", {a, b}, {c});
}

TEST(TensorizeNative, TwoBitsTimesOneBit) {
  for (const auto& [name, lanes, isa] : {std::tuple{"dot_bits_8", 8, ir::Isa::Avx2},
                                         std::tuple{"dot_bits_16", 16, ir::Isa::Avx512Popcnt}}) {
    const ir::TargetSpec& spec = host_target();
    if (!spec.isa.has(isa)) continue;
    const Packed s{4, 32, 8, lanes, 4, Elem::U8, Elem::U8, Elem::I32};
    const ir::LoopFunc f = lower::to_blocks(two_by_one_bits(s));
    Schedule sch(f, spec.instructions);
    sch.set_scope(sch.block("P"), "P", ir::ScopeKind::Register);
    auto [y, x] = sch.loops<2>("C");
    auto [y0, y1] = sch.split<2>(y, {kOpen, 2});
    auto [x0, x1] = sch.split<2>(x, {kOpen, lanes});
    sch.reorder({y0, x0, y1, x1});
    sch.compute_at(sch.block("P"), x0);
    sch.vectorize(x1);
    sch.unroll(y1);
    const auto loops = sch.loops("P");  // y0 x0 q y x k
    auto [k0, k1] = sch.split<2>(loops[5], {kOpen, 4});
    sch.reorder({k0, loops[2], loops[3], loops[4], k1});
    const BlockRef tile = sch.tensorize(loops[4], name);
    sch.decompose_reduction(tile, k0);
    sch.unroll(loops[2]);
    sch.unroll(loops[3]);
    const auto init = sch.loops("P_outer_init");
    sch.unroll(init[init.size() - 1]);
    sch.unroll(init[init.size() - 2]);
    expect_native(f, sch.func(), spec);
  }
}

/// An instruction declared here, with a layout that none in src/ has: b by columns.
TEST(TensorizeNative, AUsersOwnInstruction) {
  const ir::TargetSpec& spec = host_target();
  const ir::Unit unit = ir::parse(R"(
instr columns(acc: inout i32[8] register, w: in i8[4, 8] layout (k, n) -> [address: n*4 + k] extents [32], x: in u8[4]) {
  compute { for n in 0..8 { acc[n] = 0:i32 }  for n in 0..8 { for k in 0..4 { acc[n] sum= i32(w[k, n]) * i32(x[k]) } } }
  reset { for n in 0..8 { acc[n] = 0:i32 } }
  update { for k in 0..4 { for n in 0..8 { acc[n] sum= i32(w[k, n]) * i32(x[k]) } } }
}
instr columns_vnni(acc: inout i32[8] register, x: in u8[4], w: in i8[4, 8] layout (k, n) -> [address: n*4 + k] extents [32]) emit "vpdpbusd" {
  compute { for n in 0..8 { acc[n] = 0:i32 }  for n in 0..8 { for k in 0..4 { acc[n] sum= i32(w[k, n]) * i32(x[k]) } } }
  reset { for n in 0..8 { acc[n] = 0:i32 } }
  update { for k in 0..4 { for n in 0..8 { acc[n] sum= i32(w[k, n]) * i32(x[k]) } } }
}
loops f(A: in u8[5, 12], B: in i8[12, 16], C: out i32[5, 16]) stage scheduled {
  alloc P: i8[12, 16] layout (k, n) -> [address: k / 4, address: n, address: k % 4] extents [3, 16, 4]
  for k in 0..12 { for x in 0..16 {
    block P(vk: spatial 12 = k, vx: spatial 16 = x) reads B[vk, vx] writes P[vk, vx] { P[vk, vx] = B[vk, vx] } } }
  for y in 0..5 { for x in 0..16 { for k in 0..12 {
    block C(vy: spatial 5 = y, vx: spatial 16 = x, vk: reduce 12 = k) reads A[vy, vk], P[vk, vx] writes C[vy, vx] {
      init { C[vy, vx] = 0:i32 }
      C[vy, vx] sum= i32(A[vy, vk]) * i32(P[vk, vx])
    } } } }
})");
  for (const char* name : {"columns", "columns_vnni"}) {
    const ir::LoopFunc& f = unit.functions[0];
    Schedule s(f, unit.instructions);
    s.cache_write(s.block("C"), "C", ir::ScopeKind::Register);
    auto [y, x, k] = s.loops<3>("C");
    auto [x0, x1] = s.split<2>(x, {kOpen, 8});
    auto [k0, k1] = s.split<2>(k, {kOpen, 4});
    s.reorder({y, x0, k0, x1, k1});
    s.reverse_compute_at(s.block("C_copy"), x0);
    s.tensorize(x1, name);
    expect_native(f, s.func(), spec);
    const std::string text = emit_assembly(lowered(s.func(), spec), spec);
    // Without VNNI the call becomes its meaning.
    const bool has = spec.isa.has(ir::Isa::Avx512Vnni) || spec.isa.has(ir::Isa::AvxVnni);
    EXPECT_EQ(count(text, "vpdpbusd") > 0, has && std::string(name) == "columns_vnni");
  }
}

TEST(TensorizeNative, OuterProductsBecomeFma) {
  const ir::TargetSpec spec = parse_target("x86-64-v3");
  const ir::LoopFunc f = lower::to_blocks([] {
    const te::Tensor a = te::placeholder("A", Elem::F32, {12, 9});
    const te::Tensor b = te::placeholder("B", Elem::F32, {9, 32});
    const te::Axis k = te::reduce_axis(9, "k");
    return te::program("gemm", {a, b}, {te::compute("C", {12, 32}, [&](te::Var y, te::Var x) {
                         return te::sum(a(y, k) * b(k, x), k);
                       })});
  }());
  Schedule s(f, spec.instructions);
  s.cache_write(s.block("C"), "C", ir::ScopeKind::Register);
  auto [y, x, k] = s.loops<3>("C");
  auto [y0, y1] = s.split<2>(y, {kOpen, 6});
  auto [x0, x1] = s.split<2>(x, {kOpen, 16});
  s.reorder({y0, x0, k, y1, x1});
  s.reverse_compute_at(s.block("C_copy"), x0);
  s.decompose_reduction(s.tensorize(y1, "outer_f32_6x16"), k);
  const auto copy = s.loops("C_copy");
  s.unroll(copy[copy.size() - 2]);
  s.vectorize(copy.back());
  const std::string text = emit_assembly(lowered(s.func(), spec), spec);
  EXPECT_EQ(count(text, "vfmadd"), 12u) << text;
  if (runs_on_host(spec)) expect_native(f, s.func(), spec);
}

/// C[m, n] by one AMX tile each of C, A and B; B packed in groups along k.
std::string amx_assembly(const char* a, const char* b, const char* c, int group,
                         const char* product, const char* load_a, const char* load_b,
                         const char* zero, const char* store) {
  const ir::TargetSpec spec = parse_target("amx");
  const auto elem = [](std::string_view name) { return *ir::elem_from_name(name); };
  const Packed s{32, 48, 64 * group, 16, group, elem(a), elem(b), elem(c)};
  const ir::LoopFunc f = lower::to_blocks(packed_gemm(s));
  Schedule sch(f, spec.instructions);
  sch.cache_write(sch.block("C"), "C", ir::ScopeKind::Tile);
  const BlockRef from_a = sch.cache_read(sch.block("C"), "A", ir::ScopeKind::Tile);
  const BlockRef from_b = sch.cache_read(sch.block("C"), "B", ir::ScopeKind::Tile);
  auto [y, x, k] = sch.loops<3>("C");
  auto [y0, y1] = sch.split<2>(y, {kOpen, 16});
  auto [x0, x1] = sch.split<2>(x, {kOpen, 16});
  auto [k0, k1] = sch.split<2>(k, {kOpen, 16 * group});
  sch.reorder({y0, x0, k0, y1, x1, k1});
  const BlockRef out = sch.block("C_copy");
  sch.reverse_compute_at(out, x0);
  sch.compute_at(from_a, k0);
  sch.compute_at(from_b, k0);
  const auto inner = [&](const BlockRef& block, size_t n) {
    const auto loops = sch.loops(block);
    return loops[loops.size() - n];
  };
  const BlockRef init = sch.decompose_reduction(sch.block("C"), k0);
  sch.tensorize(inner(from_a, 2), load_a);
  sch.tensorize(inner(from_b, 3), load_b);
  sch.tensorize(inner(out, 2), store);
  sch.tensorize(inner(init, 2), zero);
  sch.tensorize(y1, product);
  ir::verify(sch.func());
  const ir::LoopFunc final = lowered(sch.func(), spec);
  // The meaning of the calls, in the interpreter, is what the plain loops compute.
  std::vector<ir::Array> expected, got;
  for (const ir::Param& p : f.params) {
    std::vector<int64_t> shape;
    for (const ir::Expr& e : p.buffer->shape) shape.push_back(*ir::const_int(e));
    expected.push_back(
        ir::random_array(p.buffer->elem, shape, 3 + expected.size(), ir::Arithmetic::Exact));
    got.push_back(expected.back());
    got.back().shape = {got.back().size()};
  }
  const ir::RunOptions exact{.arithmetic = ir::Arithmetic::Exact};
  ir::interpret(f, expected, {}, exact);
  ir::interpret(final, got, {}, exact);
  EXPECT_EQ(expected.back().cells, got.back().cells) << ir::print(final);
  return emit_assembly(final, spec);
}

TEST(TensorizeNative, AmxTiles) {
  for (const auto& [text, product] :
       {std::pair{amx_assembly("bf16", "bf16", "f32", 2, "amx_bf16", "amx_load_bf16",
                               "amx_load_bf16_pairs", "amx_zero_f32", "amx_store_f32"),
                  "tdpbf16ps"},
        std::pair{amx_assembly("u8", "i8", "i32", 4, "amx_u8i8", "amx_load_u8", "amx_load_i8_quads",
                               "amx_zero_i32", "amx_store_i32"),
                  "tdpbusd"}}) {
    EXPECT_EQ(count(text, std::string("\t") + product), 1u) << text;
    EXPECT_EQ(count(text, "\ttileloadd"), 2u);
    EXPECT_EQ(count(text, "\ttilestored"), 1u);
    EXPECT_EQ(count(text, "\ttilezero"), 1u);
    EXPECT_EQ(count(text, "\tldtilecfg"), 1u);
  }
}

}  // namespace
}  // namespace tilewright::target::llvm
