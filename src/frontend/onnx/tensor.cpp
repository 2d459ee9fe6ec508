// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/tensor.h"

#include <algorithm>
#include <cstring>

#include "graph/onnx_node.h"
#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {
namespace {

using graph::Constant;
using ir::Elem;

[[noreturn]] void refuse(std::string_view code, const std::string& what, std::string fact,
                         std::string help) {
  throw Error({.code = code,
               .at = {},
               .message = str(what, ": ", fact),
               .notes = {},
               .help = std::move(help)});
}

std::vector<std::byte> joined(const std::vector<Bytes>& pieces) {
  std::vector<std::byte> out;
  for (const Bytes& piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

/// Numbers written as varints, each stored in `width` bytes.
///   int32_data [1, 300] of uint16   ->   01 00 2c 01
/// 16-bit and 8-bit floats are written as their bits, 4-bit and 2-bit numbers as packed bytes.
std::vector<std::byte> from_varints(const std::string& what, const std::vector<Bytes>& pieces,
                                    Elem elem) {
  const bool is_bits = ir::is_float(elem) || ir::bits(elem) < 8;
  const size_t width = width_of(elem);
  int64_t least = 0, greatest = (int64_t{1} << (8 * std::min<size_t>(width, 7))) - 1;
  if (ir::bits(elem) == 64) {
    least = INT64_MIN, greatest = INT64_MAX;  // u64 by its bits
  } else if (!is_bits) {
    least = ir::int_min(elem), greatest = static_cast<int64_t>(ir::int_max(elem));
  }
  std::vector<std::byte> out;
  for (Bytes piece : pieces)
    while (!piece.empty()) {
      uint64_t bits = 0;
      if (!take_varint(piece, bits))
        refuse("frontend.onnx.tensor_data", what, "a number of its data is cut off",
               "the file may be damaged: export or download the model again");
      const int64_t value = static_cast<int64_t>(bits);
      if (value < least || value > greatest)
        refuse("frontend.onnx.tensor_data", what,
               str("the value ", value, " does not fit into ", ir::name(elem)),
               "export the model again");
      const size_t at = out.size();
      out.resize(at + width);
      std::memcpy(out.data() + at, &bits, width);
    }
  return out;
}

}  // namespace

Elem element_type(int64_t data_type, const std::string& what) {
  const std::optional<Elem> elem = graph::elem_from_onnx(data_type);
  if (elem) return *elem;
  constexpr std::pair<int64_t, const char*> kMissing[] = {
      {14, "complex64"},
      {15, "complex128"},
      {27, "float6e2m3"},
      {28, "float6e3m2"},
  };
  for (const auto& [number, name] : kMissing)
    if (number == data_type)
      refuse("frontend.onnx.tensor_elem", what, str("its elements are ", name),
             "this type is not there yet: convert it to another one");
  refuse("frontend.onnx.tensor_elem", what, str("unknown element type ", data_type),
         "use one of TensorProto.DataType in onnx.proto, or a newer version of Tilewright");
}

// A sparse tensor takes its dense size in memory, however small the file. The limit is far above
// what is worth storing sparse.
Tensors::Tensors(Bytes file, std::shared_ptr<const void> owner, const ImportOptions& options)
    : owner_(std::move(owner)),
      external_(options.folder, options.on_file),
      dense_left_((int64_t{128} << 20) + 64 * static_cast<int64_t>(file.size())) {}

Constant Tensors::constant(const TensorProto& tensor, const std::string& what) {
  Constant& known = known_[&tensor];
  if (!known) known = decode(tensor, what);
  return known;
}

Constant Tensors::constant(const SparseTensorProto& tensor, const std::string& what) {
  Constant& known = known_[&tensor];
  if (!known) known = densify(tensor, what);
  return known;
}

Constant Tensors::decode(const TensorProto& tensor, const std::string& what) {
  const int64_t count = checked_count(tensor.dims, what);
  const auto expect = [&](int64_t there, int64_t wanted, const char* unit) {
    if (there != wanted)
      refuse("frontend.onnx.tensor_data", what,
             str("it has ", there, " ", unit, ", its shape takes ", wanted),
             "the file may be damaged: export or download the model again");
  };
  if (tensor.segmented)
    refuse("frontend.onnx.tensor_data", what, "it is stored in segments",
           "export the model with whole tensors");
  if (tensor.data_type == kStringType) {
    expect(static_cast<int64_t>(tensor.string_data.size()), count, "strings");
    return graph::string_constant(tensor.dims,
                                  {tensor.string_data.begin(), tensor.string_data.end()});
  }
  const Elem elem = element_type(tensor.data_type, what);
  const int64_t size = graph::byte_size(elem, count);
  if (tensor.external) {
    const ExternalFiles::Data data = external_.read(tensor, what, size);
    return raw_tensor(elem, tensor.dims, data.bytes, data.file, what);
  }
  if (tensor.raw_data && (!tensor.raw_data->empty() || count == 0)) {
    expect(static_cast<int64_t>(tensor.raw_data->size()), size, "bytes");
    return raw_tensor(elem, tensor.dims, *tensor.raw_data, owner_, what);
  }
  const bool fixed = elem == Elem::F32 || elem == Elem::F64;
  if (fixed) {
    const std::vector<Bytes>& pieces = elem == Elem::F32 ? tensor.float_data : tensor.double_data;
    if (pieces.size() == 1 && static_cast<int64_t>(pieces[0].size()) == size)
      return raw_tensor(elem, tensor.dims, pieces[0], owner_, what);
    std::vector<std::byte> bytes = joined(pieces);
    expect(static_cast<int64_t>(bytes.size()), size, "bytes");
    return graph::make_constant(elem, tensor.dims, std::move(bytes));
  }
  const std::vector<Bytes>& pieces = elem == Elem::I64                        ? tensor.int64_data
                                     : elem == Elem::U64 || elem == Elem::U32 ? tensor.uint64_data
                                                                              : tensor.int32_data;
  std::vector<std::byte> bytes = from_varints(what, pieces, elem);
  expect(static_cast<int64_t>(bytes.size()), size, "bytes");
  return graph::make_constant(elem, tensor.dims, std::move(bytes));
}

/// values [7, 8], indices [1, 3], dims [5]   ->   [0, 7, 0, 8, 0]
/// The indices are places in row-major order, or a row of coordinates for each value.
Constant Tensors::densify(const SparseTensorProto& sparse, const std::string& what) {
  const int64_t count = checked_count(sparse.dims, what);
  const Constant values = decode(sparse.values, what), indices = decode(sparse.indices, what);
  const int64_t given = values->count();
  const size_t rank = sparse.dims.size();
  const bool linear = indices->shape == std::vector<int64_t>{given};
  const bool rows = indices->shape == std::vector<int64_t>{given, static_cast<int64_t>(rank)};
  if (values->shape.size() != 1 || values->is_strings || ir::bits(values->elem) < 8 ||
      indices->is_strings || indices->elem != Elem::I64 || !(linear || rows))
    refuse("frontend.onnx.sparse", what,
           str("values of shape ", graph::print(values->type()), " with indices ",
               graph::print(indices->type())),
           "give n values of one byte or more, and i64 indices of shape [n] or [n, rank]");
  const int64_t size = graph::byte_size(values->elem, count);
  if (size > dense_left_)
    refuse("frontend.onnx.sparse_size", what,
           str("dense it takes ", size, " bytes, far more than the file"),
           "store it as a dense tensor");
  dense_left_ -= size;
  const size_t width = width_of(values->elem);
  std::vector<std::byte> dense(static_cast<size_t>(size));
  for (int64_t i = 0; i < given; ++i) {
    int64_t place = 0;
    bool inside = true;
    if (linear) {
      place = graph::int_at(*indices, i);
      inside = place >= 0 && place < count;
    } else {
      for (size_t d = 0; d < rank && inside; ++d) {
        const int64_t at =
            graph::int_at(*indices, i * static_cast<int64_t>(rank) + static_cast<int64_t>(d));
        inside = at >= 0 && at < sparse.dims[d];
        place = inside ? place * sparse.dims[d] + at : 0;
      }
    }
    if (!inside)
      refuse("frontend.onnx.sparse", what, str("index ", i, " lies outside of its shape"),
             "the file may be damaged: export or download the model again");
    std::memcpy(dense.data() + static_cast<size_t>(place) * width,
                values->bytes.data() + static_cast<size_t>(i) * width, width);
  }
  return graph::make_constant(values->elem, sparse.dims, std::move(dense));
}

}  // namespace tilewright::frontend::onnx
