// SPDX-License-Identifier: Apache-2.0
// A module file seen where it lies in memory. Nothing is copied or allocated; every range and index
// that leads from one part of the file to another has been checked when a view is handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "module/code_image.h"
#include "module/format.h"
#include "module/isa.h"
#include "module/module.h"
#include "module/plan.h"
#include "support/bare/error_text.h"

namespace tilewright {

struct PlanView {
  std::span<const int64_t> constants;
  uint32_t registers = 0;
  std::span<const DimBinding> bindings;
  std::span<const PlanValue> values;
  std::span<const Reg> dims;
  std::span<const uint32_t> code;
  uint32_t prologue_words = 0;
  std::span<const uint32_t> attributes;
  Reg arena_bytes = 0;
  int64_t arena_max = 0, workspace_max = 0, scratch_max = 0;
};

struct VariantView {
  IsaNeeds needs;
  const char* triple = "";
  PlanView plan;
  std::span<const std::byte> code;
  std::span<const CodeSegment> segments;
  std::span<const CodeRelocation> relocations;
  std::span<const format::KernelRecord> kernels;
  std::span<const KernelParam> params;
};

struct ModuleView {
  bool flush_subnormals = false;
  uint32_t variants = 0;
  std::span<const char> names;
  std::span<const format::PortRecord> inputs;
  std::span<const format::PortRecord> outputs;
  std::span<const format::DimRecord> dims;
  std::span<const format::MetadataRecord> metadata;
  std::span<const uint32_t> host_ops;
  std::span<const format::ConstantRecord> constants;
  std::span<const std::byte> constant_bytes;

  const char* name(uint32_t offset) const { return names.data() + offset; }

  // For variant().
  std::span<const std::byte> file;
  std::span<const format::SectionEntry> sections;
  std::span<const format::VariantEntry> variant_table;
};

/// The shape of an input's default, in `dims`, which has room for its rank.
inline std::span<const int64_t> default_shape(const ModuleView& view,
                                              const format::PortRecord& input, int64_t* dims) {
  for (uint32_t i = 0; i < input.rank; ++i) dims[i] = view.dims[input.first_dim + i].preset;
  return {dims, input.rank};
}

enum class Verify : uint8_t { AllButConstants, Full };

/// The view of a file's bytes, which start at an address that is a multiple of 64. False, and what
/// is wrong, when they are no intact module that this runtime can read.
bool view_module(std::span<const std::byte> file, Verify verify, ModuleView& view,
                 ErrorText& error);

/// What a variant needs; looks at the tables only.
IsaNeeds needs_of(const ModuleView& view, uint32_t variant);

/// The view of one variant. Its plan is not yet verified: verify_plan does that.
bool view_variant(const ModuleView& module, uint32_t variant, VariantView& view, ErrorText& error);

}  // namespace tilewright
