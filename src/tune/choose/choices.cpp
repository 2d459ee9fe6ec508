// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/choices.h"

#include <algorithm>

namespace tilewright::tune {

size_t Choices::ask(const std::string& question, const std::vector<std::string>& options) {
  if (options.size() > 1 && std::ranges::count(asked_, question, &Question::name) == 0)
    asked_.push_back({question, options});
  const auto answer = answers_.find(question);
  if (answer == answers_.end()) return 0;
  const auto found = std::ranges::find(options, answer->second);
  return found == options.end() ? 0 : static_cast<size_t>(found - options.begin());
}

int64_t Choices::number(const std::string& question, int64_t model,
                        const std::vector<int64_t>& others) {
  std::vector<int64_t> values = {model};
  for (const int64_t v : others)
    if (std::ranges::count(values, v) == 0) values.push_back(v);
  std::vector<std::string> texts;
  for (const int64_t v : values) texts.push_back(std::to_string(v));
  return values[ask(question, texts)];
}

bool Choices::yes(const std::string& question, bool model) {
  return (ask(question, {model ? "yes" : "no", model ? "no" : "yes"}) == 0) == model;
}

}  // namespace tilewright::tune
