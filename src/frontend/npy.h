// SPDX-License-Identifier: Apache-2.0
// One array of NumPy: a header that says type and shape, then the elements.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "graph/constant.h"
#include "support/bytes.h"

namespace tilewright::frontend {

/// The array in the bytes of a .npy file; its data is a view where NumPy's order is ours. NumPy has
/// no names for bfloat16, 8-bit floats and 4-bit integers: they are read as the type that is
/// `wanted`. `what` names the array in errors.
graph::Constant read_npy(Bytes file, const std::shared_ptr<const void>& owner,
                         std::optional<ir::Elem> wanted, const std::string& what);

/// A file as parts: the header, and the elements. 4-bit and 2-bit integers become bytes; what NumPy
/// has no name for becomes bytes without a type (`V2`).
struct NpyParts {
  std::string header;
  graph::Constant elements;
  std::vector<std::byte> converted;  // used instead of the constant's bytes where not empty
  Bytes data() const { return converted.empty() ? elements->bytes : Bytes(converted); }
};
NpyParts npy_parts(const graph::Constant& tensor, const std::string& what);

}  // namespace tilewright::frontend
