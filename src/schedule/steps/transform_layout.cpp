// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {

/// alloc B: f32[k, n]           B[kk, x]                      by (k, n) -> [n / 32, k, n % 32]
///   ->  alloc B: f32[ceil(n/32), k, 32]    B[x / 32, kk, x % 32]
Results TransformLayout::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  ir::Buffer old;
  for (const auto* regions : {&b.writes, &b.reads})
    for (const ir::Region& r : *regions)
      if (r.buffer->name == buffer) old = r.buffer;
  const auto refuse = [&](const std::string& note, const std::string& help) {
    throw Error({.code = "schedule.transform_layout.buffer",
                 .message = str("cannot change the layout of `", buffer, "`"),
                 .notes = {note},
                 .help = help});
  };
  if (!old)
    refuse(str("block `", b.name, "` touches no buffer of that name"), "name one of its buffers");
  if (param_of(program.func(), old))
    refuse("it is a parameter: its layout is agreed with the caller",
           "use cache_read or cache_write and change the copy's layout");
  if (old->layout) refuse("it has a layout function already", "change the layout once");
  if (map.vars.size() != old->shape.size())
    refuse(str("it has ", old->rank(), " dimensions, the map ", map.vars.size()),
           "name as many indices as the buffer has");
  const std::vector<Digit> digits = digits_of(map, name);
  const ir::Buffer now = ir::make_buffer(old->name, old->elem, mapped_shape(digits, old->shape),
                                         old->scope, nullptr, old->alignment, old->span);
  const auto changed = [&](std::vector<ir::Region> regions) {
    for (ir::Region& r : regions)
      if (r.buffer == old) r = {now, mapped_ranges(digits, r.ranges), r.rank};
    return regions;
  };
  const auto refuse_use = [&]() {
    refuse("a statement that cannot be changed uses it", "use it before tensorize");
  };
  const ir::Stmt body = ir::rewrite(
      program.func().body,
      [&](const ir::Load& l, auto& self) -> ir::Expr {
        const ir::Expr inner = self.children(l);
        const auto* load = inner.as<ir::Load>();
        if (load->buffer != old) return inner;
        return ir::make<ir::Load>(l.span, now, map.at(load->indices), load->mask, load->rank);
      },
      [&](const ir::Store& s, auto& self) -> ir::Stmt {
        const ir::Stmt inner = self.children(s);
        if (s.buffer != old) return inner;
        return ir::with(*inner.as<ir::Store>(), [&](ir::Store& n) {
          n.buffer = now;
          n.indices = map.at(n.indices);
        });
      },
      [&](const ir::Update& u, auto& self) -> ir::Stmt {
        const ir::Stmt inner = self.children(u);
        const auto touches = [&](const ir::Target& t) { return t.buffer == old; };
        if (std::none_of(u.targets.begin(), u.targets.end(), touches)) return inner;
        return ir::with(*inner.as<ir::Update>(), [&](ir::Update& n) {
          for (ir::Target& t : n.targets)
            if (t.buffer == old) t = {now, map.at(t.indices)};
        });
      },
      [&](const ir::Block& blk, auto& self) -> ir::Stmt {
        const ir::Stmt inner = self.children(blk);
        return ir::with(*inner.as<ir::Block>(), [&](ir::Block& n) {
          n.reads = changed(n.reads);
          n.writes = changed(n.writes);
        });
      },
      [&](const ir::Alloc& a, auto& self) -> ir::Stmt {
        const ir::Stmt inner = self(a.body);
        return ir::with(a, [&](ir::Alloc& n) {
          n.body = inner;
          if (a.buffer == old) n.buffer = now;
        });
      },
      [&](const ir::InstrCall& c, auto& self) -> ir::Stmt {
        for (const ir::Region& r : c.operands)
          if (r.buffer == old) refuse_use();
        return self.children(c);
      },
      [&](const ir::Atomic& a, auto& self) -> ir::Stmt {
        if (a.buffer == old) refuse_use();
        return self.children(a);
      });
  program.set_body(body);
  return {};
}

}  // namespace tilewright::schedule
