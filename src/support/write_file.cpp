// SPDX-License-Identifier: Apache-2.0
#include "support/write_file.h"

#include "support/diagnostic.h"

namespace tilewright {

void require_written(const std::string& problem) {
  if (problem.empty()) return;
  throw Error({.code = "support.file.write",
               .at = {},
               .message = problem,
               .notes = {},
               .help = "name a place where you may write and that has room; a file that was there "
                       "is as it was"});
}

void commit(OutputFile& file) { require_written(file.commit()); }

void write_file(const std::filesystem::path& path, std::string_view content,
                OutputFile::Rights rights) {
  OutputFile file(path.string(), rights);
  file.write(content.data(), content.size());
  commit(file);
}

}  // namespace tilewright
