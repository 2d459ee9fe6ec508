// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tilewright::tune {

/// Thrown out of a template when a knob has no candidate: the space is empty, and the template
/// cannot go on.
struct NoCandidates {
  std::string knob;
};

}  // namespace tilewright::tune
