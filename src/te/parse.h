// SPDX-License-Identifier: Apache-2.0
// Reads tensor programs by the grammar of te/README.md. Every mistake in the text is reported as an
// Error with its place.
#pragma once

#include <string_view>

#include "ir/parse.h"
#include "te/program.h"

namespace tilewright::te {

/// The item whose keyword `te` the cursor stands on, as an `ir::ItemParser` calls it.
Program read_program(ir::Cursor& cursor, const ir::Items& items);
/// A text with exactly one program, and the reducers it uses.
Program parse_program(std::string_view text);

}  // namespace tilewright::te
