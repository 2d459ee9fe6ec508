// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "tune/space/space.h"

namespace tilewright::tune {

/// A point of another space of the same template (for another shape, or another machine) in this
/// one: a knob takes the candidate of the same text, or else the one whose numbers are nearest.
///   rows=8x4 unroll=yes order=last  in a space whose rows are 7, 7x2, 14, …  ->  rows=7x2 …
/// Knobs that it does not name have their first candidate. Nothing when no knob has the name of one
/// of the point, or no such point is legal.
std::optional<Point> fitted(const Space& to, std::string_view point);

/// The knobs of a point that are not at their first candidate in its space: what a tuner did not
/// leave to the model.
std::string decided(const Space& space, std::string_view point);

}  // namespace tilewright::tune
