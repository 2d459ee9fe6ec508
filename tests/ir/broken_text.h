// SPDX-License-Identifier: Apache-2.0
// Texts with one mistake each. The diagnostic must stand at the line marked `// here`.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "ir/parse.h"
#include "ir/verify.h"

namespace tilewright::ir {

struct Broken {
  const char* name;
  const char* code;
  const char* phrase;
  const char* text;
};

inline std::string name_of(const testing::TestParamInfo<Broken>& info) { return info.param.name; }
inline void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.name; }

/// The number of the line that ends in `// here`; 0 without one.
inline int marked_line(std::string_view text) {
  const size_t mark = text.find("// here");
  if (mark == std::string_view::npos) return 0;
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + mark, '\n'));
}

inline void expect_refused(const Broken& broken) {
  Unit unit;
  ASSERT_NO_THROW(unit = parse(broken.text)) << "the text must parse: the verifier is under test";
  try {
    verify(unit);
    FAIL() << "the verifier accepts it";
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostic.code, broken.code) << e.what();
    EXPECT_NE(e.diagnostic.message.find(broken.phrase), std::string::npos) << e.what();
    EXPECT_FALSE(e.diagnostic.help.empty());
    if (const int line = marked_line(broken.text)) {
      EXPECT_EQ(e.diagnostic.at.line, line) << e.what();
    }
  }
}

}  // namespace tilewright::ir
