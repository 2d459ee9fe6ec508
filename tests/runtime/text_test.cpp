// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_ops/text.h"

#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::runtime {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto p = std::make_unique<Pattern>();
  const char* problem = p->compile(pattern);
  EXPECT_EQ(problem, nullptr) << pattern;
  return p->matches(text);
}

const char* problem_of(std::string_view pattern) {
  return std::make_unique<Pattern>()->compile(pattern);
}

TEST(Pattern, MatchesWholeTexts) {
  EXPECT_TRUE(matches("abc", "abc"));
  EXPECT_FALSE(matches("abc", "abcd"));
  EXPECT_FALSE(matches("abc", "xabc"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
}

TEST(Pattern, Repeats) {
  for (const char* text : {"", "a", "aaaa"}) EXPECT_TRUE(matches("a*", text)) << text;
  EXPECT_FALSE(matches("a+", ""));
  EXPECT_TRUE(matches("(ab)+?c", "ababc"));
  EXPECT_FALSE(matches("a{2,3}", "a"));
  EXPECT_TRUE(matches("a{2,3}", "aa"));
  EXPECT_TRUE(matches("a{2,3}", "aaa"));
  EXPECT_FALSE(matches("a{2,3}", "aaaa"));
  EXPECT_TRUE(matches("a{0,2}b", "b"));
  EXPECT_TRUE(matches("a{2}", "aa"));
  EXPECT_TRUE(matches("a{2,}", "aaaaa"));
  EXPECT_TRUE(matches("(a?){0,3}x", "aax"));
  EXPECT_TRUE(matches("a{0}b", "b"));
  EXPECT_FALSE(matches("a{0}b", "ab"));
}

TEST(Pattern, ChoosesAndGroups) {
  EXPECT_TRUE(matches("(?:yahoo|gmail)\\.com", "gmail.com"));
  EXPECT_FALSE(matches("(yahoo|gmail)\\.com", "gmailxcom"));
  EXPECT_TRUE(matches("a|b|", ""));
}

TEST(Pattern, KnowsClassesAndBorders) {
  EXPECT_TRUE(matches("[\\w.\\-]{0,25}@\\w+", "a.b-c@d"));
  EXPECT_FALSE(matches("[^a-c]+", "xbx"));
  EXPECT_TRUE(matches("[]a]+", "]a"));
  EXPECT_TRUE(matches("www.[\\w.-]+\\bcom\\b", "www.google.com"));
  EXPECT_FALSE(matches("www.[\\w.-]+\\bcom\\b", "www.googlecom"));
  EXPECT_TRUE(matches("\\D\\S\\d", "äb1"));
  EXPECT_TRUE(matches("^.$", "ä"));
}

TEST(Pattern, SaysWhatIsWrong) {
  EXPECT_STREQ(problem_of("(a"), "has a `(` without its `)`");
  EXPECT_STREQ(problem_of("a)"), "has a `)` without its `(`");
  EXPECT_STREQ(problem_of("[a"), "has a `[` without its `]`");
  EXPECT_STREQ(problem_of("*"), "repeats nothing");
  EXPECT_STREQ(problem_of("a\\"), "ends with a backslash");
  EXPECT_STREQ(problem_of("((a{900}){900}){900}"), "is too large");
}

std::vector<std::string> parts(std::string_view text, std::string_view delimiter,
                               int64_t most = -1) {
  std::vector<std::string> out;
  Splitter{delimiter, most}.each(text, [&](std::string_view p) { out.emplace_back(p); });
  return out;
}

TEST(Splitter, SplitsAtDelimitersOrWhiteSpace) {
  EXPECT_EQ(parts("a,b,,c", ","), (std::vector<std::string>{"a", "b", "", "c"}));
  EXPECT_EQ(parts("a,b,c", ",", 1), (std::vector<std::string>{"a", "b,c"}));
  EXPECT_EQ(parts(" a  b\tc ", ""), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(parts(" a  b c ", "", 1), (std::vector<std::string>{"a", "b c "}));
  EXPECT_EQ(parts("", ",").size(), 1U);
  EXPECT_EQ(parts("", "").size(), 0U);
}

TEST(Text, ReadsAndWritesNumbers) {
  float f = 0;
  int32_t i = 0;
  char text[64];
  EXPECT_TRUE(parse_number(" +1.5e3 ", f) && f == 1500);
  EXPECT_TRUE(parse_number("-INF", f) && f == -std::numeric_limits<float>::infinity());
  EXPECT_FALSE(parse_number("1.5x", f));
  EXPECT_FALSE(parse_number("0x10", f));
  EXPECT_FALSE(parse_number("", f));
  EXPECT_TRUE(parse_number("-12", i) && i == -12);
  EXPECT_EQ(print_number(0.1F, text), "0.1");
  EXPECT_EQ(print_number(0.1, text), "0.1");
  EXPECT_EQ(print_number(16777216.0F, text), "16777216");
  EXPECT_EQ(print_number(std::numeric_limits<float>::quiet_NaN(), text), "NaN");
  EXPECT_EQ(print_number(int64_t{-7}, text), "-7");
}

TEST(Text, ChangesLetters) {
  std::string text = "aÄ Жz";
  change_letters(text, Letters::Upper);
  EXPECT_EQ(text, "AÄ ЖZ");
  change_letters(text, Letters::Lower);
  EXPECT_EQ(text, "aä жz");
  EXPECT_TRUE(equal_without_case("ÄB", "äb"));
  EXPECT_FALSE(equal_without_case("ab", "abc"));
}

}  // namespace
}  // namespace tilewright::runtime
