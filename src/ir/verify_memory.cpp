// SPDX-License-Identifier: Apache-2.0
// Parameters, shapes, sizes, and allocations that fit the scope of their memory.
#include <algorithm>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/sharing.h"
#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir::detail {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 47;
constexpr int64_t kMaxUnrolled = 1'000'000;

/// The product of the constant extents, held at kMaxBytes * 8 + 1 when it would be greater.
int64_t bounded_product(const std::vector<int64_t>& extents, int64_t start) {
  __int128 product = start;
  for (const int64_t e : extents) {
    if (e == 0) return 0;
    product = std::min<__int128>(product * e, static_cast<__int128>(kMaxBytes) * 8 + 1);
  }
  return static_cast<int64_t>(product);
}

/// Extents are free of loads and not negative; the size in bytes is bounded where it is constant.
void check_size(const BufferNode& b, const std::vector<Expr>& extents, std::string_view what,
                const Span& at) {
  std::vector<int64_t> constants;
  for (const Expr& e : extents) {
    if (has_load(e))
      fail("ir.verify.shape", at, str("an extent of ", what, " ", quoted(b.name), " reads memory"),
           {"the shape of a buffer does not change while it lives"},
           "bind the value by `let` before the allocation and use that");
    const std::optional<int64_t> n = const_int(e);
    if (!n) continue;
    if (*n < 0)
      fail("ir.verify.size", at, str("an extent of ", what, " ", quoted(b.name), " is ", *n), {},
           "use an extent of 0 or more");
    constants.push_back(*n);
  }
  // A product of some extents bounds the size from below only when no other extent can be 0.
  if (constants.size() == extents.size() &&
      bounded_product(constants, bits(b.elem)) > kMaxBytes * 8)
    fail("ir.verify.size", at, str("buffer ", quoted(b.name), " is larger than 2^47 bytes"),
         {str("an element takes ", bits(b.elem), " bits")}, "use smaller extents");
}

void check_buffer(const BufferNode& b, const Span& at, const std::vector<Symbol>& symbols) {
  check_size(b, b.shape, "buffer", at);
  if (b.alignment < 0 || (b.alignment & (b.alignment - 1)) != 0)
    fail("ir.verify.shape", at,
         str("buffer ", quoted(b.name), " is aligned to ", b.alignment, " bytes"), {},
         "use a power of two");
  if (!b.layout) return;
  std::vector<Expr> physical;
  for (const PhysDim& dim : b.layout->dims) physical.push_back(dim.extent);
  check_size(b, physical, "the layout of", at);
  verify_layout(b, symbols);
}

void check_symbol(const Symbol& s, const Span& at) {
  const std::string name = quoted(s.var.name());
  const Span& where = place(s.var->span, at);
  if (s.min > s.max || s.divisor < 1)
    fail("ir.verify.symbol", where,
         str("symbol ", name, " ranges over ", s.min, "..", s.max, " in steps of ", s.divisor), {},
         "state min <= max and a divisor of at least 1");
  if (s.max / s.divisor * s.divisor < s.min)
    fail("ir.verify.symbol", where,
         str("no multiple of ", s.divisor, " lies in the range ", s.min, "..", s.max, " of symbol ",
             name),
         {}, "widen the range, or use another divisor");
  for (const int64_t v : s.likely)
    if (v < s.min || v > s.max || v % s.divisor != 0)
      fail("ir.verify.symbol", where,
           str("symbol ", name, " is likely to be ", v, ", which its range or divisor excludes"),
           {}, "list values that the symbol can have");
}

void check_param(const Param& p, const Span& at) {
  const BufferNode& b = *p.buffer;
  if (b.scope.kind != ScopeKind::Global && b.scope.kind != ScopeKind::Constant)
    fail("ir.verify.param", at,
         str("parameter ", quoted(b.name), " lives in scope `", print(b.scope), "`"),
         {"a caller's memory is `global` or `constant`"},
         "leave the scope out, and copy into a buffer of that scope");
  if (b.scope.kind == ScopeKind::Constant && p.access != Access::In)
    fail("ir.verify.param", at,
         str("parameter ", quoted(b.name), " is `", name(p.access), "` but `constant`"), {},
         "make it an `in` parameter, or `global`");
}

void check_written(const Use& use, const std::unordered_map<const BufferNode*, Access>& params) {
  if (!use.writes) return;
  const auto param = params.find(use.buffer);
  if (param != params.end() && param->second == Access::In)
    fail("ir.verify.access", use.at,
         str("parameter ", quoted(use.buffer->name), " is written but declared `in`"), {},
         "declare it `out` or `inout`, or write another buffer");
  if (use.buffer->scope.kind == ScopeKind::Constant)
    fail("ir.verify.access", use.at,
         str("buffer ", quoted(use.buffer->name), " is written but lives in `constant`"), {},
         "use another scope");
}

/// The loop or agent between an allocation and a use that gives each of its iterations memory of
/// this scope of its own; null when there is none.
const Around* crossed(const BufferNode& b, const Path& path, size_t from) {
  const ScopeKind scope = b.scope.kind;
  for (size_t i = from; i < path.size(); ++i) {
    const For* loop = path[i].stmt.as<For>();
    const bool bound = loop && loop->loop == ForKind::Bound && scope != ScopeKind::Named;
    if (bound && is_own(b, *loop)) return &path[i];
    if (path[i].agent && (scope == ScopeKind::Register || scope == ScopeKind::Tile))
      return &path[i];
  }
  return nullptr;
}

void check_use(const Use& use, const Path& path) {
  if (use.rank) {
    if (use.buffer->scope.kind != ScopeKind::Shared)
      fail("ir.verify.rank", use.at,
           str(quoted(use.buffer->name), " lives in `", print(use.buffer->scope),
               "`, so that no other block's instance can be named"),
           {}, "only `shared` buffers of a cluster's blocks are named by `@`");
    const bool in_cluster = std::any_of(path.begin(), path.end(), [](const Around& a) {
      const For* loop = a.stmt.as<For>();
      return loop && loop->loop == ForKind::Bound && is_cluster(loop->axis);
    });
    if (!in_cluster)
      fail("ir.verify.rank", use.at,
           str("another block's ", quoted(use.buffer->name), " is named outside of a cluster"), {},
           "put the access into a loop bound to `cluster.x`");
  }
  for (size_t i = path.size(); i-- > 0;) {
    const Alloc* alloc = path[i].stmt.as<Alloc>();
    if (!alloc || alloc->buffer.get() != use.buffer) continue;
    if (const Around* between = crossed(*use.buffer, path, i + 1)) {
      const std::string inner =
          between->agent ? str("agent ", quoted(between->agent->name)) : describe(between->stmt);
      fail("ir.verify.alloc_scope", use.at,
           str("buffer ", quoted(use.buffer->name), " of scope `", print(use.buffer->scope),
               "` is used inside of ", inner, " but allocated outside"),
           {"one allocation makes one instance, which several would have to share"},
           str("allocate it inside of ", inner, ", or in a wider scope"));
    }
    return;
  }
}

/// Loops marked `unrolled` inside one another multiply.
void check_unroll(const For& loop, const Path& path) {
  if (loop.loop != ForKind::Unrolled) return;
  __int128 copies = const_int(loop.extent).value_or(1);
  for (const Around& around : path) {
    const For* outer = around.stmt.as<For>();
    if (outer && outer->loop == ForKind::Unrolled)
      copies = std::min<__int128>(copies, kMaxUnrolled + 1) *
               std::max<int64_t>(const_int(outer->extent).value_or(1), 0);
  }
  if (copies > kMaxUnrolled)
    fail("ir.verify.unroll", loop.span,
         str("unrolling loop ", quoted(loop.var.name()), " would make more than ", kMaxUnrolled,
             " copies of its body"),
         {}, "split the loop and unroll the inner part only");
}

}  // namespace

void verify_memory(const LoopFunc& func, bool instruction) {
  for (const Symbol& s : func.symbols) check_symbol(s, func.span);
  std::unordered_map<const BufferNode*, Access> params;
  for (const Param& p : func.params) {
    const Span& at = place(p.buffer->span, func.span);
    if (!instruction) check_param(p, at);
    check_buffer(*p.buffer, at, func.symbols);
    params.emplace(p.buffer.get(), p.access);
  }
  walk_paths(func.body, [&](const Stmt& s, const Path& path) {
    if (const Alloc* alloc = s.as<Alloc>())
      check_buffer(*alloc->buffer, place(alloc->buffer->span, s->span), func.symbols);
    if (const For* loop = s.as<For>()) check_unroll(*loop, path);
    for_each_use(s, [&](const Use& use) {
      check_written(use, params);
      check_use(use, path);
    });
  });
}

}  // namespace tilewright::ir::detail
