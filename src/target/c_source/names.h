// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tilewright::target::c_source {

/// Names of C for the things of a program, as close to their own as can be: `int` gives `int_`, a
/// second `i` in scope `i_1`. No name of C, of the standard headers or of the helpers is given.
class Names {
 public:
  /// A name that nothing else in scope has, taken until the scope ends.
  std::string take(std::string_view wanted);
  bool has(const std::string& name) const { return taken_.contains(name); }

  size_t mark() const { return order_.size(); }
  /// Frees the names taken since.
  void back_to(size_t mark);

 private:
  struct Taken {
    std::string name, base;
    int number;  // 0: the base itself
  };
  std::unordered_set<std::string> taken_;
  std::vector<Taken> order_;
  std::unordered_map<std::string, int> next_;  // per base, the number to try first
};

/// Frees the names of a C scope at the end of a C++ scope.
class NameScope {
 public:
  explicit NameScope(Names& names) : names_(names), mark_(names.mark()) {}
  ~NameScope() { names_.back_to(mark_); }
  NameScope(const NameScope&) = delete;

 private:
  Names& names_;
  size_t mark_;
};

/// The lane of a vector statement, in every loop over lanes.
constexpr std::string_view kLane = "lane";

}  // namespace tilewright::target::c_source
