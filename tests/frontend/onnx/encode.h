// SPDX-License-Identifier: Apache-2.0
// Writes protobuf messages, and small ONNX models of them.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/onnx/import.h"

namespace tilewright::frontend::onnx {

/// A message in the making: fields in the order they are added.
class Message {
 public:
  Message& number(uint32_t field, int64_t value) {
    varint(uint64_t{field} << 3);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& text(uint32_t field, std::string_view value) {
    varint(uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes += value;
    return *this;
  }
  Message& message(uint32_t field, const Message& value) { return text(field, value.bytes); }
  Message& f32(uint32_t field, float value) {
    varint(uint64_t{field} << 3 | 5);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  /// A packed row of varints.
  Message& numbers(uint32_t field, const std::vector<int64_t>& values) {
    Message packed;
    for (const int64_t v : values) packed.varint(static_cast<uint64_t>(v));
    return text(field, packed.bytes);
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
  }

  std::string bytes;
};

/// ValueInfoProto: dimensions that are digits are numbers, "?" is unknown, others are names.
inline Message value_info(std::string_view name, int elem = 1,
                          const std::vector<std::string>& shape = {}) {
  Message dims;
  for (const std::string& d : shape) {
    Message dim;
    if (d.find_first_not_of("-0123456789") == std::string::npos)
      dim.number(1, std::stoll(d));
    else if (d != "?")
      dim.text(2, d);
    dims.message(1, dim);
  }
  return Message().text(1, name).message(
      2, Message().message(1, Message().number(1, elem).message(2, dims)));
}

inline Message int_attr(std::string_view name, int64_t value) {
  return Message().text(1, name).number(3, value).number(20, 2);
}
/// Inside of a function: the value that its caller gives for `from`.
inline Message ref_attr(std::string_view name, std::string_view from, int type) {
  return Message().text(1, name).text(21, from).number(20, type);
}
inline Message graph_attr(std::string_view name, const Message& graph) {
  return Message().text(1, name).message(6, graph).number(20, 5);
}

inline Message node(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, std::vector<Message> attributes = {},
                    std::string_view name = "", std::string_view domain = "") {
  Message out;
  for (const std::string& i : inputs) out.text(1, i);
  for (const std::string& o : outputs) out.text(2, o);
  if (!name.empty()) out.text(3, name);
  out.text(4, op);
  for (const Message& a : attributes) out.message(5, a);
  if (!domain.empty()) out.text(7, domain);
  return out;
}

/// TensorProto of float_data.
inline Message tensor(std::string_view name, const std::vector<int64_t>& dims,
                      const std::vector<float>& values) {
  Message out;
  for (const int64_t d : dims) out.number(1, d);
  out.number(2, 1);
  for (const float v : values) out.f32(4, v);
  return out.text(8, name);
}
/// TensorProto of raw_data.
inline Message raw_tensor(std::string_view name, const std::vector<int64_t>& dims, int elem,
                          std::string_view raw) {
  Message out;
  for (const int64_t d : dims) out.number(1, d);
  return out.number(2, elem).text(8, name).text(9, raw);
}

struct GraphParts {
  std::vector<Message> nodes = {}, inputs = {}, outputs = {}, initializers = {}, sparse = {};
};
inline Message graph(const GraphParts& parts) {
  Message out;
  out.text(2, "g");
  for (const Message& n : parts.nodes) out.message(1, n);
  for (const Message& t : parts.initializers) out.message(5, t);
  for (const Message& i : parts.inputs) out.message(11, i);
  for (const Message& o : parts.outputs) out.message(12, o);
  for (const Message& s : parts.sparse) out.message(15, s);
  return out;
}
inline Message opset(int64_t version, std::string_view domain = "") {
  return Message().text(1, domain).number(2, version);
}
struct FunctionParts {
  std::string name;
  std::vector<std::string> inputs = {}, outputs = {};
  std::vector<Message> nodes = {}, defaults = {};
};
/// A function of domain "my", in terms of opset 21.
inline Message function(const FunctionParts& parts) {
  Message out;
  out.text(1, parts.name).text(10, "my").message(9, opset(21)).message(9, opset(1, "my"));
  for (const std::string& i : parts.inputs) out.text(4, i);
  for (const std::string& o : parts.outputs) out.text(5, o);
  for (const Message& n : parts.nodes) out.message(7, n);
  for (const Message& d : parts.defaults) out.message(11, d);
  return out;
}
inline Message model(const GraphParts& parts, int64_t opset_version = 21, int64_t ir_version = 10) {
  return Message().number(1, ir_version).message(8, opset(opset_version)).message(7, graph(parts));
}

inline Bytes as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

inline graph::Graph import_bytes(const std::string& bytes, const ImportOptions& options = {}) {
  const auto owner = std::make_shared<const std::string>(bytes);
  return read_model(as_bytes(*owner), owner, options);
}
inline graph::Graph import(const Message& model, const ImportOptions& options = {}) {
  return import_bytes(model.bytes, options);
}

}  // namespace tilewright::frontend::onnx
