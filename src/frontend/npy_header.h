// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/bytes.h"

namespace tilewright::frontend {

/// What the header of a .npy file says.
///   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
struct NpyHeader {
  char order = '|';  // '<' little-endian, '>' big-endian, '|' single bytes
  char kind = 'V';   // f, i, u, b, c, V (bytes), S (bytes of text), U (text), O (Python objects)
  int64_t size = 0;  // bytes of an element; of U: characters
  bool fortran = false;
  std::vector<int64_t> shape;
  size_t data = 0;  // where the elements start
};
NpyHeader read_npy_header(Bytes file, const std::string& what);
/// The text that stands before the elements, all of it.
std::string write_npy_header(const std::string& descr, const std::vector<int64_t>& shape);

}  // namespace tilewright::frontend
