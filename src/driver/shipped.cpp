// SPDX-License-Identifier: Apache-2.0
#include "driver/shipped.h"

#include <algorithm>
#include <sstream>

#include "driver/embedded.h"
#include "support/str.h"
#include "tune/measure/task.h"

namespace tilewright::driver {

std::string_view shipped_lines() {
  return {tw_embedded_records_begin,
          static_cast<size_t>(tw_embedded_records_end - tw_embedded_records_begin)};
}

std::shared_ptr<tune::Records> records_for(std::span<const ir::TargetSpec> targets,
                                           std::string_view lines) {
  const bool any = std::ranges::any_of(targets, [&](const ir::TargetSpec& t) {
    return lines.find(str("\"", tune::target_text(t), "\"")) != std::string_view::npos;
  });
  if (!any) return {};
  auto out = std::make_shared<tune::Records>(":memory:", tune::Database::Mode::Create);
  std::istringstream in{std::string(lines)};
  const tune::Imported imported = tune::import_lines(*out, in);
  require(imported.problems.empty(), "the compiler's own records cannot be read");
  return out;
}

}  // namespace tilewright::driver
