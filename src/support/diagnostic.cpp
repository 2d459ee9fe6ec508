// SPDX-License-Identifier: Apache-2.0
#include "support/diagnostic.h"

#include <algorithm>

#include "support/str.h"

namespace tilewright {

std::string_view Span::line_text() const {
  if (!source || line <= 0) return {};
  std::string_view rest = source->text;
  for (int32_t i = 1; i < line; ++i) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  return rest.substr(0, rest.find('\n'));
}

std::string render(const Diagnostic& d) {
  std::string out = str("error[", d.code, "]: ", d.message, "\n");
  if (d.at.line > 0 && d.at.source) {
    out += str("  --> ", d.at.source->name, ":", d.at.line, ":", d.at.col, "\n");
    // A hostile file may be one endless line; the reader needs only the surroundings.
    constexpr size_t kShown = 160;
    const std::string_view line = d.at.line_text();
    const size_t col = d.at.col > 0 ? static_cast<size_t>(d.at.col - 1) : 0;
    const size_t from = col > kShown / 2 ? std::min(line.size(), col - kShown / 2) : 0;
    out += str("   | ", line.substr(from, kShown), "\n");
    out += str("   | ", std::string(col - std::min(col, from), ' '), "^\n");
  }
  for (const std::string& note : d.notes) out += str("   = note: ", note, "\n");
  out += str("   = help: ", d.help, "\n");
  return out;
}

}  // namespace tilewright
