// SPDX-License-Identifier: Apache-2.0
#include "tune/space/space.h"

#include <algorithm>
#include <exception>
#include <iomanip>
#include <sstream>

#include "support/str.h"
#include "tune/space/no_candidates.h"

namespace tilewright::tune {
namespace {

/// What a template did when it threw something else than a step's refusal.
[[noreturn]] void template_failed(const std::string& name, const std::string& where,
                                  const std::string& what) {
  throw Error({.code = "tune.space.template",
               .at = {},
               .message = str("the template `", name, "` failed", where),
               .notes = {what},
               .help = "run it alone on a schedule::Schedule to find the line"});
}

[[noreturn]] void wrong_point(std::string message, std::string note) {
  throw Error({.code = "tune.space.point",
               .at = {},
               .message = std::move(message),
               .notes = {std::move(note)},
               .help = "the record is of another version, shape or machine: tune again, or use its "
                       "trace"});
}

std::string number(double n) {
  std::ostringstream out;
  if (n < 1e7)
    out << static_cast<int64_t>(n);
  else
    out << std::setprecision(2) << n;
  return out.str();
}

}  // namespace

Space::Space(schedule::Schedule start, Template how)
    : start_(std::move(start)), how_(std::move(how)) {
  Knobs knobs;
  try {
    schedule::Schedule s = start_;
    how_.run(s, knobs);
  } catch (const NoCandidates& none) {
    why_empty_ = str("the knob `", none.knob, "` has no candidate");
    return;
  } catch (const Error& e) {
    if (e.diagnostic.code.starts_with("tune.")) throw;
    template_failed(how_.name, " with the first candidate of each knob", e.diagnostic.message);
  } catch (const InternalError&) {
    throw;
  } catch (const std::exception& e) {
    template_failed(how_.name, " with the first candidate of each knob", e.what());
  }
  knobs_ = std::move(knobs.knobs_);
  constraints_ = std::move(knobs.constraints_);
  of_knob_.resize(knobs_.size());
  for (size_t i = 0; i < constraints_.size(); ++i)
    for (const size_t k : constraints_[i].knobs) of_knob_[k].push_back(i);
  find_groups();
  size_ = count();
  if (size_.points > 0) return;
  why_empty_ = "no values of its knobs fit all constraints together";
  for (const Constraint& c : constraints_) {
    std::vector<uint32_t> choice(knobs_.size());
    ir::Random random(1);
    if (!complete(c.knobs, {}, choice, random))
      why_empty_ = str("no values fit the constraint: ", c.text);
  }
}

schedule::Schedule Space::apply(const Point& point) const {
  require(legal(point), "a point that is not of the space");
  Knobs knobs;
  knobs.learning_ = false;
  knobs.knobs_ = knobs_;
  knobs.choice_ = point.choice;
  schedule::Schedule s = start_;
  try {
    how_.run(s, knobs);
  } catch (const Error&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (const std::exception& e) {
    template_failed(how_.name, str(" at the point ", encode(point)), e.what());
  }
  if (knobs.next_ != knobs_.size())
    throw Error({.code = "tune.space.changed",
                 .at = {},
                 .message = str("the template `", how_.name, "` does not declare the knob `",
                                knobs_[knobs.next_].name, "` at every point"),
                 .notes = {str("it is missing at ", encode(point))},
                 .help = "declare all knobs first, whatever their values are"});
  return s;
}

std::string Space::encode(const Point& point) const {
  std::string out;
  for (size_t k = 0; k < knobs_.size(); ++k)
    out += str(k == 0 ? "" : " ", knobs_[k].name, "=", knobs_[k].text(point.choice[k]));
  return out;
}

Point Space::decode(std::string_view text) const {
  Point out{std::vector<uint32_t>(knobs_.size())};
  std::vector<bool> seen(knobs_.size());
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto knob = std::ranges::find(knobs_, name, &Knob::name);
    if (equals == std::string::npos || knob == knobs_.end())
      wrong_point(str("the point names `", name, "`"), "the space has no such knob");
    const auto k = static_cast<size_t>(knob - knobs_.begin());
    if (seen[k]) wrong_point(str("the point names `", name, "` twice"), "a knob has one value");
    seen[k] = true;
    const std::string value = word.substr(equals + 1);
    const size_t count = knob->candidates.size();
    for (out.choice[k] = 0; out.choice[k] < count; ++out.choice[k])
      if (knob->text(out.choice[k]) == value) break;
    if (out.choice[k] == count)
      wrong_point(str("the point sets `", name, "` to `", value, "`"),
                  str("it is none of the ", count, " candidates"));
  }
  for (size_t k = 0; k < knobs_.size(); ++k)
    if (!seen[k])
      wrong_point(str("the point says nothing about `", knobs_[k].name, "`"),
                  "every knob needs a value");
  for (const Constraint& c : constraints_)
    if (!fits(c, out.choice))
      wrong_point("the point is not part of the space", str("it breaks: ", c.text));
  return out;
}

std::string Space::print() const {
  std::string out = str("space ", how_.name, " of ", start_.trace().name, ": ",
                        size_.exact ? "" : "about ", number(size_.points), " points\n");
  if (!why_empty_.empty()) out += str("  ", why_empty_, "\n");
  for (const Knob& k : knobs_) {
    out += str("  ", k.name, ": ", k.candidates.size(), " of");
    constexpr size_t kShown = 6;
    for (size_t i = 0; i < std::min(k.candidates.size(), kShown); ++i) out += str(" ", k.text(i));
    out += k.candidates.size() > kShown ? str(" … ", k.text(k.candidates.size() - 1), "\n") : "\n";
  }
  for (const Constraint& c : constraints_) out += str("  where ", c.text, "\n");
  return out;
}

}  // namespace tilewright::tune
