// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilewright::tune {

/// What the default schedule leaves to its model of the machine, question by question: how large a
/// tile is, which loop is the outermost, how far one is unrolled. Without answers the model
/// decides; who tunes gives others, and the rest of the schedule follows from them as always.
///   const int64_t rows = choices.number("conv.rows", best_by_the_model, {1, 2, 4, 8});
class Choices {
 public:
  /// Which of the options, by number; the first is the model's. An answer that is none of them is
  /// no answer. Texts have no spaces.
  size_t ask(const std::string& question, const std::vector<std::string>& options);
  int64_t number(const std::string& question, int64_t model, const std::vector<int64_t>& others);
  bool yes(const std::string& question, bool model);

  void answer(const std::string& question, std::string option) {
    answers_[question] = std::move(option);
  }

  /// What was asked, each question once, in the order of the first time.
  struct Question {
    std::string name;
    std::vector<std::string> options;
  };
  const std::vector<Question>& asked() const { return asked_; }

  /// How many vectors wide the tiles of contractions are, by stage: it decides how constants lie.
  /// Stages that are listed keep to that, the others are added. 0: not decided.
  std::map<std::string, int64_t> vectors;
  /// Likewise how many rows those have that read a constant for them.
  std::map<std::string, int64_t> rows;

 private:
  std::map<std::string, std::string> answers_;
  std::vector<Question> asked_;
};

}  // namespace tilewright::tune
