// SPDX-License-Identifier: Apache-2.0
// Hardware instructions as data: what each means, where its operands lie, and the machines that
// have it. What `emit` names is in target/llvm/intrinsics.h; without it a call is lowered as its
// meaning, which is then vectorised code.
#include "target/instructions.h"

#include "ir/parse.h"
#include "ir/verify.h"
#include "support/str.h"

namespace tilewright::target {
namespace {

using ir::Instruction;
using ir::Isa;
using ir::IsaSet;

struct Shipped {
  IsaSet any_of;
  Instruction instruction;
};

/// c[y, x] += a[y] * b[x], a row at a time; the accumulators are registers.
std::string outer_product(int rows, int columns) {
  const std::string body =
      str("{ unrolled for y in 0..", rows, " { vectorized for x in 0..", columns, " { c[y, x] ");
  return str("instr outer_f32_", rows, "x", columns, "(c: inout f32[", rows, ", ", columns,
             "] register, a: in f32[", rows, "], b: in f32[", columns, "]) {\n  compute ", body,
             "= a[y] * b[x] } } }\n  reset ", body, "= 0.0 } } }\n  update ", body,
             "sum= a[y] * b[x] } } }\n}\n");
}

/// c[n] += Σ_k term(a[k], b[n, k]) with `group` values of k: a group of `a` for all lanes, the
/// groups of `b` side by side.
struct Dot {
  const char* name;
  int lanes, group;
  const char *c, *a, *b, *zero, *term, *emit;
};
std::string dot_product(const Dot& d) {
  const std::string lanes = str("for n in 0..", d.lanes, " { ");
  const std::string reset = str(lanes, "c[n] = ", d.zero, " }");
  const std::string update = str(lanes, "for k in 0..", d.group, " { c[n] sum= ", d.term, " } }");
  return str("instr ", d.name, "(c: inout ", d.c, "[", d.lanes, "] register, a: in ", d.a, "[",
             d.group, "], b: in ", d.b, "[", d.lanes, ", ", d.group,
             "] layout (n, k) -> [address: n*", d.group, " + k] extents [", d.lanes * d.group,
             "]) emit \"", d.emit, "\" {\n  compute { ", reset, "  ", update, " }\n  reset { ",
             reset, " }\n  update { ", update, " }\n}\n");
}

constexpr const char* kBytes = "i32(a[k]) * i32(b[n, k])";
constexpr const char* kBf16 = "f32(a[k]) * f32(b[n, k])";
constexpr const char* kBits = "i32(popcount(a[k] & b[n, k]))";

/// A tile register is 16 rows of 64 bytes; `row` is the shape of one row.
std::string tile_moves(const char* name, const char* elem, const char* zero,
                       const std::vector<int>& row) {
  std::string shape = "16", index = "i", loops = "for i in 0..16 { ", ends = " }";
  for (size_t d = 0; d < row.size(); ++d) {
    shape += str(", ", row[d]);
    index += str(", j", d);
    loops += str("for j", d, " in 0..", row[d], " { ");
    ends += " }";
  }
  const std::string tile = str(elem, "[", shape, "] tile"), memory = str(elem, "[", shape, "]");
  const std::string t = str("t[", index, "]"), m = str("m[", index, "]");
  return str("instr amx_load_", name, "(t: out ", tile, ", m: in ", memory,
             ") emit \"tileloadd\" { compute { ", loops, t, " = ", m, ends, " } }\n",
             "instr amx_store_", name, "(m: out ", memory, ", t: in ", tile,
             ") emit \"tilestored\" { compute { ", loops, m, " = ", t, ends, " } }\n",
             "instr amx_zero_", name, "(t: out ", tile, ") emit \"tilezero\" { compute { ", loops,
             t, " = ", zero, ends, " } }\n");
}

/// c[m, n] += Σ_k a[m, k] * b[k / group, n, k % group]
std::string tile_product(const char* name, const char* c, const char* a, const char* b, int group,
                         const char* zero, const char* emit) {
  const std::string rows = "for m in 0..16 { for n in 0..16 { ";
  const std::string reset = str(rows, "c[m, n] = ", zero, " } }");
  const std::string update =
      str(rows, "for k in 0..", 16 * group, " { c[m, n] sum= ", c, "(a[m, k]) * ", c, "(b[k / ",
          group, ", n, k % ", group, "]) } } }");
  return str("instr ", name, "(c: inout ", c, "[16, 16] tile, a: in ", a, "[16, ", 16 * group,
             "] tile, b: in ", b, "[16, 16, ", group, "] tile) emit \"", emit, "\" {\n  compute { ",
             reset, "  ", update, " }\n  reset { ", reset, " }\n  update { ", update, " }\n}\n");
}

std::vector<Shipped> make_all() {
  std::vector<Shipped> all;
  const auto add = [&](IsaSet any_of, const std::string& text) {
    for (const Instruction& i : ir::parse(text, "shipped instructions").instructions) {
      ir::verify(*i);
      all.push_back({any_of, i});
    }
  };
  add(Isa::Avx2, outer_product(6, 16));
  add(Isa::Avx512, outer_product(14, 32));
  add(Isa::Neon, outer_product(8, 12));

  const auto dot = [&](IsaSet any_of, const Dot& d) { add(any_of, dot_product(d)); };
  dot(Isa::Avx512Vnni, {"dot_u8i8_16", 16, 4, "i32", "u8", "i8", "0:i32", kBytes, "vpdpbusd"});
  dot(Isa::Avx512Vnni | Isa::AvxVnni,
      {"dot_u8i8_8", 8, 4, "i32", "u8", "i8", "0:i32", kBytes, "vpdpbusd"});
  dot(Isa::Avx2, {"dot_u8i8_avx2", 8, 4, "i32", "u8", "i8", "0:i32", kBytes, "dot_u8i8_avx2"});
  dot(Isa::Avx512Bf16, {"dot_bf16_16", 16, 2, "f32", "bf16", "bf16", "0.0", kBf16, "vdpbf16ps"});
  dot(Isa::Avx512Bf16, {"dot_bf16_8", 8, 2, "f32", "bf16", "bf16", "0.0", kBf16, "vdpbf16ps"});
  dot(Isa::NeonDot, {"dot_i8i8_4", 4, 4, "i32", "i8", "i8", "0:i32", kBytes, "sdot"});
  dot(Isa::NeonDot, {"dot_u8u8_4", 4, 4, "i32", "u8", "u8", "0:i32", kBytes, "udot"});
  dot(Isa::NeonI8mm, {"dot_u8i8_4", 4, 4, "i32", "u8", "i8", "0:i32", kBytes, "usdot"});
  dot(Isa::Avx512Popcnt, {"dot_bits_16", 16, 4, "i32", "u8", "u8", "0:i32", kBits, "and_popcount"});
  dot(Isa::Avx2, {"dot_bits_8", 8, 4, "i32", "u8", "u8", "0:i32", kBits, "and_popcount"});
  dot(Isa::Neon, {"dot_bits_4", 4, 4, "i32", "u8", "u8", "0:i32", kBits, "and_popcount"});

  add(Isa::AmxBf16, tile_moves("bf16", "bf16", "0:bf16", {32}));
  add(Isa::AmxBf16, tile_moves("bf16_pairs", "bf16", "0:bf16", {16, 2}));
  add(Isa::AmxBf16, tile_moves("f32", "f32", "0.0", {16}));
  add(Isa::AmxInt8, tile_moves("i32", "i32", "0:i32", {16}));
  for (const char* elem : {"i8", "u8"}) {
    add(Isa::AmxInt8, tile_moves(elem, elem, str("0:", elem).c_str(), {64}));
    add(Isa::AmxInt8,
        tile_moves(str(elem, "_quads").c_str(), elem, str("0:", elem).c_str(), {16, 4}));
  }
  add(Isa::AmxBf16, tile_product("amx_bf16", "f32", "bf16", "bf16", 2, "0.0", "tdpbf16ps"));
  add(Isa::AmxInt8, tile_product("amx_i8i8", "i32", "i8", "i8", 4, "0:i32", "tdpbssd"));
  add(Isa::AmxInt8, tile_product("amx_i8u8", "i32", "i8", "u8", 4, "0:i32", "tdpbsud"));
  add(Isa::AmxInt8, tile_product("amx_u8i8", "i32", "u8", "i8", 4, "0:i32", "tdpbusd"));
  add(Isa::AmxInt8, tile_product("amx_u8u8", "i32", "u8", "u8", 4, "0:i32", "tdpbuud"));
  return all;
}

}  // namespace

std::vector<Instruction> instructions_for(IsaSet isa) {
  static const std::vector<Shipped> all = make_all();
  std::vector<Instruction> out;
  for (const Shipped& s : all)
    if (isa.meets(s.any_of)) out.push_back(s.instruction);
  return out;
}

}  // namespace tilewright::target
