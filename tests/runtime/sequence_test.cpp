// SPDX-License-Identifier: Apache-2.0
// Strings, sequences and optionals: as inputs and outputs, and their host operators.
#include "runtime/fixtures.h"

namespace tilewright {
namespace {

using Wrap = ValueType::Wrap;
constexpr ValueType kFloats{ElemType::F32};
constexpr ValueType kText{ElemType::String};
constexpr ValueType kSequence{ElemType::F32, {Wrap::Sequence}};
constexpr ValueType kTexts{ElemType::String, {Wrap::Sequence}};
constexpr ValueType kOptional{ElemType::F32, {Wrap::Optional}};

struct PortType {
  ValueType type;
  size_t rank;
};

/// A module that is one host operator; `no_input`: it gets one that is not given.
Module one_op(const std::string& name, const std::vector<PortType>& inputs, const PortType& output,
              const std::vector<HostAttribute>& attributes = {}, bool no_input = false) {
  Sample s;
  std::vector<ValueId> values;
  PlanBuilder& p = s.plan;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    s.module.inputs.push_back({.name = "in" + std::to_string(i), .type = inputs[i].type});
    s.module.inputs.back().dims.resize(inputs[i].rank);
    for (uint32_t axis = 0; axis < inputs[i].rank; ++axis) p.bind(i, axis, {});
  }
  s.module.outputs.push_back({.name = "out", .type = output.type});
  s.module.outputs.back().dims.resize(output.rank);
  p.end_prologue(p.constant(0));
  for (uint32_t i = 0; i < inputs.size(); ++i) values.push_back(p.input(i));
  if (no_input) values.push_back(kNone);
  p.host_call(name, attributes, values, std::vector{p.output(0)});
  return s.finish();
}

struct Op {
  explicit Op(const Module& m) : loaded(m), context(loaded.module) {}

  tw::Value floats(std::vector<float> data, std::vector<int64_t> dims) {
    return tw::Value::tensor(
        loaded.module,
        tw_make_tensor(data.data(), TW_F32, static_cast<int32_t>(dims.size()), dims.data()));
  }
  tw::Value texts(std::vector<std::string> data, std::vector<int64_t> dims) {
    return tw::Value::strings(loaded.module, data, dims);
  }
  tw::Value integers(std::vector<int64_t> data, std::vector<int64_t> dims) {
    return tw::Value::tensor(
        loaded.module,
        tw_make_tensor(data.data(), TW_I64, static_cast<int32_t>(dims.size()), dims.data()));
  }
  tw::Value sequence(tw_elem elem, const std::vector<tw::Value>& items) {
    std::vector<tw_value*> all;
    for (const tw::Value& v : items) all.push_back(v.get());
    tw_value* made = nullptr;
    tw::check(tw_value_sequence(loaded.module.get(), elem, all.data(), all.size(), &made));
    return tw::Value(made);
  }
  tw::Value run(const std::vector<tw::Value>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      context.set_input(static_cast<int32_t>(i), inputs[i]);
    context.run();
    return context.output_value(0);
  }

  Loaded loaded;
  tw::Context context;
};

std::vector<float> floats_of(const tw::Value& v) { return list(v.view().data<float>()); }
std::vector<std::string> texts_of(const tw::Value& v) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < v.count(); ++i) all.emplace_back(v.string(i));
  return all;
}
/// The first element of each item.
std::vector<float> heads(const tw::Value& sequence) {
  std::vector<float> all;
  for (int64_t i = 0; i < sequence.count(); ++i) all.push_back(floats_of(sequence.item(i))[0]);
  return all;
}

TEST(Sequence, IsConstructedFromTensors) {
  Op op(one_op("sequence_construct", {{kFloats, 1}, {kFloats, 2}}, {kSequence, 0}));
  std::vector<float> a{1, 2}, b{3};
  op.context.set_input(0, a.data(), {2});
  op.context.set_input(1, b.data(), {1, 1});
  op.context.run();
  const tw::Value s = op.context.output_value(0);
  EXPECT_EQ(s.kind(), TW_SEQUENCE);
  EXPECT_EQ(heads(s), (std::vector<float>{1, 3}));
  a[0] = 9;
  EXPECT_EQ(heads(s), (std::vector<float>{1, 3})) << "the caller's memory was kept";
}

TEST(Sequence, InsertsAtAnyPosition) {
  Op append(one_op("sequence_insert", {{kSequence, 0}, {kFloats, 1}}, {kSequence, 0}));
  const tw::Value two = append.sequence(TW_F32, {append.floats({1}, {1}), append.floats({2}, {1})});
  EXPECT_EQ(heads(append.run({two, append.floats({3}, {1})})), (std::vector<float>{1, 2, 3}));
  Op op(one_op("sequence_insert", {{kSequence, 0}, {kFloats, 1}, {{ElemType::I64}, 0}},
               {kSequence, 0}));
  const auto insert = [&](int64_t at) {
    return heads(op.run({two, op.floats({3}, {1}), op.integers({at}, {})}));
  };
  EXPECT_EQ(insert(0), (std::vector<float>{3, 1, 2}));
  EXPECT_EQ(insert(-1), (std::vector<float>{1, 3, 2}));
  EXPECT_EQ(insert(2), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(
      error_of([&] { insert(3); }),
      "run failed: host operator `sequence_insert`: position 3 is outside of a sequence of 2");
  EXPECT_TRUE(contains(error_of([&] { insert(-3); }), "position -3"));
  EXPECT_EQ(heads(two), (std::vector<float>{1, 2})) << "a value was changed";
}

TEST(Sequence, ErasesAndFinds) {
  Op erase(one_op("sequence_erase", {{kSequence, 0}}, {kSequence, 0}));
  const tw::Value three = erase.sequence(
      TW_F32, {erase.floats({1}, {1}), erase.floats({2}, {1}), erase.floats({3}, {1})});
  EXPECT_EQ(heads(erase.run({three})), (std::vector<float>{1, 2}));
  EXPECT_TRUE(contains(error_of([&] { erase.run({erase.sequence(TW_F32, {})}); }), "is empty"));
  Op erase_at(one_op("sequence_erase", {{kSequence, 0}, {{ElemType::I64}, 0}}, {kSequence, 0}));
  EXPECT_EQ(heads(erase_at.run({three, erase_at.integers({-3}, {})})), (std::vector<float>{2, 3}));
  Op at(one_op("sequence_at", {{kSequence, 0}, {{ElemType::I64}, 0}}, {kFloats, 1}));
  EXPECT_EQ(floats_of(at.run({three, at.integers({1}, {})})), std::vector<float>{2});
  EXPECT_EQ(floats_of(at.run({three, at.integers({-1}, {})})), std::vector<float>{3});
  EXPECT_TRUE(contains(error_of([&] { at.run({three, at.integers({3}, {})}); }), "position 3"));
  Op length(one_op("sequence_length", {{kSequence, 0}}, {{ElemType::I64}, 0}));
  EXPECT_EQ(length.run({three}).view().data<int64_t>()[0], 3);
  Op empty(one_op("sequence_empty", {}, {kTexts, 0}));
  EXPECT_EQ(empty.run({}).count(), 0);
  Op identity(one_op("sequence_identity", {{kSequence, 0}}, {kSequence, 0}));
  EXPECT_EQ(heads(identity.run({three})), (std::vector<float>{1, 2, 3}));
}

TEST(Sequence, ChecksWhatAnItemIs) {
  Op at(one_op("sequence_at", {{kSequence, 0}, {{ElemType::I64}, 0}}, {kFloats, 2}));
  const tw::Value one = at.sequence(TW_F32, {at.floats({1}, {1})});
  EXPECT_TRUE(contains(error_of([&] { at.run({one, at.integers({0}, {})}); }),
                       "has 1 dimensions instead of 2"));
  Op bad(one_op("sequence_construct", {{{ElemType::I64}, 0}}, {kSequence, 0}));
  EXPECT_TRUE(contains(error_of([&] { bad.run({bad.integers({1}, {})}); }), "another type"));
  EXPECT_TRUE(contains(error_of([&] { bad.sequence(TW_F32, {bad.integers({1}, {})}); }),
                       "not a tensor of the sequence's type"));
}

TEST(Sequence, SplitsAlongAnAxis) {
  const std::vector<float> data{1, 2, 3, 4, 5, 6};
  Op ones(one_op("split_to_sequence", {{kFloats, 2}}, {kSequence, 0},
                 {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}));
  tw::Value s = ones.run({ones.floats(data, {2, 3})});
  ASSERT_EQ(s.count(), 3);
  EXPECT_EQ(floats_of(s.item(1)), (std::vector<float>{2, 5}));
  EXPECT_EQ(s.item(1).view().dims().size(), 1u);
  Op pieces(one_op("split_to_sequence", {{kFloats, 2}, {{ElemType::I64}, 0}}, {kSequence, 0},
                   {{"axis", int64_t{-1}}}));
  s = pieces.run({pieces.floats(data, {2, 3}), pieces.integers({2}, {})});
  ASSERT_EQ(s.count(), 2);
  EXPECT_EQ(floats_of(s.item(0)), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(floats_of(s.item(1)), (std::vector<float>{3, 6}));
  EXPECT_TRUE(contains(
      error_of([&] { pieces.run({pieces.floats(data, {2, 3}), pieces.integers({0}, {})}); }),
      "pieces of length 0"));
  Op lengths(one_op("split_to_sequence", {{kText, 1}, {{ElemType::I64}, 1}}, {kTexts, 0}));
  s = lengths.run({lengths.texts({"a", "", "long text"}, {3}), lengths.integers({1, 2}, {2})});
  EXPECT_EQ(texts_of(s.item(1)), (std::vector<std::string>{"", "long text"}));
  EXPECT_TRUE(contains(error_of([&] {
                         lengths.run(
                             {lengths.texts({"a", "b", "c"}, {3}), lengths.integers({1, 1}, {2})});
                       }),
                       "do not add up to 3"));
}

TEST(Sequence, JoinsAlongAnAxis) {
  Op concat(one_op("concat_from_sequence", {{kSequence, 0}}, {kFloats, 2}, {{"axis", int64_t{1}}}));
  EXPECT_EQ(floats_of(concat.run({concat.sequence(
                TW_F32, {concat.floats({1, 2}, {2, 1}), concat.floats({3, 4, 5, 6}, {2, 2})})})),
            (std::vector<float>{1, 3, 4, 2, 5, 6}));
  EXPECT_TRUE(contains(error_of([&] {
                         concat.run({concat.sequence(
                             TW_F32, {concat.floats({1, 2}, {2, 1}), concat.floats({3}, {1, 1})})});
                       }),
                       "item 1 has another shape"));
  EXPECT_TRUE(contains(error_of([&] { concat.run({concat.sequence(TW_F32, {})}); }), "is empty"));
  Op stack(one_op("concat_from_sequence", {{kTexts, 0}}, {kText, 2},
                  {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}}));
  EXPECT_EQ(texts_of(stack.run({stack.sequence(
                TW_STRING, {stack.texts({"a", "b"}, {2}), stack.texts({"cc", ""}, {2})})})),
            (std::vector<std::string>{"a", "cc", "b", ""}));
}

TEST(Optional, HoldsSomethingOrNothing) {
  Op some(one_op("optional", {{kFloats, 1}}, {kOptional, 0}));
  const tw::Value full = some.run({some.floats({1, 2}, {2})});
  EXPECT_EQ(full.kind(), TW_OPTIONAL);
  ASSERT_EQ(full.count(), 1);
  EXPECT_EQ(floats_of(full.item(0)), (std::vector<float>{1, 2}));
  Op none(one_op("optional", {}, {kOptional, 0}, {}, true));
  const tw::Value nothing = none.run({});
  EXPECT_EQ(nothing.count(), 0);
  Op has(one_op("optional_has_element", {{kOptional, 0}}, {{ElemType::Bool}, 0}));
  EXPECT_TRUE(has.run({full}).view().data<bool>()[0]);
  EXPECT_FALSE(has.run({nothing}).view().data<bool>()[0]);
  Op get(one_op("optional_get_element", {{kOptional, 0}}, {kFloats, 1}));
  EXPECT_EQ(floats_of(get.run({full})), (std::vector<float>{1, 2}));
  EXPECT_TRUE(contains(error_of([&] { get.run({nothing}); }), "the optional is empty"));
  Op of_tensor(one_op("optional_get_element", {{kFloats, 1}}, {kFloats, 1}));
  EXPECT_EQ(floats_of(of_tensor.run({of_tensor.floats({7}, {1})})), std::vector<float>{7});
}

TEST(Strings, GoInAndOutAndMayBeConstants) {
  Sample s;
  s.module.outputs.push_back({.name = "out", .type = kText});
  s.module.outputs.back().dims.resize(1);
  // n + 1 offsets, then the characters.
  std::vector<uint64_t> packed{0, 2, 2, 5};
  packed.push_back(0);
  std::memcpy(&packed.back(), "abcde", 5);
  const uint32_t index = s.constant(packed);
  PlanBuilder& p = s.plan;
  p.end_prologue(p.constant(0));
  const ValueId v = p.constant_value(index, ElemType::String, std::vector{p.constant(3)});
  p.share(p.output(0), v);
  Module module = s.finish();
  {
    const Loaded loaded(module);
    tw::Context context(loaded.module);
    context.run();
    EXPECT_EQ(texts_of(context.output_value(0)), (std::vector<std::string>{"ab", "", "cde"}));
    EXPECT_TRUE(contains(error_of([&] { context.output(0); }), "tw_output_value"));
  }
  packed[2] = 6;
  module.constants[0] = {reinterpret_cast<const std::byte*>(packed.data()), packed.size() * 8,
                         nullptr};
  EXPECT_TRUE(contains(error_of([&] { Loaded l(module); }), "constant of strings is damaged"));
}

}  // namespace
}  // namespace tilewright
