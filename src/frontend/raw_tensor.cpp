// SPDX-License-Identifier: Apache-2.0
#include "frontend/raw_tensor.h"

#include <algorithm>

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend {
namespace {

constexpr const char* kDamaged = "the file may be damaged: make or download it again";

[[noreturn]] void refuse(std::string_view code, const std::string& what, std::string_view fact,
                         std::string help) {
  throw Error({.code = code,
               .at = {},
               .message = str(what, ": ", fact),
               .notes = {},
               .help = std::move(help)});
}

}  // namespace

int64_t checked_count(const std::vector<int64_t>& dims, const std::string& what) {
  if (dims.size() > kMaxRank)
    refuse("frontend.tensor.rank", what,
           str("it has ", dims.size(), " dimensions, the limit is ", kMaxRank), "merge dimensions");
  int64_t product = 1;
  bool empty = false;
  for (const int64_t d : dims) {
    if (d < 0)
      refuse("frontend.tensor.dim", what, str("a dimension is ", d), "its sizes are 0 and more");
    empty = empty || d == 0;
    if (d != 0 && (__builtin_mul_overflow(product, d, &product) || product > kMaxElements))
      refuse("frontend.tensor.size", what, "it has more than 2^40 elements", kDamaged);
  }
  return empty ? 0 : product;
}

size_t width_of(ir::Elem elem) { return static_cast<size_t>(std::max(1, ir::bits(elem) / 8)); }

graph::Constant raw_tensor(ir::Elem elem, std::vector<int64_t> dims, Bytes bytes,
                           std::shared_ptr<const void> owner, const std::string& what) {
  if (elem == ir::Elem::Bool &&
      std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; }))
    refuse("frontend.tensor.bool", what, "a bool is neither 0 nor 1", kDamaged);
  return graph::view_constant(elem, std::move(dims), bytes, std::move(owner));
}

}  // namespace tilewright::frontend
