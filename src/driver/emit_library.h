// SPDX-License-Identifier: Apache-2.0
// A model as a library of C: the module and the runtime in one file, and a header with a function
// that runs the model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "module/module.h"

namespace tilewright::driver {

/// The texts around the module. `name` begins every name that others see: name_run.
struct LibraryText {
  std::string header;
  std::string source;  // includes the header by its file name; takes in `module.twm`
};
LibraryText library_text(const Module& module, const std::string& header_file,
                         const std::string& name);

/// Writes `libNAME.so` or `libNAME.a`, whichever `path` ends with, and `libNAME.h` beside it.
/// `compiler` is a command, with flags after spaces.
void emit_library(const Module& module, const std::filesystem::path& path,
                  const std::string& compiler);

}  // namespace tilewright::driver
