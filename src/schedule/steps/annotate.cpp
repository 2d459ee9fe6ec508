// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/lex.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {

Results Annotate::apply(Program& program) const {
  const ir::Stmt at = program.loop_or_block(target);
  if (!ir::is_name(key))
    throw Error({.code = "schedule.annotate.key",
                 .message = str("cannot annotate `%", target.name, "` with ", ir::quoted(key)),
                 .notes = {"the name of a hint consists of letters, digits and `_`"},
                 .help = "choose another name"});
  const ir::Hint hint{key, value.text.empty() ? program.value(value.number) : 0, value.text};
  const auto annotated = [&](const auto& node) {
    return ir::with(node, [&](auto& n) {
      const auto same = std::find_if(n.hints.begin(), n.hints.end(),
                                     [&](const ir::Hint& h) { return h.key == key; });
      if (same == n.hints.end())
        n.hints.push_back(hint);
      else
        *same = hint;
    });
  };
  const auto* loop = at.as<ir::For>();
  program.replace(at, loop ? annotated(*loop) : annotated(*at.as<ir::Block>()));
  return {};
}

}  // namespace tilewright::schedule
