// SPDX-License-Identifier: Apache-2.0
// A module as the compiler builds it, before writer.h puts it into a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "module/code_image.h"
#include "module/elem.h"
#include "module/isa.h"
#include "module/plan.h"

namespace tilewright {

/// One dimension of an input or output, for those who ask; the plan's bindings check it.
struct PortDim {
  int64_t value = -1;  // −1: not constant
  std::string
      symbol;  // of one that is not constant: `batch`, or `2*h + 1`; "" when only a run can tell
  int64_t min = 0;
  int64_t max = INT64_MAX;
  int64_t divisor = 1;
  int64_t preset = 0;  // of an input with a default: what it is there
};

/// An input or output.
struct Port {
  std::string name;
  ValueType type;
  std::vector<PortDim> dims;  // none for sequences and optionals
  uint32_t alignment = 1;     // bytes, a power of two: what kernels were compiled for
  /// Outputs: the input whose storage it takes over. When the caller does not donate that input,
  /// the runtime copies it into the output's memory before the plan runs; kernels update the
  /// output's value in place.
  uint32_t donor = kNone;
  /// Inputs: the constant of the module that they are when the caller does not give them.
  uint32_t preset = kNone;
};

/// Bytes that are only looked at: a weight in the mapped model file, or a packed one that `owner`
/// keeps. A tensor of n strings is n + 1 u64 offsets, then the characters.
struct ConstantData {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner;
};

/// How one parameter of a kernel is used.
struct KernelParam {
  enum class Access : uint8_t { Read = 1, Write = 2, Update = 3 };
  Access access = Access::Read;
  uint8_t log2_alignment = 0;
};

/// What a plan's Call names.
struct KernelEntry {
  std::string name;     // for people: errors, traces
  uint64_t offset = 0;  // of its code in the image
  std::vector<KernelParam> params;
  uint32_t scalars = 0;
};

/// Code for one kind of machine, and the plan that calls it.
struct ModuleVariant {
  std::string triple;  // "x86_64-unknown-linux-gnu"
  IsaNeeds needs;
  CodeImage code;
  std::vector<KernelEntry> kernels;
  Plan plan;
};

/// Texts by their offset in the names section; the same text has one place.
class Names {
 public:
  uint32_t add(std::string_view text);
  const std::string& bytes() const { return bytes_; }  // each text followed by a 0

 private:
  std::string bytes_;
  std::unordered_map<std::string, uint32_t> offsets_;
};

struct Module {
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<ConstantData> constants;
  std::vector<std::string> host_ops;    // what the plans' HostCalls name
  std::vector<ModuleVariant> variants;  // at least one; the best that a machine can run is taken
  bool flush_subnormals = false;
  Names names;  // of the plans: symbols, messages, attributes
};

}  // namespace tilewright
