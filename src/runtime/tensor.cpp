// SPDX-License-Identifier: Apache-2.0
#include "runtime/tensor.h"

namespace tilewright::runtime {
namespace {

// DLDataTypeCode.
enum Code : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3fn = 10,
  kFloat8E4M3fnuz = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2fnuz = 13,
  kFloat8E8M0fnu = 14,
  kFloat4E2M1fn = 17,
};

constexpr uint8_t kNoCode = 255;

constexpr uint8_t code_of(ElemType elem) {
  switch (elem) {
    case ElemType::Bool: return kBool;
    case ElemType::I2:
    case ElemType::I4:
    case ElemType::I8:
    case ElemType::I16:
    case ElemType::I32:
    case ElemType::I64: return kInt;
    case ElemType::U2:
    case ElemType::U4:
    case ElemType::U8:
    case ElemType::U16:
    case ElemType::U32:
    case ElemType::U64: return kUInt;
    case ElemType::F8E4M3: return kFloat8E4M3fn;
    case ElemType::F8E4M3FNUZ: return kFloat8E4M3fnuz;
    case ElemType::F8E5M2: return kFloat8E5M2;
    case ElemType::F8E5M2FNUZ: return kFloat8E5M2fnuz;
    case ElemType::F8E8M0: return kFloat8E8M0fnu;
    case ElemType::F4E2M1: return kFloat4E2M1fn;
    case ElemType::F16:
    case ElemType::F32:
    case ElemType::F64: return kFloat;
    case ElemType::BF16: return kBfloat;
    case ElemType::C64:
    case ElemType::C128: return kComplex;
    case ElemType::String: break;
  }
  return kNoCode;
}

}  // namespace

int elem_of(const tw_tensor& tensor) {
  if (tensor.type_lanes != 1 || tensor.type_code == kNoCode) return -1;
  for (int i = 0; i < kElemTypeCount; ++i) {
    const auto elem = static_cast<ElemType>(i);
    if (code_of(elem) == tensor.type_code && bits_of(elem) == tensor.type_bits) return i;
  }
  return -1;
}

bool set_elem(tw_tensor& tensor, ElemType elem) {
  tensor.type_code = code_of(elem);
  tensor.type_bits = static_cast<uint8_t>(bits_of(elem));
  tensor.type_lanes = 1;
  return elem != ElemType::String;
}

tw_tensor tensor_view(void* data, ElemType elem, std::span<int64_t> dims) {
  tw_tensor view{.data = data,
                 .device_type = 1,
                 .rank = static_cast<int32_t>(dims.size()),
                 .dims = dims.data()};
  set_elem(view, elem);
  return view;
}

bool is_compact(const tw_tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  for (int32_t i = 0; i < tensor.rank; ++i)
    if (tensor.dims[i] == 0) return true;
  int64_t stride = 1;
  for (int32_t i = tensor.rank - 1; i >= 0; --i) {
    if (tensor.dims[i] != 1 && tensor.strides[i] != stride) return false;
    stride *= tensor.dims[i];
  }
  return true;
}

}  // namespace tilewright::runtime
