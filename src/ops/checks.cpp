// SPDX-License-Identifier: Apache-2.0
#include "ops/checks.h"

#include "support/str.h"

namespace tilewright::ops {

using graph::Call;

namespace {

void need_type(const Call& call, size_t i, bool good, std::string_view what) {
  const graph::TensorType& type = call.tensor(i);
  if (good && !type.strings) return;
  call.refuse("ops.input.type", str("input ", i, " is ", print(graph::Type(type))),
              str("give a tensor of ", what, ", for instance by a Cast before this node"));
}

}  // namespace

void need_float(const Call& call, size_t i) {
  need_type(call, i, ir::is_float(call.elem(i)), "floats");
}

void need_number(const Call& call, size_t i) {
  need_type(call, i, ir::is_float(call.elem(i)) || ir::is_int(call.elem(i)), "numbers");
}

void need_int(const Call& call, size_t i) {
  need_type(call, i, ir::is_int(call.elem(i)), "integers");
}

void need_same_elem(const Call& call, size_t i, size_t j) {
  if (call.elem(i) == call.elem(j)) return;
  call.refuse("ops.input.mixed",
              str("inputs ", i, " and ", j, " have the element types ", ir::name(call.elem(i)),
                  " and ", ir::name(call.elem(j))),
              "give both the same type, for instance by a Cast before this node");
}

void need_rank(const Call& call, size_t i, int rank) {
  if (call.rank(i) == rank) return;
  call.refuse("ops.input.rank", str("input ", i, " is ", print(call.type(i))),
              str("give a tensor of ", rank, " dimensions"));
}

void need_min_rank(const Call& call, size_t i, int rank) {
  if (call.rank(i) >= rank) return;
  call.refuse("ops.input.rank", str("input ", i, " is ", print(call.type(i))),
              str("give a tensor of at least ", rank, " dimensions"));
}

void need_count(const Call& call, std::string_view attribute, const std::vector<int64_t>& values,
                size_t count) {
  if (values.size() == count) return;
  call.refuse("ops.attribute.count", str("`", attribute, "` has ", values.size(), " values"),
              str("give ", count, " values"));
}

void need_at_least(const Call& call, std::string_view attribute, const std::vector<int64_t>& values,
                   int64_t min) {
  for (const int64_t value : values)
    if (value < min)
      call.refuse("ops.attribute.value", str("`", attribute, "` has the value ", value),
                  str("give values of at least ", min));
}

}  // namespace tilewright::ops
