// SPDX-License-Identifier: Apache-2.0
#include "tune/space/knobs.h"

#include <algorithm>
#include <numeric>

#include "support/diagnostic.h"
#include "support/str.h"
#include "tune/space/no_candidates.h"

namespace tilewright::tune {
namespace {

[[noreturn]] void wrong_knob(std::string message, std::string note, std::string help) {
  throw Error({.code = "tune.space.knob",
               .at = {},
               .message = std::move(message),
               .notes = {std::move(note)},
               .help = std::move(help)});
}

/// Every way to write the factors, `parts` of them, of what is left of the loop. All but the
/// innermost divide.
void add_factors(int64_t left, size_t parts, Value& inner, std::vector<Value>& out) {
  if (parts == 0) {
    out.push_back(inner);
    return;
  }
  for (int64_t f = 1; f <= left; ++f) {
    if (left % f != 0) continue;
    inner.insert(inner.begin(), f);
    add_factors(left / f, parts - 1, inner, out);
    inner.erase(inner.begin());
  }
}

}  // namespace

const Value& Knobs::declare(Knob knob) {
  if (learning_) {
    if (std::ranges::count(knobs_, knob.name, &Knob::name))
      wrong_knob(str("the knob `", knob.name, "` is declared twice"),
                 "a point names each knob once", "give every knob a name of its own");
    if (knob.name.empty() || knob.name.find_first_of(" =\n\t") != std::string::npos)
      wrong_knob(str("`", knob.name, "` cannot be the name of a knob"),
                 "points are written as `name=value name=value`",
                 "use a name without spaces and equals signs");
    if (knob.candidates.empty()) throw NoCandidates{knob.name};
    knobs_.push_back(std::move(knob));
    return knobs_.back().candidates.front();
  }
  const Knob* known = next_ < knobs_.size() ? &knobs_[next_] : nullptr;
  if (!known || known->name != knob.name || known->candidates != knob.candidates)
    throw Error({.code = "tune.space.changed",
                 .at = {},
                 .message = str("the template declares the knob `", knob.name,
                                "` in another way than when its knobs were listed"),
                 .notes = {known ? str("`", known->name, "` with ", known->candidates.size(),
                                       " candidates stood there")
                                 : "there was no further knob"},
                 .help = "let neither the knobs nor their candidates depend on values of others; "
                         "use a constraint instead"});
  return known->candidates[choice_[next_++]];
}

Value Knobs::split(const std::string& name, int64_t extent, SplitOptions options) {
  std::vector<Value> out;
  for (int64_t inner = 1; inner <= std::min(extent, options.most); ++inner) {
    if (extent % inner != 0 && !options.tails) continue;
    Value factors = {inner};
    add_factors((extent + inner - 1) / inner, options.parts - 1, factors, out);
  }
  return declare({.name = name, .kind = KnobKind::Split, .candidates = std::move(out)});
}

Value Knobs::order(const std::string& name, size_t count) {
  if (count > 6)
    wrong_knob(str("cannot list the orders of ", count, " things for the knob `", name, "`"),
               "there are too many", "order at most 6, and keep the others in place");
  Value all(count);
  std::iota(all.begin(), all.end(), 0);
  std::vector<Value> out;
  do out.push_back(all);
  while (std::ranges::next_permutation(all).found);
  return declare({.name = name, .kind = KnobKind::Order, .candidates = std::move(out)});
}

size_t Knobs::choice(const std::string& name, std::vector<std::string> labels) {
  std::vector<Value> out;
  for (size_t i = 0; i < labels.size(); ++i) out.push_back({static_cast<int64_t>(i)});
  return static_cast<size_t>(declare({.name = name,
                                      .kind = KnobKind::Choice,
                                      .candidates = std::move(out),
                                      .labels = std::move(labels)})[0]);
}

int64_t Knobs::number(const std::string& name, std::vector<int64_t> candidates) {
  std::vector<Value> out;
  for (const int64_t n : candidates) out.push_back({n});
  return declare({.name = name, .kind = KnobKind::Number, .candidates = std::move(out)})[0];
}

bool Knobs::boolean(const std::string& name) {
  return declare({.name = name, .kind = KnobKind::Bool, .candidates = {{0}, {1}}})[0] != 0;
}

Value Knobs::values(const std::string& name, KnobKind kind, std::vector<Value> candidates) {
  return declare({.name = name, .kind = kind, .candidates = std::move(candidates)});
}

const Value& Knobs::first_of(const std::string& name) const {
  const auto found = std::ranges::find(knobs_, name, &Knob::name);
  tilewright::require(found != knobs_.end(), "the first candidate of a knob that is not declared");
  return found->candidates.front();
}

void Knobs::require(std::string text, const std::vector<std::string>& knobs,
                    std::function<bool(const Values&)> holds, bool monotone) {
  if (!learning_) return;
  Constraint constraint{
      .text = std::move(text), .knobs = {}, .holds = std::move(holds), .monotone = monotone};
  for (const std::string& name : knobs) {
    const auto found = std::ranges::find(knobs_, name, &Knob::name);
    if (found == knobs_.end())
      wrong_knob(str("the constraint `", constraint.text, "` is about a knob `", name, "`"),
                 "no such knob is declared before it", "declare the knob first");
    constraint.knobs.push_back(static_cast<size_t>(found - knobs_.begin()));
  }
  if (knobs.empty())
    wrong_knob(str("the constraint `", constraint.text, "` is about no knob"),
               "it would hold always or never", "name the knobs it is about");
  constraints_.push_back(std::move(constraint));
}

}  // namespace tilewright::tune
