// SPDX-License-Identifier: Apache-2.0
#include "target/c_source/helpers.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright::target::c_source {
namespace {

constexpr std::string_view kPrefetch = R"(
/* Asks for the line of an address: write 0 or 1, locality 3 for the nearest cache. */
#if defined(__GNUC__)
#define tw_prefetch(address, write, locality) __builtin_prefetch(address, write, locality)
#else
#define tw_prefetch(address, write, locality) ((void)(address))
#endif
)";

std::vector<Helper> all_helpers() {
  std::vector<Helper> all = {{"tw_prefetch", std::string(kPrefetch)}};
  for (auto* rows : {integer_helpers, float_helpers, exact_helpers, small_float_helpers,
                     exp_log_helpers, trig_helpers})
    for (Helper& row : rows()) all.push_back(std::move(row));
  return all;
}

struct Table {
  std::vector<Helper> rows = all_helpers();
  std::unordered_map<std::string_view, size_t> by_name;
  Table() {
    for (size_t i = 0; i < rows.size(); ++i) by_name.emplace(rows[i].name, i);
  }
};

bool in_word(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Marks the helpers that `code` names, and what their texts name in turn.
void mark(const Table& table, std::string_view code, std::vector<bool>& used) {
  for (size_t i = 0; i < code.size();) {
    size_t end = i;
    while (end < code.size() && in_word(code[end])) ++end;
    if (end == i) {
      ++i;
      continue;
    }
    const auto row = table.by_name.find(code.substr(i, end - i));
    if (row != table.by_name.end() && !used[row->second]) {
      used[row->second] = true;
      mark(table, table.rows[row->second].text, used);
    }
    i = end;
  }
}

}  // namespace

std::string replaced(std::string_view text, const std::vector<Replacement>& replacements) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t open = std::min(text.find('{', i), text.size());
    out += text.substr(i, open - i);
    i = open;
    if (i == text.size()) break;
    const auto hit =
        std::find_if(replacements.begin(), replacements.end(),
                     [&](const Replacement& r) { return text.substr(i, r.key.size()) == r.key; });
    out += hit == replacements.end() ? text.substr(i, 1) : hit->value;
    i += hit == replacements.end() ? 1 : hit->key.size();
  }
  return out;
}

std::string helpers_for(std::string_view code, std::string_view function) {
  static const Table table;
  std::vector<bool> used(table.rows.size());
  mark(table, code, used);
  std::string out;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) out += replaced(table.rows[i].text, {{"{inline}", function}});
  return out;
}

}  // namespace tilewright::target::c_source
