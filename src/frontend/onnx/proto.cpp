// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of onnx.proto. A message that comes twice where one is meant is merged,
// as protobuf has it: the readers add to what is there.
#include "frontend/onnx/proto.h"

#include <cstring>

#include "support/str.h"

namespace tilewright::frontend::onnx {
namespace {

void add_ints(const Wire& in, std::vector<int64_t>& to) {
  Bytes packed = in.varints();
  while (!packed.empty()) {
    uint64_t value = 0;
    if (!take_varint(packed, value))
      in.refuse("frontend.onnx.varint", str("a number of field ", in.field(), " is cut off"));
    to.push_back(static_cast<int64_t>(value));
  }
}

void add_floats(const Wire& in, std::vector<float>& to) {
  const Bytes packed = in.fixed32();
  const size_t before = to.size();
  to.resize(before + packed.size() / sizeof(float));
  if (!packed.empty()) std::memcpy(to.data() + before, packed.data(), packed.size());
}

template <class T>
T& made(std::unique_ptr<T>& at) {
  if (!at) at = std::make_unique<T>();
  return *at;
}

void read(Wire in, StringStringEntryProto& out) {
  while (in.next()) switch (in.field()) {
      case 1: out.key = in.text(); break;
      case 2: out.value = in.text(); break;
    }
}

void read(Wire in, OperatorSetIdProto& out) {
  while (in.next()) switch (in.field()) {
      case 1: out.domain = in.text(); break;
      case 2: out.version = in.integer(); break;
    }
}

void read(Wire in, TensorProto& out) {
  while (in.next()) switch (in.field()) {
      case 1: add_ints(in, out.dims); break;
      case 2: out.data_type = in.integer(); break;
      case 3: out.segmented = true; break;
      case 4: out.float_data.push_back(in.fixed32()); break;
      case 5: out.int32_data.push_back(in.varints()); break;
      case 6: out.string_data.push_back(in.text()); break;
      case 7: out.int64_data.push_back(in.varints()); break;
      case 8: out.name = in.text(); break;
      case 9: out.raw_data = in.bytes(); break;
      case 10: out.double_data.push_back(in.fixed64()); break;
      case 11: out.uint64_data.push_back(in.varints()); break;
      case 13: read(in.message(), out.external_data.emplace_back()); break;
      case 14: out.external = in.integer() == 1; break;
    }
}

void read(Wire in, SparseTensorProto& out) {
  while (in.next()) switch (in.field()) {
      case 1: read(in.message(), out.values); break;
      case 2: read(in.message(), out.indices); break;
      case 3: add_ints(in, out.dims); break;
    }
}

void read(Wire in, TypeProto::Dimension& out) {
  while (in.next()) switch (in.field()) {
      case 1: out = in.integer(); break;
      case 2: out = in.text(); break;
    }
}

void read_shape(Wire in, std::vector<TypeProto::Dimension>& out) {
  while (in.next())
    if (in.field() == 1) read(in.message(), out.emplace_back());
}

void read_tensor_type(Wire in, TypeProto& out) {
  while (in.next()) switch (in.field()) {
      case 1: out.elem_type = in.integer(); break;
      case 2:
        if (!out.shape) out.shape.emplace();
        read_shape(in.message(), *out.shape);
        break;
    }
}

void read(Wire in, TypeProto& out);

void read_element_type(Wire in, TypeProto& out) {
  while (in.next())
    if (in.field() == 1) read(in.message(), made(out.element));
}

void read_map_type(Wire in, TypeProto& out) {
  while (in.next())
    if (in.field() == 2) read(in.message(), made(out.element));
}

void read(Wire in, TypeProto& out) {
  using Kind = TypeProto::Kind;
  const auto is = [&](Kind kind) {
    if (out.kind != kind) out = {.kind = kind, .elem_type = 0, .shape = {}, .element = {}};
  };
  while (in.next()) switch (in.field()) {
      case 1: is(Kind::Tensor), read_tensor_type(in.message(), out); break;
      case 4: is(Kind::Sequence), read_element_type(in.message(), out); break;
      case 5: is(Kind::Map), read_map_type(in.message(), out); break;
      case 7: is(Kind::Opaque); break;
      case 8: is(Kind::SparseTensor); break;
      case 9: is(Kind::Optional), read_element_type(in.message(), out); break;
    }
}

void read(Wire in, ValueInfoProto& out) {
  while (in.next()) switch (in.field()) {
      case 1: out.name = in.text(); break;
      case 2: read(in.message(), out.type); break;
    }
}

class Reader {
 public:
  void read(Wire in, ModelProto& out) {
    while (in.next()) switch (in.field()) {
        case 1: out.ir_version = in.integer(); break;
        case 2: out.producer_name = in.text(); break;
        case 3: out.producer_version = in.text(); break;
        case 4: out.domain = in.text(); break;
        case 5: out.model_version = in.integer(); break;
        case 6: out.doc_string = in.text(); break;
        case 7:
          if (!out.graph) out.graph.emplace();
          read(in.message(), *out.graph);
          break;
        case 8: onnx::read(in.message(), out.opset_import.emplace_back()); break;
        case 14: onnx::read(in.message(), out.metadata_props.emplace_back()); break;
        case 25: read(in.message(), out.functions.emplace_back()); break;
      }
  }

 private:
  void read(Wire in, GraphProto& out) {
    while (in.next()) switch (in.field()) {
        case 1: add_node(in, out.node); break;
        case 2: out.name = in.text(); break;
        case 5:
          onnx::read(in.message(), out.initializer.emplace_back());
          check_name(in, out.initializer.back().name, "an initialiser");
          break;
        case 11:
          onnx::read(in.message(), out.input.emplace_back());
          check_name(in, out.input.back().name, "an input");
          break;
        case 12: onnx::read(in.message(), out.output.emplace_back()); break;
        case 15:
          onnx::read(in.message(), out.sparse_initializer.emplace_back());
          check_name(in, out.sparse_initializer.back().values.name, "a sparse initialiser");
          break;
      }
  }

  void read(Wire in, FunctionProto& out) {
    while (in.next()) switch (in.field()) {
        case 1: out.name = in.text(); break;
        case 4: out.input.push_back(in.text()); break;
        case 5: out.output.push_back(in.text()); break;
        case 7: add_node(in, out.node); break;
        case 9: onnx::read(in.message(), out.opset_import.emplace_back()); break;
        case 10: out.domain = in.text(); break;
        case 11: add_attribute(in, out.attribute_proto); break;
        case 13: out.overload = in.text(); break;
      }
  }

  // Empty messages are two bytes in a file, and hundreds in memory: what has no name is refused
  // where it stands.
  static void check_name(const Wire& in, std::string_view name, const char* what) {
    if (name.empty()) in.refuse("frontend.onnx.no_name", str(what, " without a name"));
  }

  void add_node(const Wire& in, std::vector<NodeProto>& to) {
    if (++nodes_ > kMaxNodes)
      in.refuse("frontend.onnx.nodes", str("more than ", kMaxNodes, " nodes"));
    NodeProto& node = to.emplace_back();
    node.number = static_cast<int64_t>(to.size()) - 1;
    const int64_t tensor_bytes = tensor_bytes_;
    read(in.message(), node);
    node.size = static_cast<int64_t>(in.bytes().size()) - (tensor_bytes_ - tensor_bytes);
    check_name(in, node.op_type, "an operator");
  }

  void add_attribute(const Wire& in, std::vector<AttributeProto>& to) {
    AttributeProto& attribute = to.emplace_back();
    read(in.message(), attribute);
    check_name(in, attribute.name, "an attribute");
  }

  void read(Wire in, NodeProto& out) {
    while (in.next()) switch (in.field()) {
        case 1: out.input.push_back(in.text()); break;
        case 2: out.output.push_back(in.text()); break;
        case 3: out.name = in.text(); break;
        case 4: out.op_type = in.text(); break;
        case 5: add_attribute(in, out.attribute); break;
        case 7: out.domain = in.text(); break;
        case 8: out.overload = in.text(); break;
      }
  }

  void read(Wire in, AttributeProto& out) {
    using Type = AttributeProto::Type;
    Type found = Type::UNDEFINED;
    while (in.next()) switch (in.field()) {
        case 1: out.name = in.text(); break;
        case 2: out.f = in.f32(), found = Type::FLOAT; break;
        case 3: out.i = in.integer(), found = Type::INT; break;
        case 4: out.s = in.text(), found = Type::STRING; break;
        case 5: read_tensor(in, made(out.t)), found = Type::TENSOR; break;
        case 6: read(in.message(), made(out.g)), found = Type::GRAPH; break;
        case 7: add_floats(in, out.floats), found = Type::FLOATS; break;
        case 8: add_ints(in, out.ints), found = Type::INTS; break;
        case 9: out.strings.push_back(in.text()), found = Type::STRINGS; break;
        case 10: onnx::read(in.message(), out.tensors.emplace_back()), found = Type::TENSORS; break;
        case 14: onnx::read(in.message(), made(out.tp)), found = Type::TYPE_PROTO; break;
        case 20: out.type = in.integer(); break;
        case 21: out.ref_attr_name = in.text(); break;
        case 22: read_tensor(in, made(out.sparse_tensor)), found = Type::SPARSE_TENSOR; break;
      }
    if (out.type == Type::UNDEFINED) out.type = found;
  }

  template <class T>
  void read_tensor(const Wire& in, T& out) {
    tensor_bytes_ += static_cast<int64_t>(in.bytes().size());
    onnx::read(in.message(), out);
  }

  int64_t nodes_ = 0;
  int64_t tensor_bytes_ = 0;  // of attributes read so far
};

}  // namespace

ModelProto read_model_proto(Bytes file) {
  ModelProto model;
  Reader().read(Wire(file), model);
  return model;
}

}  // namespace tilewright::frontend::onnx
