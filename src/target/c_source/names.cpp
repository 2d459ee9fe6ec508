// SPDX-License-Identifier: Apache-2.0
#include "target/c_source/names.h"

#include <algorithm>

#include "support/str.h"

namespace tilewright::target::c_source {
namespace {

// Keywords of C and C++, what the headers define, and what every kernel names itself.
constexpr std::string_view kReserved[] = {
    "alignas",      "alignof",
    "and",          "and_eq",
    "asm",          "auto",
    "begin",        "bitand",
    "bitor",        "bool",
    "break",        "buffers",
    "case",         "catch",
    "char",         "class",
    "closure",      "compl",
    "const",        "const_cast",
    "constexpr",    "continue",
    "decltype",     "default",
    "delete",       "do",
    "double",       "dynamic_cast",
    "else",         "end",
    "enum",         "explicit",
    "export",       "extern",
    "false",        "float",
    "for",          "friend",
    "goto",         "host",
    "if",           "inline",
    "int",          "lane",
    "linux",        "long",
    "main",         "memcpy",
    "memmove",      "memset",
    "memcmp",       "mutable",
    "namespace",    "new",
    "noexcept",     "not",
    "not_eq",       "nullptr",
    "operator",     "or",
    "or_eq",        "private",
    "protected",    "public",
    "register",     "reinterpret_cast",
    "restrict",     "return",
    "scalars",      "short",
    "signed",       "sizeof",
    "static",       "static_assert",
    "static_cast",  "struct",
    "switch",       "task",
    "template",     "this",
    "thread_local", "throw",
    "true",         "try",
    "typedef",      "typeid",
    "typename",     "typeof",
    "union",        "unix",
    "unsigned",     "using",
    "virtual",      "void",
    "volatile",     "wchar_t",
    "while",        "worker",
    "workspace",    "xor",
    "xor_eq",       "NULL",
};

bool is_reserved(std::string_view word) {
  const auto starts = [&](std::string_view s) { return word.substr(0, s.size()) == s; };
  const auto ends = [&](std::string_view s) {
    return word.size() > s.size() && word.substr(word.size() - s.size()) == s;
  };
  return std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved) ||
         starts("tw_") || starts("TW_") || starts("atomic_") || starts("memory_order") ||
         ends("_t") || starts("INT") || starts("UINT") || starts("PTR") || starts("SIZE") ||
         starts("WCHAR") || starts("WINT") || starts("SIG") || starts("ATOMIC");
}

/// As close to `wanted` as can be: `7.out` gives `v7_out`. A leading underscore is C's own.
std::string word(std::string_view wanted) {
  constexpr size_t kMaxName = 200;
  std::string name;
  for (const char c : wanted.substr(0, kMaxName)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += letter || (c >= '0' && c <= '9') ? c : '_';
  }
  if (name.empty() || name[0] == '_' || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "v");
  if (is_reserved(name)) name += '_';
  return name;
}

}  // namespace

std::string Names::take(std::string_view wanted) {
  const std::string base = word(wanted);
  int& next = next_[base];
  std::string name = next == 0 ? base : str(base, "_", next);
  while (!taken_.insert(name).second) name = str(base, "_", ++next);
  order_.push_back({name, base, next});
  return name;
}

void Names::back_to(size_t mark) {
  for (; order_.size() > mark; order_.pop_back()) {
    const Taken& last = order_.back();
    taken_.erase(last.name);
    next_[last.base] = last.number;
  }
}

}  // namespace tilewright::target::c_source
