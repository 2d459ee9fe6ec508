// SPDX-License-Identifier: Apache-2.0
// Functions as C, compiled by gcc into a library and loaded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ir/interpret/array.h"
#include "target/c_source/c_source.h"

namespace tilewright::target::c_source {

class Compiled {
 public:
  /// All functions in one file, with one run of gcc; warnings are errors.
  explicit Compiled(const std::vector<ir::LoopFunc>& funcs);
  ~Compiled();
  Compiled(const Compiled&) = delete;

  const File& file() const { return file_; }
  /// Calls function `i` as ir::interpret does. Its parallel loops run on `workers` threads, cut
  /// into pieces in no particular order.
  void run(size_t i, std::vector<ir::Array>& args, const std::vector<int64_t>& symbols = {},
           int workers = 3) const;
  /// The symbols that the library expects from elsewhere.
  std::vector<std::string> imports() const;

 private:
  std::vector<ir::LoopFunc> funcs_;
  File file_;
  std::filesystem::path folder_;
  void* library_ = nullptr;
};

/// Runs gcc and reports what it says when it fails.
void run_gcc(const std::string& arguments, const std::filesystem::path& folder);

/// The value of an expression over symbols.
int64_t value_of(const ir::Expr& e, const std::vector<ir::Symbol>& symbols,
                 const std::vector<int64_t>& values);

}  // namespace tilewright::target::c_source
