// SPDX-License-Identifier: Apache-2.0
// Running programs written as text, for the tests of the interpreter and the checker.
#pragma once

#include <gtest/gtest.h>

#include "common/errors.h"
#include "ir/interpret/interpret.h"
#include "ir/parse.h"

namespace tilewright::ir {

inline Array f32s(const std::vector<double>& values) {
  return array_of(Elem::F32, {static_cast<int64_t>(values.size())}, values);
}
inline Array i32s(const std::vector<double>& values) {
  return array_of(Elem::I32, {static_cast<int64_t>(values.size())}, values);
}
inline Array i64s(const std::vector<double>& values) {
  return array_of(Elem::I64, {static_cast<int64_t>(values.size())}, values);
}

inline std::vector<double> numbers(const Array& a) {
  std::vector<double> all;
  for (int64_t i = 0; i < a.size(); ++i) all.push_back(a.as_double(i));
  return all;
}

/// The last argument after running the function.
inline std::vector<double> result_of(const std::string& text, std::vector<Array> args,
                                     const std::vector<int64_t>& symbols = {},
                                     const RunOptions& options = {}) {
  interpret(parse_function(text), args, symbols, options);
  return numbers(args.back());
}

/// What is wrong with the program.
inline Diagnostic error_of(const std::string& text, std::vector<Array> args = {},
                           const std::vector<int64_t>& symbols = {},
                           const RunOptions& options = {}) {
  const LoopFunc f = parse_function(text);
  return diagnostic_of([&] { interpret(f, args, symbols, options); });
}

/// The program's last argument, which is the same in many orders of its concurrent parts.
inline std::vector<double> result_in_any_order(const std::string& text,
                                               const std::vector<Array>& args, int orders = 40) {
  const LoopFunc f = parse_function(text);
  std::vector<Array> first = args;
  interpret(f, first, {}, {});
  for (int seed = 1; seed <= orders; ++seed) {
    std::vector<Array> other = args;
    interpret(f, other, {}, {.seed = static_cast<uint64_t>(seed)});
    EXPECT_TRUE(same_bits(first.back(), other.back())) << "order " << seed;
  }
  return numbers(first.back());
}

/// Expects the same error in the order of the program and in many others.
inline Diagnostic error_in_any_order(const std::string& text, const std::vector<Array>& args = {},
                                     int orders = 20) {
  const Diagnostic found = error_of(text, args);
  for (int seed = 1; seed <= orders; ++seed) {
    const Diagnostic d = error_of(text, args, {}, {.seed = static_cast<uint64_t>(seed)});
    EXPECT_EQ(d.code, found.code) << "order " << seed << ": " << d.message;
  }
  return found;
}

/// Everything a diagnostic says.
inline std::string told(const Diagnostic& d) {
  std::string text = d.message;
  for (const std::string& note : d.notes) text += "\n" + note;
  return text + "\n" + d.help;
}

#define EXPECT_TELLS(diagnostic, phrase) \
  EXPECT_NE(told(diagnostic).find(phrase), std::string::npos) << told(diagnostic)

}  // namespace tilewright::ir
