// SPDX-License-Identifier: Apache-2.0
// A user's own instruction: an accelerator that multiplies 8x8 tiles in memories of its own. The
// meaning of each instruction is declared, the loops of a matmul are brought to its shape, and
// `tensorize` finds them in the loops. The interpreter runs the program before and after.
#include <cstdio>

#include "ir/build.h"
#include "ir/interpret/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "lower/to_blocks.h"
#include "lower/to_instruction.h"
#include "schedule/schedule.h"
#include "te/te.h"

using namespace tilewright;

static const ir::Scope kInput{ir::ScopeKind::Named, "acc.input"};
static const ir::Scope kWeight{ir::ScopeKind::Named, "acc.weight"};
static const ir::Scope kResult{ir::ScopeKind::Named, "acc.result"};

/// C[y, x] = sum over k of A[k, y] * B[k, x]
static te::Program matmul(const char* name, int64_t m, int64_t n, int64_t k) {
  const te::Tensor a = te::placeholder("A", ir::Elem::F32, {k, m});
  const te::Tensor b = te::placeholder("B", ir::Elem::F32, {k, n});
  const te::Axis kk = te::reduce_axis(k, "k");
  const te::Tensor c = te::compute(
      "C", {m, n}, [&](te::Var y, te::Var x) { return te::sum(a(kk, y) * b(kk, x), kk); });
  return te::program(name, {a, b}, {c});
}

/// The behaviour as a tensor expression gives the forms compute, reset (fill_zero) and update
/// (fused_gemm8x8_add); copies between memories are declared as text.
static std::vector<ir::Instruction> accelerator() {
  std::vector<ir::Instruction> out = {lower::to_instruction(
      matmul("gemm8x8", 8, 8, 8), {{"A", kInput, {}}, {"B", kWeight, {}}, {"C", kResult, {}}})};
  const auto add = [&](const std::string& text) {
    for (const ir::Instruction& i : ir::parse(text).instructions) out.push_back(i);
  };
  add("instr fill_zero(c: out f32[8, 8] acc.result) {"
      "  compute { for y in 0..8 { for x in 0..8 { c[y, x] = 0.0 } } } }");
  const auto copy = [&](const std::string& name, const std::string& to, const std::string& from) {
    add("instr " + name + "(to: out f32[8, 8]" + to + ", from: in f32[8, 8]" + from +
        ") { compute { for y in 0..8 { for x in 0..8 { to[y, x] = from[y, x] } } } }");
  };
  copy("dma_copy2d_input", " acc.input", "");
  copy("dma_copy2d_weight", " acc.weight", "");
  copy("dma_copy2d_result", "", " acc.result");
  return out;
}

/// The results in exact arithmetic.
static ir::Array run(const ir::LoopFunc& f) {
  std::vector<ir::Array> args;
  for (const ir::Param& p : f.params) {
    std::vector<int64_t> shape;
    for (const ir::Expr& e : p.buffer->shape) shape.push_back(ir::const_int(e).value());
    args.push_back(ir::random_array(p.buffer->elem, shape, args.size() + 1, ir::Arithmetic::Exact));
  }
  ir::interpret(f, args, {}, {.arithmetic = ir::Arithmetic::Exact});
  return args.back();
}

int main() {
  using schedule::kOpen;
  const ir::LoopFunc plain = lower::to_blocks(matmul("matmul", 32, 24, 16));
  schedule::Schedule s(plain, accelerator());
  std::printf("What the instruction means:\n%s\n", ir::print(accelerator()[0]).c_str());
  std::printf("Three nested loops:\n%s\n", ir::print(plain).c_str());

  const schedule::BlockRef c = s.block("C");
  const auto [y, x, k] = s.loops<3>("C");
  const auto [y0, y1] = s.split<2>(y, {kOpen, 8});
  const auto [x0, x1] = s.split<2>(x, {kOpen, 8});
  const auto [k0, k1] = s.split<2>(k, {kOpen, 8});
  s.reorder({y0, x0, k0, y1, x1, k1});
  std::printf("Tiles of the instruction's shape:\n%s\n", ir::print(s.func()).c_str());

  const schedule::BlockRef result = s.cache_write(c, "C", kResult);
  s.reverse_compute_at(result, x0);
  const schedule::BlockRef zero = s.decompose_reduction(c, k0);
  const schedule::BlockRef inputs = s.cache_read(c, "A", kInput);
  const schedule::BlockRef weights = s.cache_read(c, "B", kWeight);
  s.compute_at(inputs, k0);
  s.compute_at(weights, k0);
  std::printf("Tiles in the accelerator's memories:\n%s\n", ir::print(s.func()).c_str());

  s.tensorize(y1, "gemm8x8");
  const auto whole = [&](const schedule::BlockRef& block) {  // its two inner loops
    const std::vector<schedule::LoopRef> loops = s.loops(block);
    return loops[loops.size() - 2];
  };
  s.tensorize(whole(zero), "fill_zero");
  s.tensorize(whole(inputs), "dma_copy2d_input");
  s.tensorize(whole(weights), "dma_copy2d_weight");
  s.tensorize(whole(result), "dma_copy2d_result");
  std::printf("Instructions:\n%s\n", ir::print(s.func()).c_str());

  const bool same = ir::same_bits(run(plain), run(s.func()));
  std::printf("%s\n", same ? "The interpreter gives the same result." : "THE RESULTS DIFFER");
  return same ? 0 : 1;
}
