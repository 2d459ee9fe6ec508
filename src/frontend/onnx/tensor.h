// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>

#include "frontend/onnx/external.h"
#include "frontend/onnx/import.h"
#include "frontend/onnx/proto.h"
#include "frontend/raw_tensor.h"

namespace tilewright::frontend::onnx {

constexpr int64_t kStringType = 8;  // of TensorProto.DataType

/// Refuses types that are not there; `what` names the user's object.
ir::Elem element_type(int64_t data_type, const std::string& what);

/// Tensors of a model as constants. Data that lies in a file as the IR wants it is viewed there;
/// everything else is decoded, once for each tensor.
class Tensors {
 public:
  /// `file` is the model's bytes, which `owner` keeps alive.
  Tensors(Bytes file, std::shared_ptr<const void> owner, const ImportOptions& options);

  /// `what` stands in errors: tensors of attributes have no name of their own.
  graph::Constant constant(const TensorProto& tensor, const std::string& what);
  /// Zeros where the sparse tensor has no value.
  graph::Constant constant(const SparseTensorProto& tensor, const std::string& what);

 private:
  graph::Constant decode(const TensorProto& tensor, const std::string& what);
  graph::Constant densify(const SparseTensorProto& tensor, const std::string& what);

  std::shared_ptr<const void> owner_;
  ExternalFiles external_;
  int64_t dense_left_;  // bytes that sparse tensors may still take
  std::unordered_map<const void*, graph::Constant> known_;
};

}  // namespace tilewright::frontend::onnx
