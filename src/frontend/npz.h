// SPDX-License-Identifier: Apache-2.0
// Named tensors in a file that NumPy reads and writes: numpy.savez, numpy.load.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/constant.h"

namespace tilewright::frontend {

struct NamedTensor {
  std::string name;
  graph::Constant value;
};

/// The element type that the array of a name is for, where one is known: NumPy has no names for
/// some.
using WantedElem = std::function<std::optional<ir::Elem>(std::string_view name)>;

/// All arrays of the file, in its order; a .npy file is an array without a name. Data is a view
/// where it can be. Refuses what is no number, bool or text.
std::vector<NamedTensor> read_npz(const std::filesystem::path& path, const WantedElem& wanted = {});

void write_npz(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors);

}  // namespace tilewright::frontend
