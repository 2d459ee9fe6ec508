// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/prepack.h"

#include <algorithm>
#include <unordered_set>

#include "ir/build.h"
#include "ir/func.h"
#include "ir/rewrite.h"

namespace tilewright::tune {
namespace {

using ir::Buffer;
using ir::Stmt;
using Buffers = std::unordered_set<Buffer>;

struct Touched {
  Buffers read, written;
  explicit Touched(const Stmt& s) {
    ir::walk(
        s, [&](const ir::Load& l) { read.insert(l.buffer); },
        [&](const ir::Store& st) { written.insert(st.buffer); },
        [&](const ir::Update& u) {
          for (const ir::Target& t : u.targets) written.insert(t.buffer);
        },
        [&](const ir::Atomic& a) { written.insert(a.buffer); },
        [&](const ir::InstrCall& c) {
          for (size_t i = 0; i < c.operands.size(); ++i) {
            const ir::Access access = c.instr->operands[i].access;
            if (access != ir::Access::Out) read.insert(c.operands[i].buffer);
            if (access != ir::Access::In) written.insert(c.operands[i].buffer);
          }
        });
    ir::walk(s, [&](const ir::Alloc& a) {  // its own, and gone when it ends
      read.erase(a.buffer);
      written.erase(a.buffer);
    });
  }
};

/// The statements under the allocations and sequences of a body, in order.
void statements(const Stmt& s, std::vector<Stmt>& out, Buffers& allocated) {
  if (const auto* a = s.as<ir::Alloc>()) {
    allocated.insert(a->buffer);
    statements(a->body, out, allocated);
  } else if (const auto* seq = s.as<ir::Seq>()) {
    for (const Stmt& c : seq->stmts) statements(c, out, allocated);
  } else {
    out.push_back(s);
  }
}

Stmt without(const Stmt& s, const std::vector<Stmt>& gone, const Buffers& packed) {
  if (std::ranges::find(gone, s) != gone.end()) return ir::nothing();
  if (const auto* a = s.as<ir::Alloc>()) {
    const Stmt body = without(a->body, gone, packed);
    if (packed.contains(a->buffer)) return body;
    return ir::with(*a, [&](ir::Alloc& n) { n.body = body; });
  }
  const auto* seq = s.as<ir::Seq>();
  if (!seq) return s;
  std::vector<Stmt> rest;
  for (const Stmt& c : seq->stmts) rest.push_back(without(c, gone, packed));
  return ir::seq(std::move(rest), seq->span);
}

/// The parameters that `body` reads, then the packed ones.
std::vector<ir::Param> read_by(const Stmt& body, const ir::LoopFunc& func,
                               const std::vector<Buffer>& packed, ir::Access access) {
  const Touched touched(body);
  std::vector<ir::Param> out;
  for (const ir::Param& p : func.params)
    if (p.access == ir::Access::In && touched.read.contains(p.buffer)) out.push_back(p);
  for (const Buffer& b : packed) out.push_back({b, access});
  return out;
}

}  // namespace

Prepacked prepack(const ir::LoopFunc& func, const std::vector<std::string>& constants) {
  Buffers known, allocated;
  for (const ir::Param& p : func.params)
    if (std::ranges::find(constants, p.buffer->name) != constants.end()) known.insert(p.buffer);
  std::vector<Stmt> all, taken;
  statements(func.body, all, allocated);
  Prepacked out{.prepare = func, .run = func, .packed = {}};
  for (const Stmt& s : all) {
    const Touched t(s);
    const auto fixed = [&](const Buffer& b) { return known.contains(b) || t.written.contains(b); };
    const auto alone = [&](const Buffer& b) {
      return allocated.contains(b) &&
             std::ranges::all_of(b->shape,
                                 [](const ir::Expr& e) { return ir::const_int(e).has_value(); }) &&
             std::ranges::all_of(all, [&](const Stmt& other) {
               return other == s || !Touched(other).written.contains(b);
             });
    };
    const bool sized = std::ranges::none_of(
        func.symbols, [&](const ir::Symbol& symbol) { return ir::uses(s, symbol.var); });
    // What reads nothing at all is cheaper computed than kept.
    const bool reads =
        std::ranges::any_of(t.read, [&](const Buffer& b) { return known.contains(b); });
    if (!sized || !reads || t.written.empty() || !std::ranges::all_of(t.read, fixed) ||
        !std::ranges::all_of(t.written, alone))
      continue;
    taken.push_back(s);
    for (const Buffer& b : t.written) {
      known.insert(b);
      out.packed.push_back(b);
    }
  }
  if (out.packed.empty()) return out;
  out.prepare.name += "_prepare";
  out.prepare.symbols.clear();
  out.prepare.body = ir::seq(taken);
  out.run.body = without(func.body, taken, {out.packed.begin(), out.packed.end()});
  const Touched run(out.run.body);
  for (const Buffer& b : out.packed)
    if (!run.read.contains(b)) out.prepare.body = ir::make_stmt<ir::Alloc>({}, b, out.prepare.body);
  std::erase_if(out.packed, [&](const Buffer& b) { return !run.read.contains(b); });
  // Not all of a panel is written where it is wider than what is left.
  out.prepare.params = read_by(out.prepare.body, func, out.packed, ir::Access::InOut);
  out.run.params = read_by(out.run.body, func, out.packed, ir::Access::In);
  for (const ir::Param& p : func.params)  // also results without elements, which nothing writes
    if (p.access != ir::Access::In) out.run.params.push_back(p);
  return out;
}

}  // namespace tilewright::tune
