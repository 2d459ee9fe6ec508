// SPDX-License-Identifier: Apache-2.0
#include "chunks.h"

#include "ir/build.h"
#include "ir/rewrite.h"
#include "support/diagnostic.h"

namespace bench {

using namespace tilewright;

std::vector<Chunk> cut_into_chunks(const ir::LoopFunc& func, int64_t pieces) {
  std::vector<ir::Param> params = func.params;
  ir::Stmt body = func.body;
  while (const auto* alloc = body.as<ir::Alloc>()) {
    params.push_back({alloc->buffer, ir::Access::InOut});
    body = alloc->body;
  }
  std::vector<ir::Stmt> loops = {body};
  if (const auto* all = body.as<ir::Seq>()) loops = all->stmts;
  std::vector<Chunk> out;
  for (const ir::Stmt& s : loops) {
    const auto* loop = s.as<ir::For>();
    require(loop && ir::const_int(loop->extent), "the benchmark cuts nests of constant loops");
    int64_t count = std::min(pieces, *ir::const_int(loop->extent));
    while (*ir::const_int(loop->extent) % count != 0) --count;
    const int64_t each = *ir::const_int(loop->extent) / count;
    const ir::Var chunk("chunk");
    ir::LoopFunc part = func.with_body(ir::with(*loop, [&](ir::For& f) {
      f.min = loop->min + chunk * each;
      f.extent = each;
    }));
    part.params = params;
    part.symbols.push_back({.var = chunk, .min = 0, .max = count - 1});
    out.push_back({std::move(part), count});
  }
  return out;
}

}  // namespace bench
