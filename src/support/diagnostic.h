// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// A text the user wrote: a `.tw` file, or the listing of a model's nodes.
struct Source {
  std::string name;  // "kernel.tw", "model.onnx"
  std::string text;
};

/// Where the user wrote something. Line 0 means that there is no source text.
struct Span {
  std::shared_ptr<const Source> source;
  int32_t line = 0;
  int32_t col = 0;

  /// The line as written, without its end.
  std::string_view line_text() const;
};

/// A user's mistake: what is wrong in the user's names, the facts, and what to do instead.
struct Diagnostic {
  std::string_view code;  // stable, listed in docs/errors.md: "schedule.split.factor"
  Span at;
  std::string message;             // what is wrong
  std::vector<std::string> notes;  // the facts that make it wrong
  std::string help;                // what to do instead; never empty
};

/// The text a person reads: code, message, place with the line, notes, help.
std::string render(const Diagnostic& diagnostic);

/// Thrown for a user's mistake; the only way a layer of the compiler reports one.
class Error : public std::runtime_error {
 public:
  explicit Error(Diagnostic d) : std::runtime_error(render(d)), diagnostic(std::move(d)) {}
  const Diagnostic diagnostic;
};

/// Thrown for a mistake of ours. Nothing a user writes may reach it.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws InternalError unless `ok`.
inline void require(bool ok, const char* what, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  if (!ok) throw InternalError(std::string(what) + " (" + file + ":" + std::to_string(line) + ")");
}

}  // namespace tilewright
