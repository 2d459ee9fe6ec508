// SPDX-License-Identifier: Apache-2.0
// Arrays of Python as the arguments of a function of the loop IR.
#pragma once

#include <map>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string>
#include <vector>

#include "ir/func.h"

namespace tilewright::python {

using Bytes =
    nanobind::ndarray<nanobind::numpy, const uint8_t, nanobind::ndim<1>, nanobind::c_contig>;

/// What a function is called with, checked against its parameters. `bytes` are those of the inputs,
/// in the order of the parameters that are read.
struct Arguments {
  std::vector<std::vector<int64_t>> shapes;  // of each parameter
  std::vector<int64_t> symbols;
  std::vector<Bytes> inputs;
};

/// The symbols' values follow from the shapes of the inputs where a dimension is just a symbol, or
/// are given by name. Errors name the parameter.
Arguments arguments_of(const ir::LoopFunc& func, const nanobind::list& inputs,
                       const std::map<std::string, int64_t>& symbols);

/// Bytes as a NumPy array that owns them, aligned for every kernel.
Bytes new_bytes(int64_t size);
/// (element type, shape, bytes)
nanobind::object tensor_object(ir::Elem elem, const std::vector<int64_t>& shape,
                               const Bytes& bytes);

}  // namespace tilewright::python
