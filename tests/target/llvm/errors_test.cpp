// SPDX-License-Identifier: Apache-2.0
// What a CPU kernel cannot contain is refused with a diagnostic.
#include "gtest/gtest.h"

#include "target/host.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"

namespace tilewright::target::llvm {
namespace {

using namespace ir;
using target::llvm::store;

const Span kHere{nullptr, 7, 3};

void expect_error(const LoopFunc& f, const char* code, const char* phrase,
                  const char* target = "host") {
  try {
    compile(f, parse_target(target));
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostic.code, code);
    EXPECT_NE(std::string(e.what()).find(phrase), std::string::npos) << e.what();
    EXPECT_FALSE(e.diagnostic.help.empty());
    if (std::string(code) != "target.llvm.host" && std::string(code) != "target.llvm.stage") {
      EXPECT_EQ(e.diagnostic.at.line, 7);
    }
  }
}

LoopFunc with_body(const Stmt& body) {
  return final_func("f", {{array("out", Elem::F32, 16), Access::InOut}}, body);
}

TEST(Errors, ConcurrencyOfOtherMachines) {
  const Var i("i");
  expect_error(with_body(make_stmt<Barrier>(kHere, BarrierReach::Block)), "target.llvm.unsupported",
               "a barrier");
  expect_error(with_body(make_stmt<For>(kHere, i, Expr(0), Expr(4), nothing(), ForKind::Bound)),
               "target.llvm.unsupported", "thread-bound loop `i`");
  expect_error(
      with_body(make_stmt<Agents>(kHere, std::vector<Agent>{{.name = "load", .body = nothing()}})),
      "target.llvm.unsupported", "`agents`");
  auto channel = std::make_shared<ChannelNode>();
  channel->name = "ch";
  expect_error(with_body(make_stmt<ChannelScope>(
                   kHere, Channel(std::shared_ptr<const ChannelNode>(channel)), nothing())),
               "target.llvm.unsupported", "a channel");
}

TEST(Errors, StageBeforeFinal) {
  LoopFunc f = with_body(nothing());
  f.stage = Stage::Scheduled;
  expect_error(f, "target.llvm.stage", "stage `scheduled`");
}

TEST(Errors, MachineThatIsNotThisOne) {
  expect_error(with_body(nothing()), "target.llvm.host", "cannot run code for `riscv64`",
               "riscv64");
}

TEST(Errors, UnknownTarget) {
  try {
    parse_target("z80");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostic.code, "target.name.unknown");
    EXPECT_NE(std::string(e.what()).find("x86-64-v3"), std::string::npos);
  }
}

TEST(Errors, AllocationsWhoseSizeChanges) {
  const Buffer out = array("out", Elem::F32, 16);
  const Var i("i"), j("j");
  const Buffer t = make_buffer("t", Elem::F32, {Expr(i) + 1});
  const Stmt body = loop(i, 16, make_stmt<Alloc>(kHere, t, store(t, 0, float_imm(Elem::F32, 1))));
  expect_error(final_func("f", {{out, Access::InOut}}, body), "target.llvm.alloc_size",
               "depends on `i`");
}

TEST(Errors, RegistersThatAreTooLarge) {
  const Buffer out = array("out", Elem::F32, 16);
  const Var i("i");
  const Buffer t = make_buffer("t", Elem::F32, {1 << 20}, {ScopeKind::Register, ""});
  const Stmt body =
      make_stmt<Alloc>(kHere, t, loop(i, 1 << 20, store(t, i, float_imm(Elem::F32, 1))));
  expect_error(final_func("f", {{out, Access::InOut}}, body), "target.llvm.register_size",
               "`t` does not fit");
}

TEST(Errors, AtomicsOnBits) {
  const Buffer x = array("x", Elem::I4, 16);
  const Stmt body = make_stmt<Atomic>(kHere, AtomicOp::Add, MemoryOrder::Relaxed, x,
                                      std::vector<Expr>{Expr(0)}, imm(Elem::I4, 1));
  expect_error(final_func("f", {{x, Access::InOut}}, body), "target.llvm.atomic",
               "cannot update `x` atomically");
}

}  // namespace
}  // namespace tilewright::target::llvm
