// SPDX-License-Identifier: Apache-2.0
// Plans that would leave their tables are refused, each for its own reason.
#include "module/verify.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

#include "common/module_bytes.h"
#include "module/plan_ops.h"
#include "module/sample.h"
#include "module/view.h"

namespace tilewright {
namespace {

using enum KernelParam::Access;
using Storage = PlanValue::Storage;

/// "" or what the verifier says of the module's first variant.
std::string verdict(const Module& module) {
  const AlignedBytes bytes(module_bytes(module));
  ModuleView view;
  VariantView variant;
  PlanFacts facts;
  ErrorText error;
  if (view_module(bytes.span(), Verify::Full, view, error) &&
      view_variant(view, 0, variant, error) &&
      verify_plan(view, variant, system_allocator(), facts, error))
    return "";
  return error.text();
}

/// The sample's plan after a change.
std::string after(const std::function<void(Module&, Plan&)>& change) {
  Module module = sample_module();
  change(module, module.variants[0].plan);
  return verdict(module);
}

void expect_refused(const std::string& text, const std::string& reason) {
  EXPECT_NE(text.find(reason), std::string::npos) << "instead: " << text;
}

/// Where the n-th instruction of a kind starts.
size_t find(const Plan& plan, PlanOp op, int n = 0) {
  for (size_t at = 0; at < plan.code.size(); at += words_of(plan.code[at]))
    if (op_number(plan.code[at]) == static_cast<uint32_t>(op) && n-- == 0) return at;
  ADD_FAILURE() << "no such instruction";
  return 0;
}

void append(Plan& plan, PlanOp op, std::vector<uint32_t> operands) {
  plan.code.push_back(plan_word(op, static_cast<uint32_t>(operands.size()) + 1));
  plan.code.insert(plan.code.end(), operands.begin(), operands.end());
}

TEST(Verify, AcceptsTheSample) { EXPECT_EQ(verdict(sample_module()), ""); }

TEST(Verify, RefusesIndicesThatAreOutOfRange) {
  constexpr uint32_t kFar = 1000;
  expect_refused(after([](Module&, Plan& p) { p.bindings[0].input = 1; }), "binds a dimension");
  expect_refused(after([](Module&, Plan& p) { p.bindings[0].axis = 1; }), "binds a dimension");
  expect_refused(after([](Module&, Plan& p) { p.bindings[0].reg = kFar; }), "binds a dimension");
  expect_refused(after([](Module&, Plan& p) { p.bindings[0].divisor = 0; }), "binds a dimension");
  expect_refused(after([](Module&, Plan& p) { p.bindings.clear(); }),
                 "nothing checks dimension 0 of input `x`");
  expect_refused(after([](Module&, Plan& p) { p.values[0].index = 1; }), "no input or output");
  expect_refused(after([](Module&, Plan& p) { p.values[2].index = 1; }), "no constant");
  expect_refused(after([](Module&, Plan& p) { p.values[1].dims = kFar; }), "has no dimensions");
  expect_refused(after([](Module&, Plan& p) { p.dims[0] = kFar; }), "dimensions in no register");
  expect_refused(after([](Module&, Plan& p) { p.values[3].offset = kFar; }), "no known kind");
  expect_refused(after([](Module&, Plan& p) { p.arena_bytes = kFar; }), "arena is in no register");
  expect_refused(after([](Module&, Plan& p) { p.prologue_words = kFar; }), "prologue is cut off");
  expect_refused(after([](Module&, Plan& p) { p.prologue_words = 1; }), "inside an instruction");
  expect_refused(after([](Module&, Plan& p) { p.registers = 1; }), "it has 1 registers");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Set, {kFar, 0}); }),
                 "writes no register");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Check, {0, 1u << 20}); }),
                 "no message");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Free, {kFar}); }),
                 "value that is not there");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Free, {}); }), "has 1 words");
  expect_refused(after([](Module&, Plan& p) { p.code.push_back(0); }), "is no instruction");
  expect_refused(after([](Module&, Plan& p) { p.code.push_back(plan_word(PlanOp::Set, 3)); }),
                 "is no instruction");
  expect_refused(after([](Module&, Plan& p) {
                   p.code.push_back(plan_word(static_cast<PlanOp>(kPlanOpCount), 1));
                 }),
                 "is no instruction");
}

TEST(Verify, RefusesJumpsToNowhere) {
  // Into the middle of an instruction.
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Jump, {p.prologue_words + 1}); }),
                 "jumps to no place");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Jump, {1}); }),
                 "jumps to no place");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Jump, {100000}); }),
                 "jumps to no place");
  // Back into the prologue, and back inside of it: it could run for ever.
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Jump, {0}); }),
                 "jumps to no place");
  expect_refused(after([](Module&, Plan& p) {
                   p.code.insert(p.code.begin(), {plan_word(PlanOp::Jump, 2), 0});
                   p.prologue_words += 2;
                 }),
                 "jumps to no place");
}

TEST(Verify, RefusesToWriteWhatMustStay) {
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Set, {0, 0}); }),
                 "must keep its value");
  const auto bound = [](const Plan& p) { return p.bindings[0].reg; };
  expect_refused(after([&](Module&, Plan& p) { append(p, PlanOp::Set, {bound(p), 0}); }),
                 "must keep its value");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Set, {p.arena_bytes, 0}); }),
                 "must keep its value");
  expect_refused(
      after([](Module& m, Plan&) { m.variants[0].kernels[0].params[1].access = Update; }),
      "an input or a constant is written");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Copy, {0, 1}); }),
                 "cannot be copied");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Free, {0}); }), "cannot be freed");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Alloc, {1}); }),
                 "cannot be allocated");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::Share, {1, 0}); }),
                 "cannot take over");
}

TEST(Verify, RefusesIndicesThatAreNone) {
  const auto check = [](uint32_t value, uint32_t column, uint32_t columns) {
    return after(
        [=](Module&, Plan& p) { append(p, PlanOp::CheckIndices, {value, 0, column, columns, 0}); });
  };
  expect_refused(check(0, 0, 1), "value 0 holds no indices");  // floats
  expect_refused(check(99, 0, 1), "value that is not there");
  expect_refused(check(0, 1, 1), "column 1 of 1");
  expect_refused(check(0, 0, 0), "column 0 of 0");
}

TEST(Verify, RefusesTypesThatDoNotFit) {
  expect_refused(
      after([](Module&, Plan& p) { append(p, PlanOp::LoadElement, {p.registers++, 0, 0}); }),
      "holds no integers");
  expect_refused(after([](Module&, Plan& p) { append(p, PlanOp::LoadDim, {p.registers++, 0, 1}); }),
                 "dimension 1 of value 0");
  expect_refused(after([](Module&, Plan& p) { p.values[1].type.elem = ElemType::F64; }),
                 "no input or output");
  expect_refused(after([](Module&, Plan& p) { p.values[1].type.elem = static_cast<ElemType>(99); }),
                 "unknown type");
  expect_refused(after([](Module&, Plan& p) {
                   p.values[3].type = {ElemType::F32, {ValueType::Wrap::Sequence}};
                 }),
                 "sequence or optional with a shape");
  expect_refused(after([](Module&, Plan& p) { p.values[3].type.elem = ElemType::String; }),
                 "strings in a tensor's memory");
  expect_refused(after([](Module&, Plan& p) {
                   p.values[3].storage = Storage::View;
                   p.values[3].index = 3;
                 }),
                 "view of nothing");
  expect_refused(after([](Module& m, Plan&) { m.constants[0].bytes = 255; }),
                 "larger than its constant");
}

TEST(Verify, RefusesCallsThatAreNotTheKernels) {
  const auto call = [](Plan& p) { return find(p, PlanOp::CallChecked); };
  expect_refused(after([&](Module&, Plan& p) { p.code[call(p) + 1] = 5; }), "no such kernel");
  expect_refused(after([&](Module&, Plan& p) { p.code[call(p) + 6] = 77; }),
                 "a parameter is no tensor");
  expect_refused(after([&](Module&, Plan& p) { p.code[call(p) + 9] = 77; }),
                 "scalar is in no register");
  expect_refused(after([](Module& m, Plan&) { m.variants[0].kernels[0].scalars = 2; }),
                 "number of parameters");
  expect_refused(after([&](Module&, Plan& p) {
                   p.code[call(p)] = plan_word(PlanOp::Call, words_of(p.code[call(p)]));
                 }),
                 "not certain where a parameter lies");
  expect_refused(after([](Module& m, Plan&) { m.variants[0].kernels[0].offset = 0; }),
                 "code and the table");
  expect_refused(
      after([](Module& m, Plan&) { m.variants[0].code.relocations[0].offset = 1u << 30; }),
      "code and the table");
  expect_refused(
      after([](Module& m, Plan&) { m.variants[0].kernels[0].params[0].log2_alignment = 7; }),
      "code and the table");
}

/// A static call of `increment` on one value of the arena and, as an input, another.
Module two_values(int64_t first, int64_t second, int64_t arena, uint8_t log2_alignment = 3) {
  Sample s;
  s.output("y", ElemType::I64, {fixed(4)});
  const uint32_t copy = s.kernel("through_workspace", {Read, Write}, 1);
  for (KernelParam& param : s.variant.kernels[copy].params) param.log2_alignment = log2_alignment;
  PlanBuilder& p = s.plan;
  const Reg four = p.constant(4);
  p.end_prologue(p.constant(arena));
  p.output(0, std::vector{four});
  const ValueId a = p.arena(p.constant(first), ElemType::I64, std::vector{four});
  const ValueId b = p.arena(p.constant(second), ElemType::I64, std::vector{four});
  p.call(copy, std::vector{a, b}, std::vector{four});
  return s.finish();
}

TEST(Verify, ProvesThatParametersLieApartInTheArena) {
  EXPECT_EQ(verdict(two_values(0, 32, 64)), "");
  EXPECT_EQ(verdict(two_values(32, 0, 64)), "");
  expect_refused(verdict(two_values(0, 24, 64)), "two parameters overlap");
  expect_refused(verdict(two_values(24, 0, 64)), "two parameters overlap");
  expect_refused(verdict(two_values(0, 0, 64)), "two parameters overlap");
  expect_refused(verdict(two_values(0, 40, 64)), "outside of the arena");
  expect_refused(verdict(two_values(-32, 0, 64)), "outside of the arena");
  expect_refused(verdict(two_values(0, 32, 64, 6)), "not aligned");
}

TEST(Verify, KeepsDonatedInputsOutOfThePlan) {
  Module module = sample_module();
  module.outputs[0].donor = 0;
  expect_refused(verdict(module), "an input whose storage output `y` takes over");
}

TEST(Verify, WantsOneValueForEachOutput) {
  Module module = sample_module();
  module.outputs.push_back(module.outputs[0]);
  module.outputs.back().name = "z";
  expect_refused(verdict(module), "nothing sets output `z`");
  expect_refused(after([](Module&, Plan& p) { p.values.push_back(p.values[1]); }),
                 "has two values");
}

TEST(Verify, RefusesDamagedAttributes) {
  const auto with = [](const std::function<void(Plan&)>& change) {
    Sample s;
    s.module.outputs.push_back({.name = "s", .type = {ElemType::F32, {ValueType::Wrap::Sequence}}});
    PlanBuilder& p = s.plan;
    p.end_prologue(p.constant(0));
    const HostAttribute attributes[] = {
        {"a", int64_t{1}}, {"b", std::string("text")}, {"c", std::vector<double>{1, 2}}};
    p.host_call("sequence_empty", attributes, {}, std::vector{p.output(0)});
    Module module = s.finish();
    change(module.variants[0].plan);
    return verdict(module);
  };
  EXPECT_EQ(with([](Plan&) {}), "");
  expect_refused(with([](Plan& p) { p.attributes[0] = 4; }), "cut off");
  expect_refused(with([](Plan& p) { p.attributes.pop_back(); }), "is cut off");
  expect_refused(with([](Plan& p) { p.attributes[1] = 1u << 20; }), "no known kind");
  expect_refused(with([](Plan& p) { p.attributes[2] = 9; }), "no known kind");
  expect_refused(with([](Plan& p) { p.attributes[3] = 2; }), "no known kind");
  expect_refused(with([](Plan& p) { p.attributes[10] = 1u << 20; }), "text that is not there");
  expect_refused(with([](Plan& p) { p.code[find(p, PlanOp::HostCall) + 1] = 3; }),
                 "without a name");
  expect_refused(with([](Plan& p) { p.code[find(p, PlanOp::HostCall) + 2] = 99; }),
                 "are not there");
  expect_refused(with([](Plan& p) { p.code[find(p, PlanOp::HostCall) + 5] = 99; }), "operand 0");
  expect_refused(with([](Plan& p) { p.code[find(p, PlanOp::HostCall) + 3] = 1; }), "is cut off");
}

/// Any words at all: the verifier comes back with an answer.
TEST(Verify, SurvivesRandomPlans) {
  std::mt19937 random(1);
  const Module sample = sample_module();
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    Module module = sample;
    Plan& plan = module.variants[0].plan;
    const auto poke = [&](auto& list) {
      using Record = std::remove_reference_t<decltype(list[0])>;
      auto* bytes = reinterpret_cast<unsigned char*>(list.data());
      const size_t size = list.size() * sizeof(Record);
      bytes[random() % size] =
          static_cast<unsigned char>(random() % 8 == 0 ? random() : random() % 8);
    };
    for (int i = 0; i < 1 + round % 3; ++i) switch (random() % 4) {
        case 0: poke(plan.code); break;
        case 1: poke(plan.values); break;
        case 2: poke(plan.bindings); break;
        default: poke(plan.dims); break;
      }
    accepted += verdict(module).empty();
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 3000);
}

}  // namespace
}  // namespace tilewright
