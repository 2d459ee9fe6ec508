// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "schedule/buffer_change.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

/// Whoever is not an instruction must run on the thread that holds the element, which nobody checks
/// here.
bool only_instructions_use(const ir::Stmt& body, const ir::Buffer& buffer) {
  bool only = true;
  ir::walk(
      body, [&](const ir::Load& l) { only = only && l.buffer != buffer; },
      [&](const ir::Store& s) { only = only && s.buffer != buffer; },
      [&](const ir::Atomic& a) { only = only && a.buffer != buffer && a.old != buffer; },
      [&](const ir::Update& u) {
        for (const ir::Target& t : u.targets) only = only && t.buffer != buffer;
      });
  return only;
}

bool has_threads(const ir::Stmt& body) {
  bool found = false;
  ir::walk(body, [&](const ir::For& l) {
    found = found || (l.loop != ir::ForKind::Serial && l.loop != ir::ForKind::Unrolled);
  });
  return found;
}

}  // namespace

Results SetLayout::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  require_outside_of_blocks(program, b, name);
  const ir::Buffer old = buffer_of(b, buffer);
  const auto refuse = [&](const char* code, const std::string& note, const std::string& help) {
    throw Error({.code = code,
                 .message = str("cannot give `", buffer, "` this layout"),
                 .notes = {note},
                 .help = help});
  };
  if (!old)
    refuse("schedule.set_layout.buffer", str("block `", b.name, "` touches no buffer of that name"),
           "name one of its buffers");
  if (param_of(program.func(), old))
    refuse("schedule.set_layout.buffer", "it is a parameter: its layout is agreed with the caller",
           "use cache_read or cache_write and set the copy's layout");
  require(static_cast<bool>(layout), "set_layout without a layout");
  if (static_cast<int>(layout->indices.size()) != old->rank())
    refuse("schedule.set_layout.rank",
           str("it has ", old->rank(), " dimensions, the layout ", layout->indices.size()),
           "name as many indices as the buffer has");
  for (const ir::PhysDim& dim : layout->dims) {
    if (!ir::const_int(dim.extent))
      refuse("schedule.set_layout.extent",
             str("the extent ", print(dim.extent), " of a place is not a constant"),
             "set the layout of a tile whose size is known");
    if (dim.kind == ir::PhysKind::Lane && !only_instructions_use(program.func().body, old))
      refuse("schedule.set_layout.lane", "statements other than instructions use it",
             "spread a buffer over lanes only when instructions alone use it");
  }
  // Neighbours of less than a byte may share one, and which are neighbours changes.
  if (ir::bits(old->elem) < 8 && has_threads(program.func().body))
    refuse("schedule.set_layout.packed",
           str("its elements are smaller than a byte, and iterations run concurrently"),
           "keep it row-major, or give it elements of at least a byte");
  const ir::Buffer now = ir::make_buffer(old->name, old->elem, old->shape, old->scope, layout,
                                         old->alignment, old->span);
  try {
    ir::verify(*now, program.func().symbols);
  } catch (const Error& e) {
    refuse("schedule.set_layout.places", e.diagnostic.message, e.diagnostic.help);
  }
  program.set_body(ir::substitute_buffers(program.func().body, {{old, now}}));
  return {};
}

}  // namespace tilewright::schedule
