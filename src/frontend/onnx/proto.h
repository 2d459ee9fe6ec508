// SPDX-License-Identifier: Apache-2.0
// The messages of onnx.proto as plain structs: the fields that the importer reads, under their own
// names. Texts and tensor data are views into the file.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/onnx/wire.h"

namespace tilewright::frontend::onnx {

struct GraphProto;

struct StringStringEntryProto {
  std::string_view key, value;
};

struct OperatorSetIdProto {
  std::string_view domain;
  int64_t version = 0;
};

/// Numbers of typed fields are kept as the file has them, in pieces: one when they are packed.
struct TensorProto {
  std::string_view name;
  std::vector<int64_t> dims;
  int64_t data_type = 0;
  bool segmented = false;
  bool external = false;
  std::optional<Bytes> raw_data;
  std::vector<Bytes> float_data, int32_data, int64_data, double_data, uint64_data;
  std::vector<std::string_view> string_data;
  std::vector<StringStringEntryProto> external_data;
};

struct SparseTensorProto {
  TensorProto values, indices;
  std::vector<int64_t> dims;
};

struct TypeProto {
  enum class Kind : uint8_t { None, Tensor, Sequence, Map, Optional, SparseTensor, Opaque };
  /// Nothing known, a number, or a name.
  using Dimension = std::variant<std::monostate, int64_t, std::string_view>;

  Kind kind = Kind::None;
  int64_t elem_type = 0;                        // of a tensor
  std::optional<std::vector<Dimension>> shape;  // of a tensor; nothing: not even the rank
  std::unique_ptr<TypeProto> element;           // of a sequence or an optional; the values of a map
};

struct ValueInfoProto {
  std::string_view name;
  TypeProto type;
};

struct AttributeProto {
  enum Type : uint8_t {
    UNDEFINED = 0,
    FLOAT = 1,
    INT = 2,
    STRING = 3,
    TENSOR = 4,
    GRAPH = 5,
    FLOATS = 6,
    INTS = 7,
    STRINGS = 8,
    TENSORS = 9,
    GRAPHS = 10,
    SPARSE_TENSOR = 11,
    SPARSE_TENSORS = 12,
    TYPE_PROTO = 13,
    TYPE_PROTOS = 14,
  };

  std::string_view name, ref_attr_name;
  int64_t type = UNDEFINED;  // where the file says none, that of the field it has
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::unique_ptr<TensorProto> t;
  std::unique_ptr<GraphProto> g;
  std::unique_ptr<SparseTensorProto> sparse_tensor;
  std::unique_ptr<TypeProto> tp;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<TensorProto> tensors;
};

struct NodeProto {
  std::vector<std::string_view> input, output;
  std::string_view name, op_type, domain, overload;
  std::vector<AttributeProto> attribute;
  int64_t number = 0;  // counted from 0 in the graph or function that holds it
  int64_t size = 0;    // in bytes of the file, without tensors
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> node;
  std::vector<TensorProto> initializer;
  std::vector<SparseTensorProto> sparse_initializer;
  std::vector<ValueInfoProto> input, output;
};

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> input, output;
  std::vector<AttributeProto> attribute_proto;  // attributes with their defaults
  std::vector<NodeProto> node;
  std::vector<OperatorSetIdProto> opset_import;
};

struct ModelProto {
  int64_t ir_version = 0, model_version = 0;
  std::string_view producer_name, producer_version, domain, doc_string;
  std::vector<OperatorSetIdProto> opset_import;
  std::vector<StringStringEntryProto> metadata_props;
  std::optional<GraphProto> graph;
  std::vector<FunctionProto> functions;
};

/// Nodes of all graphs and functions of a file together.
constexpr int64_t kMaxNodes = 1'000'000;

/// Reads the whole file. An Error with the place where it is not a model.
ModelProto read_model_proto(Bytes file);

}  // namespace tilewright::frontend::onnx
