// SPDX-License-Identifier: Apache-2.0
// Programs of stage `final`, each with one thing that C has to get right, against the interpreter.
#include <gtest/gtest.h>

#include "ir/interpret/interpret.h"
#include "ir/parse.h"
#include "support/str.h"
#include "target/c_source/compiled.h"

namespace tilewright::target::c_source {
namespace {

using ir::Array;

struct Program {
  const char* name;
  const char* text;
  std::vector<std::vector<int64_t>> symbols = {{}};  // one run for each
};

const std::vector<Program>& programs() {
  static const std::vector<Program> all = {
      {"vector_sum", R"(
loops vector_sum(a: in f32[32], b: in f32[32], c: out f32[32]) stage final {
  for i in 0..4 {
    c[ramp(i * 8, 1, 8)] = a[ramp(i * 8, 1, 8)] + b[ramp(31 - i * 8, -1, 8)] * broadcast(a[i], 8)
  }
})"},
      {"masked", R"(
loops masked(n: in i64[1], a: in f32[19], c: inout f32[19]) stage final {
  for i in 0..3 {
    let m = ramp(i * 8, 1, 8) < broadcast(n[0] + 17, 8)
    c[ramp(i * 8, 1, 8)] mask(m) = a[ramp(i * 8, 1, 8)] mask(m) * broadcast(2.0, 8)
  }
})"},
      {"reductions", R"(
loops reductions(a: in f32[16], k: in i32[16], c: out f32[4], d: out i32[2], e: out bool[2]) stage final {
  let v = a[ramp(0, 1, 16)]
  c[0] = reduce_add(v)
  c[1] = reduce_mul(v)
  c[2] = reduce_min(v) + reduce_max(v * v)
  c[3] = reduce_max(v - broadcast(reduce_min(v), 16))
  d[0] = reduce_add(k[ramp(0, 1, 16)])
  d[1] = reduce_min(k[ramp(0, 1, 16)])
  e[0] = reduce_and(k[ramp(0, 1, 16)] < broadcast(9:i32, 16))
  e[1] = reduce_or(k[ramp(0, 1, 16)] == broadcast(8:i32, 16))
})"},
      {"negative_zero", R"(
loops negative_zero(c: out f32[2]) stage final {
  let v = broadcast(-0.0, 4)
  c[0] = reduce_add(v)
  c[1] = reduce_max(v)
})"},
      {"guarded_reduction", R"(
loops guarded_reduction(a: in f32[8], n: in i64[4], c: out f32[4]) stage final {
  for i in 0..4 {
    c[i] = guard(n[i] < 2 && 0 <= n[i], reduce_add(a[ramp(n[i] * 4, 1, 4)]), -1.0)
  }
})"},
      {"guarded_lanes", R"(
loops guarded_lanes(a: in f32[8], n: in i64[4], c: out f32[16]) stage final {
  for i in 0..4 {
    let ok = n[i] < 2 && 0 <= n[i]
    c[ramp(i * 4, 1, 4)] = guard(ok, a[ramp(n[i] * 4, 1, 4)], broadcast(3.5, 4)) + broadcast(guard(ok, reduce_max(a[ramp(n[i] * 4, 1, 4)]), 1.0), 4)
  }
})"},
      {"reversed_in_place", R"(
loops reversed_in_place(a: inout f32[8], b: inout i64[4]) stage final {
  a[ramp(0, 1, 8)] = a[ramp(7, -1, 8)]
  b[ramp(0, 1, 4)] = b[ramp(0, 1, 4)] + broadcast(1, 4)
  b[ramp(0, 1, 4)] mask(b[ramp(0, 1, 4)] < broadcast(3, 4)) = b[ramp(3, -1, 4)] * broadcast(2, 4)
})"},
      {"gathered", R"(
loops gathered(k: in i64[8], a: in f32[17], c: inout i64[24]) stage final {
  c[k[ramp(0, 1, 8)] * broadcast(0, 8) + ramp(8, 2, 8)] = i64(a[k[ramp(0, 1, 8)] + broadcast(8, 8)])
  c[ramp(0, 1, 4)] = select(c[ramp(4, 1, 4)] < broadcast(0, 4), broadcast(1, 4), ramp(5, 3, 4))
})"},
      {"scalars", R"(
loops scalars(a: in f32[9], c: out f32[3], h: out f16[1]) stage final {
  alloc sum: f32[] register
  alloc count: i4[] register
  alloc any: bool[] register
  alloc half: f16[] register
  sum[] = 0.0
  count[] = 0:i4
  any[] = false
  half[] = 1.0:f16
  for i in 0..9 {
    sum[] = sum[] + a[i]
    if a[i] < 0.0 {
      count[] = count[] + 3:i4
      any[] = true
    } else if a[i] < 1.0 {
      half[] = half[] * 1.001:f16
    } else {
      half[] = half[] + f16(a[i])
    }
  }
  c[0] = sum[]
  c[1] = f32(count[])
  c[2] = select(any[], 1.0, 0.0)
  h[0] = half[]
})"},
      {"collatz", R"(
loops collatz(a: in i64[6], steps: out i64[6]) stage final {
  for i in 0..6 {
    alloc x: i64[] register
    alloc n: i64[] register
    x[] = abs(a[i]) + 1
    n[] = 0
    while x[] != 1 {
      if x[] % 2 == 0 { x[] = x[] / 2 } else { x[] = x[] * 3 + 1 }
      n[] = n[] + 1
    }
    steps[i] = n[]
  }
})"},
      {"while_over_lanes", R"(
loops while_over_lanes(a: inout f32[8]) stage final {
  while reduce_or(a[ramp(0, 1, 8)] < broadcast(100.0, 8)) {
    a[ramp(0, 1, 8)] = a[ramp(0, 1, 8)] * a[ramp(0, 1, 8)] + broadcast(1.5, 8)
  }
})"},
      {"argmax", R"(
loops argmax(a: in f32[20], k: out i64[1], x: out f32[1]) stage final {
  alloc at: i64[] register
  alloc most: f32[] register
  at[] = 0
  most[] = -inf:f32
  for i in 0..20 {
    let better = most[] < a[i]
    let next_at = select(better, i, at[])
    let next_most = max(most[], a[i])
    at[] = next_at
    most[] = next_most
  }
  k[0] = at[]
  x[0] = most[]
})"},
      {"packed", R"(
loops packed(a: in i4[15], b: in u2[15], c: out i4[15], d: out u2[15], e: out i2[8]) stage final {
  alloc t: i4[21]
  for i in 0..15 { t[i + 5] = a[i] + i4(b[i]) }
  for i in 0..15 {
    c[14 - i] = t[i + 5] * 3:i4
    d[i] = b[14 - i] + 3:u2
  }
  e[ramp(0, 1, 8)] = i2(a[ramp(0, 1, 8)]) - i2(b[ramp(1, 1, 8)])
})"},
      {"small_floats", R"(
loops small_floats(a: in f32[8], c: out bf16[8], d: out f8e4m3[8], e: out f8e5m2fnuz[8], g: out f32[8]) stage final {
  alloc t: f16[8]
  t[ramp(0, 1, 8)] = f16(a[ramp(0, 1, 8)])
  c[ramp(0, 1, 8)] = bf16(t[ramp(0, 1, 8)]) / broadcast(3.0:bf16, 8)
  for i in 0..8 {
    d[i] = f8e4m3(a[i]) * f8e4m3(t[7 - i])
    e[i] = -f8e5m2fnuz(a[i]) + max(f8e5m2fnuz(t[i]), 0.5:f8e5m2fnuz)
    g[i] = f32(t[i]) + f32(d[i])
  }
})"},
      {"smallest_floats", R"(
loops smallest_floats(a: in f32[9], b: in i64[9], c: out f4e2m1[9], d: out f8e8m0[9], e: out f32[9], g: out f32[9], h: out f8e8m0[9]) stage final {
  alloc t: f4e2m1[12]
  for i in 0..9 { t[i + 3] = f4e2m1(a[8 - i]) + 0.5:f4e2m1 }
  for i in 0..9 {
    c[i] = t[i + 3] * f4e2m1(a[i]) - f4e2m1(b[i])
    d[i] = f8e8m0(a[i]) / f8e8m0(b[i]) + 0.25:f8e8m0
    e[i] = f32(t[i + 3]) - f32(d[i])
    g[i] = f32(max(-f8e8m0(a[i]), f8e8m0(b[i])))
    h[i] = f8e8m0(u64(b[i]) * 7000000001:u64)
  }
})"},
      {"wrapping", R"(
loops wrapping(a: in i32[8], c: out i32[8], d: out i64[8], e: out u16[8]) stage final {
  for i in 0..8 {
    c[i] = a[i] * 1000000007:i32 + 2147483647:i32
    d[i] = i64(a[i]) * 9223372036854775807 + i * 4611686018427387904 - (i + 3) / (i - 4) + (i - 9) % (i - 4)
    e[i] = (u16(a[i]) * u16(a[i])) >> 3:u16
  }
})"},
      {"bounds_from_memory", R"(
loops bounds_from_memory(n: inout i64[2], c: inout i64[16]) stage final {
  n[0] = 2
  n[1] = 9
  for i in n[0] +: n[1] {
    n[0] = n[0] + 1
    n[1] = n[1] - 1
    c[i] = i * 10 + n[0]
  }
  for i in 9223372036854775800 +: n[1] + 7 { c[i - 9223372036854775800] = c[i - 9223372036854775800] + 1 }
})"},
      {"extents_of_zero",
       R"(
loops extents_of_zero(a: in f32[n], c: inout f32[4]) where n in 0..8 stage final {
  alloc t: f32[n]
  for i in 0..n { t[i] = a[i] * 2.0 }
  for i in 0..n { c[i % 4] = c[i % 4] + t[i] }
  for i in 0..0 { c[9] = 1.0 }
  parallel for i in 2 +: n - 4 { c[i % 4] = f32(i) }
})",
       {{0}, {1}, {7}}},
      {"parallel_rows",
       R"(
loops parallel_rows(a: in f32[m * n], c: out f32[m * n], s: out f32[m]) where m in 0..64, n in 0..5000 stage final {
  alloc scale: f32[m]
  parallel for i in 0..m { scale[i] = f32(i) + 0.5 }
  let twice = broadcast(2.0, 4)
  parallel for i in 0..m {
    alloc row: f32[n]
    alloc sum: f32[] register
    for j in 0..n { row[j] = a[i * n + j] * scale[i] }
    sum[] = 0.0
    for j in 0..n { sum[] = sum[] + row[j] }
    s[i] = sum[]
    parallel for j in 0..n {
      c[i * n + j] = row[n - 1 - j] / sum[]
    }
    s[i] = s[i] + reduce_add(twice)
  }
})",
       {{0, 3}, {7, 13}, {40, 1000}}},
      {"parallel_scalars", R"(
loops parallel_scalars(k: in i64[1], c: out f32[12], h: out f16[12]) stage final {
  alloc base: f32[] register
  alloc half: f16[] register
  alloc on: bool[] register
  base[] = 3.25
  half[] = 0.1:f16
  on[] = base[] < 4.0
  parallel for i in abs(k[0]) - abs(k[0]) +: 12 {
    c[i] = select(on[], base[] * f32(i), 0.0)
    h[i] = half[] + f16(i)
  }
})"},
      {"atomics", R"(
loops atomics(a: in i32[64], hist: inout i32[8], most: inout f32[2], f: inout bf16[1], swap: inout u8[2], seen: out i32[1]) stage final {
  parallel for i in 0..64 {
    atomic add (hist[i64(a[i]) & 7], 1:i32)
    atomic max release (most[0], f32(a[i]))
    atomic min (most[1], f32(a[i]) * 0.5)
  }
  alloc old: i32[] register
  alloc was: u8[] register
  atomic add acquire_release (hist[0], 5:i32) -> old
  seen[0] = old[]
  atomic add (f[0], 0.25:bf16)
  atomic exchange acquire (swap[0], 7:u8) -> was
  atomic compare_exchange (swap[1], was[], was[]) -> was
  atomic compare_exchange (swap[0], was[], 7:u8)
})"},
      {"prefetched", R"(
loops prefetched(a: in f32[16], b: in u4[16], c: out f32[16]) stage final {
  for i in 0..16 {
    prefetch 1 a[i + 8]
    prefetch 2 b[i + 64]
    prefetch 3 write c[i + 8]
    c[i] = a[i] + f32(b[i])
  }
})"},
      {"names", R"(
loops int(double: in f32[4], tw_add_i64: in f32[4], host: out f32[4]) stage final {
  for lane in 0..4 {
    let restrict = double[lane] + 1.0
    let unused = restrict * 2.0
    let unused_too = unused + 1.0
    if restrict < 3.0 {
      let i = restrict
      host[lane] = i
    } else {
      let i = -restrict
      host[lane] = i + tw_add_i64[lane]
    }
    alloc never: f32[4]
    alloc only_written: f32[4]
    alloc only_set: f32[] register
    only_written[lane] = 1.0
    only_set[] = restrict
  }
})"},
      {"instructions", R"(
instr dot4(x: in i8[4] global, y: in i8[4] global, z: inout i32[] global) {
  compute { z[] = 0:i32
            for i in 0..4 { z[] sum= i32(x[i]) * i32(y[i]) } }
  reset { z[] = 0:i32 }
  update { for i in 0..4 { z[] sum= i32(x[i]) * i32(y[i]) } }
}
instr add4(p: in u4[4] global, q: inout u4[4] global) {
  compute { vectorized for i in 0..4 { q[i] = p[i] + q[i] * 0:u4 + 1:u4 } }
}
loops instructions(x: in i8[16], y: in i8[16], z: inout i32[3], p: in u4[9], q: inout u4[9]) stage final {
  call dot4.reset(x[0 +: 4], y[0 +: 4], z[1 +: 1]) strides ([1], [1], [])
  for i in 0..4 { call dot4.update(x[i +: 13], y[12 - i * 4 +: 4], z[1 +: 1]) strides ([4], [1], []) }
  call dot4(x[3 +: 4], y[0 +: 10], z[2 +: 1]) strides ([1], [3], [])
  call add4(p[2 +: 7], q[3 +: 4]) strides ([2], [1])
})"},
      {"bools", R"(
loops bools(a: in bool[8], b: in bool[8], c: out bool[8], d: out i64[8]) stage final {
  for i in 0..8 {
    c[i] = (a[i] && !b[i]) || (a[i] == b[i] && (a[i] ^ b[i]) != (a[i] & b[i]))
    d[i] = i64(a[i] | b[i]) + select(a[i], 1, 2) * 2000000000 * 3 + select(i < 4, 5, 5)
  }
})"},
      {"large_temporaries",
       R"(
loops large_temporaries(a: in f32[n], c: out f32[n]) where n in 1..10000 stage final {
  alloc t: f32[n] align 64
  for i in 0..n { t[i] = a[i] + 1.0 }
  parallel for b in 0..4 {
    alloc u: f64[8192]
    alloc v: f64[max(min(n - b, 3), 1)]
    u[b * 2000] = f64(b)
    v[0] = u[b * 2000] + 1.0:f64
    for i in b * n / 4 +: (b + 1) * n / 4 - b * n / 4 { c[i] = t[i] * f32(u[b * 2000]) + f32(v[0]) }
  }
})",
       {{1}, {5}, {10000}}},
  };
  return all;
}

class Programs : public testing::TestWithParam<size_t> {
 protected:
  static void SetUpTestSuite() {
    std::vector<ir::LoopFunc> funcs;
    for (const Program& p : programs()) funcs.push_back(ir::parse_function(p.text));
    compiled_ = new Compiled(funcs);
    funcs_ = new std::vector<ir::LoopFunc>(funcs);
  }
  static void TearDownTestSuite() {
    delete compiled_;
    delete funcs_;
  }
  static Compiled* compiled_;
  static std::vector<ir::LoopFunc>* funcs_;
};
Compiled* Programs::compiled_ = nullptr;
std::vector<ir::LoopFunc>* Programs::funcs_ = nullptr;

TEST_P(Programs, EqualsTheInterpreter) {
  const ir::LoopFunc& f = (*funcs_)[GetParam()];
  for (const std::vector<int64_t>& symbols : programs()[GetParam()].symbols) {
    std::vector<Array> args;
    for (const ir::Param& p : f.params) {
      std::vector<int64_t> shape;
      for (const ir::Expr& e : p.buffer->shape) shape.push_back(value_of(e, f.symbols, symbols));
      args.push_back(ir::random_array(p.buffer->elem, shape, 11 + args.size()));
    }
    std::vector<Array> want = args;
    ir::interpret(f, want, symbols);
    compiled_->run(GetParam(), args, symbols);
    for (size_t k = 0; k < args.size(); ++k)
      for (int64_t i = 0; i < args[k].size(); ++i)
        ASSERT_TRUE(args[k].cells[static_cast<size_t>(i)] ==
                        want[k].cells[static_cast<size_t>(i)] ||
                    (args[k].as_double(i) != args[k].as_double(i) &&
                     want[k].as_double(i) != want[k].as_double(i)))
            << f.params[k].buffer->name << "[" << i << "] is " << args[k].as_double(i) << ", want "
            << want[k].as_double(i) << " with symbols " << testing::PrintToString(symbols) << "\n"
            << compiled_->file().text.substr(
                   compiled_->file().text.find("int32_t " +
                                               compiled_->file().entries[GetParam()].name + "("),
                   3000);
  }
}

INSTANTIATE_TEST_SUITE_P(Final, Programs, testing::Range<size_t>(0, programs().size()),
                         [](const auto& p) { return std::string(programs()[p.param].name); });

}  // namespace
}  // namespace tilewright::target::c_source
