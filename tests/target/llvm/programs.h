// SPDX-License-Identifier: Apache-2.0
// Programs of stage `final` that several tests of the back end use.
#pragma once

#include <string>
#include <vector>

#include "ir/build.h"
#include "ir/func.h"

namespace tilewright::target::llvm {

inline ir::Buffer array(std::string name, ir::Elem elem, ir::Expr elements) {
  return ir::make_buffer(std::move(name), elem, {std::move(elements)});
}

inline ir::Expr ramp(const ir::Expr& base, int lanes, int64_t stride = 1) {
  return ir::make<ir::Ramp>({}, base, ir::Expr(stride), lanes);
}

inline ir::Stmt store(const ir::Buffer& buffer, const ir::Expr& index, const ir::Expr& value,
                      const ir::Expr& mask = {}) {
  return ir::make_stmt<ir::Store>({}, buffer, std::vector<ir::Expr>{index}, value, mask);
}

inline ir::Stmt loop(const ir::Var& var, const ir::Expr& extent, const ir::Stmt& body,
                     ir::ForKind kind = ir::ForKind::Serial) {
  return ir::make_stmt<ir::For>({}, var, ir::Expr(0), extent, body, kind);
}

inline ir::LoopFunc final_func(std::string name, std::vector<ir::Param> params, ir::Stmt body,
                               std::vector<ir::Symbol> symbols = {}) {
  return {std::move(name), std::move(symbols), std::move(params),
          std::move(body), ir::Stage::Final,   {}};
}

/// C[m, n] = A[m, k] * B, where B is packed as [n / tile_n][k][tile_n]. Each tile of C is
/// accumulated in registers, one vector of `lanes` elements at a time; A is broadcast.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t tile_m = 0, tile_n = 0;
  int lanes = 0;
  int64_t unroll = 1;
  ir::ForKind outer = ir::ForKind::Serial;
};

inline ir::LoopFunc matmul(const MatmulShape& s) {
  using namespace ir;
  const Buffer a = make_buffer("a", Elem::F32, {s.m * s.k}, {}, nullptr, 64);
  const Buffer b = make_buffer("b", Elem::F32, {s.k * s.n}, {}, nullptr, 64);
  const Buffer c = make_buffer("c", Elem::F32, {s.m * s.n}, {}, nullptr, 64);
  const Buffer acc =
      make_buffer("acc", Elem::F32, {s.tile_m * s.tile_n}, {ScopeKind::Register, ""});
  const Var jo("jo"), io("io"), k("k");
  const int64_t vectors = s.tile_n / s.lanes;
  const auto place = [&](int64_t i, int64_t j) {
    return ramp(i * s.tile_n + j * s.lanes, s.lanes);
  };
  std::vector<Stmt> clear, step, write;
  for (int64_t i = 0; i < s.tile_m; ++i)
    for (int64_t j = 0; j < vectors; ++j) {
      clear.push_back(store(acc, place(i, j), broadcast(float_imm(Elem::F32, 0), s.lanes)));
      const Expr at = (Expr(io) * s.tile_m + i) * s.n + Expr(jo) * s.tile_n + j * s.lanes;
      write.push_back(store(c, ramp(at, s.lanes), load(acc, {place(i, j)})));
    }
  for (int64_t u = 0; u < s.unroll; ++u) {
    const Expr kk = Expr(k) * s.unroll + u;
    for (int64_t i = 0; i < s.tile_m; ++i)
      for (int64_t j = 0; j < vectors; ++j) {
        const Expr x = broadcast(load(a, {(Expr(io) * s.tile_m + i) * s.k + kk}), s.lanes);
        const Expr y = load(b, {ramp((Expr(jo) * s.k + kk) * s.tile_n + j * s.lanes, s.lanes)});
        step.push_back(store(acc, place(i, j), load(acc, {place(i, j)}) + x * y));
      }
  }
  Stmt tile = seq({seq(clear), loop(k, s.k / s.unroll, seq(step)), seq(write)});
  tile = make_stmt<Alloc>({}, acc, tile);
  const Stmt body = loop(jo, s.n / s.tile_n, loop(io, s.m / s.tile_m, tile), s.outer);
  return final_func("matmul", {{a, Access::In}, {b, Access::In}, {c, Access::Out}}, body);
}

}  // namespace tilewright::target::llvm
