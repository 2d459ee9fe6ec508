// SPDX-License-Identifier: Apache-2.0
#include "tune/space/knob.h"

#include "ir/interpret/random.h"
#include "support/str.h"

namespace tilewright::tune {

std::string Knob::text(size_t candidate) const {
  const Value& value = candidates[candidate];
  if (kind == KnobKind::Bool) return value[0] ? "yes" : "no";
  if (kind == KnobKind::Choice) return labels[static_cast<size_t>(value[0])];
  std::string out;
  for (const int64_t v : value)
    out += str(out.empty() ? "" : kind == KnobKind::Order ? "." : "x", v);
  return out.empty() ? "-" : out;
}

size_t PointHash::operator()(const Point& p) const {
  uint64_t h = p.choice.size();
  for (const uint32_t c : p.choice) h = ir::mix(h ^ c);
  return h;
}

}  // namespace tilewright::tune
