// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "support/bare/output_file.h"

namespace tilewright {

/// Puts the file in its place; an Error when that, or writing it before, failed.
void commit(OutputFile& file);

/// All of a file at once, as OutputFile writes it.
void write_file(const std::filesystem::path& path, std::string_view content,
                OutputFile::Rights rights = OutputFile::Rights::Data);

/// An Error with the problem that OutputFile has told; nothing when it is empty.
void require_written(const std::string& problem);

}  // namespace tilewright
