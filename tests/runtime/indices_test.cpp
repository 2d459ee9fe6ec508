// SPDX-License-Identifier: Apache-2.0
// The plan's instruction that looks at indices.
#include "runtime/fixtures.h"

namespace tilewright {
namespace {

/// The elements of x in column 1 of 2 are indices of a dimension of 5.
Module checked_module(ElemType elem, bool both_columns) {
  Sample s;
  const uint32_t x = s.input("x", elem, {{.symbol = "n"}, fixed(2)});
  s.output("y", elem, {{}, fixed(2)});
  PlanBuilder& p = s.plan;
  const Reg n = p.bind(x, 0, {.symbol = "n"});
  p.bind_to(x, 1, p.constant(2));
  p.end_prologue(p.constant(0));
  const ValueId in = p.input(x);
  p.check_indices(in, p.constant(5), both_columns ? 0 : 1, both_columns ? 1 : 2, "Gather \"g\"");
  const ValueId out = p.output(0, std::vector{n, p.constant(2)});
  p.copy(out, in);
  return s.finish();
}

template <class T>
std::string check(ElemType elem, std::vector<T> x, bool both_columns) {
  const Loaded loaded(checked_module(elem, both_columns));
  tw::Context context(loaded.module);
  context.set_input("x", x.data(), {static_cast<int64_t>(x.size()) / 2, 2});
  return error_of([&] { context.run(); });
}

template <class T>
void check_all(ElemType elem) {
  SCOPED_TRACE(name_of(elem));
  const bool is_signed = T(-1) < T(0);
  const std::string message =
      " is out of range: the dimension has 5 elements, give indices from -5 to 4";
  std::vector<T> x(2 * 37, T(4));
  if (is_signed) x[3] = x[8] = T(-5);
  EXPECT_EQ(check(elem, x, true), "no error");
  for (const size_t at : {size_t{0}, size_t{9}, x.size() - 1}) {
    std::vector<T> bad = x;
    bad[at] = T(5);
    const std::string text = "run failed: Gather \"g\": index 5" + message;
    EXPECT_EQ(check(elem, bad, true), text);
    EXPECT_EQ(check(elem, bad, false), at % 2 == 1 ? text : "no error");
    for (const T far : {std::numeric_limits<T>::max(), std::numeric_limits<T>::min()}) {
      if (far == T(0) || (far < T(0) && !is_signed)) continue;
      bad[at] = far;
      EXPECT_TRUE(contains(check(elem, bad, true), std::to_string(+far) + message));
    }
  }
  EXPECT_EQ(check<T>(elem, {}, true), "no error");
}

TEST(Indices, AreComparedWithTheExtent) {
  check_all<int8_t>(ElemType::I8);
  check_all<int16_t>(ElemType::I16);
  check_all<int32_t>(ElemType::I32);
  check_all<int64_t>(ElemType::I64);
  check_all<uint8_t>(ElemType::U8);
  check_all<uint16_t>(ElemType::U16);
  check_all<uint32_t>(ElemType::U32);
}

}  // namespace
}  // namespace tilewright
