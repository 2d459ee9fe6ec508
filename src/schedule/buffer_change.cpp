// SPDX-License-Identifier: Apache-2.0
#include "schedule/buffer_change.h"

#include <algorithm>

#include "ir/build.h"

namespace tilewright::schedule {

using ir::Stmt;

Stmt with_change(const Stmt& body, const BufferChange& change) {
  const ir::Buffer &old = change.old, &now = change.now;
  bool fixed = false;
  const auto changed = [&](std::vector<ir::Region> regions) {
    for (ir::Region& r : regions)
      if (r.buffer == old) r = {now, change.ranges(r.ranges), r.rank};
    return regions;
  };
  const Stmt out = ir::rewrite(
      body,
      [&](const ir::Load& l, auto& self) -> ir::Expr {
        const ir::Expr inner = self.children(l);
        const auto* load = inner.as<ir::Load>();
        if (load->buffer != old) return inner;
        return ir::make<ir::Load>(l.span, now, change.index(load->indices), load->mask, load->rank);
      },
      [&](const ir::Store& s, auto& self) -> Stmt {
        const Stmt inner = self.children(s);
        if (s.buffer != old) return inner;
        return ir::with(*inner.as<ir::Store>(), [&](ir::Store& n) {
          n.buffer = now;
          n.indices = change.index(n.indices);
        });
      },
      [&](const ir::Update& u, auto& self) -> Stmt {
        const Stmt inner = self.children(u);
        const auto touches = [&](const ir::Target& t) { return t.buffer == old; };
        if (std::none_of(u.targets.begin(), u.targets.end(), touches)) return inner;
        return ir::with(*inner.as<ir::Update>(), [&](ir::Update& n) {
          for (ir::Target& t : n.targets)
            if (t.buffer == old) t = {now, change.index(t.indices)};
        });
      },
      [&](const ir::Block& blk, auto& self) -> Stmt {
        const Stmt inner = self.children(blk);
        return ir::with(*inner.as<ir::Block>(), [&](ir::Block& n) {
          n.reads = changed(n.reads);
          n.writes = changed(n.writes);
        });
      },
      [&](const ir::Alloc& a, auto& self) -> Stmt {
        const Stmt inner = self(a.body);
        return ir::with(a, [&](ir::Alloc& n) {
          n.body = inner;
          if (a.buffer == old) n.buffer = now;
        });
      },
      [&](const ir::InstrCall& c, auto& self) -> Stmt {
        for (const ir::Region& r : c.operands) fixed = fixed || r.buffer == old;
        return self.children(c);
      },
      [&](const ir::Atomic& a, auto& self) -> Stmt {
        fixed = fixed || a.buffer == old || a.old == old;
        return self.children(a);
      },
      [&](const ir::Prefetch& p, auto& self) -> Stmt {
        fixed = fixed || p.buffer == old;
        return self.children(p);
      });
  return fixed ? Stmt() : out;
}

ir::Buffer buffer_of(const ir::Block& block, const std::string& name) {
  for (const auto* regions : {&block.writes, &block.reads})
    for (const ir::Region& r : *regions)
      if (r.buffer->name == name) return r.buffer;
  return nullptr;
}

}  // namespace tilewright::schedule
