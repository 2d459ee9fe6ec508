// SPDX-License-Identifier: Apache-2.0
#include "schedule/buffer_change.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {

/// alloc B: f32[k, n]           B[kk, x]                      by (k, n) -> [n / 32, k, n % 32]
///   ->  alloc B: f32[ceil(n/32), k, 32]    B[x / 32, kk, x % 32]
Results TransformLayout::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  const ir::Buffer old = buffer_of(b, buffer);
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
  const auto index = [&](const std::vector<ir::Expr>& indices) { return map.at(indices); };
  const auto ranges = [&](const std::vector<ir::Range>& old_ranges) {
    return mapped_ranges(digits, old_ranges);
  };
  const ir::Stmt body = with_change(program.func().body, {old, now, index, ranges});
  if (!body) refuse("a statement that cannot be changed uses it", "use it before tensorize");
  program.set_body(body);
  return {};
}

}  // namespace tilewright::schedule
