// SPDX-License-Identifier: Apache-2.0
#include "target/c_source/c_source.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "common/errors.h"
#include "ir/parse.h"
#include "ir/print.h"

namespace tilewright::target::c_source {
namespace {

std::string c_of(std::string_view text) {
  const ir::LoopFunc f = ir::parse_function(text);
  return emit({&f, 1}, {}).text;
}

Diagnostic error_of(std::string_view text) {
  return diagnostic_of([&] { c_of(text); });
}

struct Refused {
  std::string code;
  int32_t line;
  std::string phrase;
};

void expect_refused(std::string_view text, const Refused& want) {
  const Diagnostic d = error_of(text);
  EXPECT_EQ(d.code, want.code);
  EXPECT_EQ(d.at.line, want.line);
  EXPECT_NE(d.message.find(want.phrase), std::string::npos) << d.message;
  EXPECT_FALSE(d.help.empty());
}

TEST(CSource, RefusesWhatIsNotFinal) {
  expect_refused("loops f(a: out f32[4]) {\n for i in 0..4 { a[i] = 1.0 }\n}",
                 {"target.c_source.stage", 1, "stage `loops`"});
}

TEST(CSource, StepsHaveNoHost) {
  const ir::LoopFunc f = ir::parse_function(
      "loops f(a: in f32[n], b: out f32[n]) where n in 1..4096 stage final {\n"
      "  alloc t: f32[4096]\n"
      "  parallel for i in 0..n { t[i] = a[i] }\n"
      "  parallel for i in 0..n { b[i] = t[i] }\n"
      "}");
  const File file = emit({&f, 1}, {}, Form::Steps);
  const auto has = [&](const char* text) { return file.text.find(text) != std::string::npos; };
  EXPECT_TRUE(
      has("static void f(const float* restrict a, float* restrict b, int64_t n, "
          "void* workspace) {"))
      << file.text;
  EXPECT_TRUE(has("float* restrict t = workspace;"));
  EXPECT_FALSE(has("host"));
  EXPECT_EQ(ir::print(file.entries[0].workspace.shared), "16384");
  EXPECT_EQ(ir::print(file.entries[0].workspace.per_worker), "0");
}

TEST(CSource, RefusesHardwareThreads) {
  expect_refused(
      "loops f(a: out f32[4]) stage final {\n"
      "  bind(thread.x) for t in 0..4 { a[t] = 1.0 }\n"
      "}",
      {"target.c_source.unsupported", 2, "the loop `t` bound to hardware threads"});
}

TEST(CSource, RefusesAgentsAndChannels) {
  expect_refused(
      "loops f(a: out f32[4]) stage final {\n"
      "  bind(block.x) for b in 0..1 {\n"
      "    agents { one(t in 0..1): { a[0] = 1.0 } }\n"
      "  }\n"
      "}",
      {"target.c_source.unsupported", 2, "the loop `b`"});
  expect_refused(
      "loops f(a: out f32[4]) stage final {\n"
      "  channel ch[2] commits=1 releases=1 over block\n"
      "  acquire ch[0]\n"
      "}",
      {"target.c_source.unsupported", 2, "the channel `ch`"});
}

TEST(CSource, RefusesAtomicsOnPackedElements) {
  expect_refused(
      "loops f(a: inout u4[4]) stage final {\n"
      "  atomic add (a[1], 1:u4)\n"
      "}",
      {"target.c_source.unsupported", 2, "an atomic operation on `a`"});
}

TEST(CSource, RefusesTemporariesOfUnknownSize) {
  expect_refused(
      "loops f(n: in i64[1], a: out f32[1]) stage final {\n"
      "  let m = n[0]\n"
      "  alloc t: f32[m]\n"
      "  t[0] = 1.0\n"
      "  a[0] = t[0]\n"
      "}",
      {"target.c_source.alloc_size", 3, "`t`"});
}

TEST(CSource, StatesTheWorkspace) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops f(a: out f32[n]) where n in 1..1000000 stage final {
  alloc t: f32[n]
  for i in 0..n { t[i] = 1.0 }
  parallel for i in 0..n {
    alloc small: f32[16]
    alloc large: f64[5000]
    small[0] = t[i]
    large[0] = 1.0:f64
    a[i] = small[0] + f32(large[0])
  }
})");
  const Kernel kernel = backend().emit(f, {}, {});
  EXPECT_EQ(kernel.entry, "f");
  EXPECT_EQ(kernel.format, CodeFormat::Text);
  EXPECT_EQ(ir::print(kernel.workspace.shared), "(n * 32 + 511) / 512 * 64");
  EXPECT_EQ(ir::print(kernel.workspace.per_worker), "40000");
}

TEST(CSource, AllocationsOneAfterAnotherShareTheWorkspace) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops f(a: out f32[1]) stage final {
  if 0 < 1 {
    alloc t: f32[100000]
    t[0] = 1.0
    a[0] = t[0]
  }
  if 0 < 2 {
    alloc u: f32[50000]
    u[0] = 1.0
    a[0] = u[0]
  }
})");
  EXPECT_EQ(ir::print(backend().emit(f, {}, {}).workspace.shared), "400000");
}

TEST(CSource, PrintsOnlyWhatIsUsed) {
  const std::string text = c_of("loops f(a: inout f32[4]) stage final { a[0] = exp(a[1]) }");
  EXPECT_NE(text.find("double tw_exp("), std::string::npos);
  EXPECT_EQ(text.find("tw_log"), std::string::npos);
  EXPECT_EQ(text.find("stdatomic"), std::string::npos);
}

TEST(CSource, NegationsInComparisonsStandInParentheses) {
  const std::string text =
      c_of("loops f(a: in bool[2], b: out bool[1]) stage final { b[0] = (!a[0]) != a[1] }");
  EXPECT_NE(text.find("(!"), std::string::npos) << text;
}

/// The declaration of `name` in a C text, without comments and spaces.
std::string declaration(const std::string& text, const std::string& first,
                        const std::string& last) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "/*") == 0)
      i = text.find("*/", i) + 1;
    else if (text[i] != ' ' && text[i] != '\n')
      plain += text[i];
  }
  const size_t begin = plain.find(first), end = plain.find(last, begin);
  return plain.substr(begin, end - begin);
}

TEST(CSource, DeclaresTheSameInterfaceAsTheHeader) {
  std::ostringstream header;
  header << std::ifstream("include/tilewright/kernel.h").rdbuf();
  const std::string text = c_of("loops f(a: out f32[1]) stage final { a[0] = 1.0 }");
  for (const auto& [first, last] :
       {std::pair{"typedefvoid(*tw_task)", ";"}, std::pair{"typedefstructtw_host", "}tw_host;"},
        std::pair{"typedefint32_t(*tw_kernel)", ";"}}) {
    const std::string want = declaration(header.str(), first, last);
    EXPECT_GT(want.size(), 20u);
    EXPECT_EQ(declaration(text, first, last), want);
  }
}

}  // namespace
}  // namespace tilewright::target::c_source
