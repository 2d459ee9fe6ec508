// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "module/verify.h"
#include "module/view.h"
#include "runtime/blocks.h"
#include "runtime/code_map.h"
#include "runtime/host_ops/host_op.h"
#include "support/bare/memory.h"
#include "tilewright/runtime.h"

namespace tilewright::runtime {

struct LoadOptions {
  Verify verify = Verify::AllButConstants;
  Allocator allocator = system_allocator();
  void (*log)(void* user, const char* line) = nullptr;
  void* log_user = nullptr;
};

/// A verified module whose code is mapped. Immutable and counted: contexts and the caller hold it.
class LoadedModule {
 public:
  static tw_status load(const char* path, const LoadOptions& options, LoadedModule*& module,
                        ErrorText& error);
  static tw_status load(int descriptor, const char* name, const LoadOptions& options,
                        LoadedModule*& module, ErrorText& error);
  static tw_status load(std::span<const std::byte> bytes, const LoadOptions& options,
                        LoadedModule*& module, ErrorText& error);

  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release();

  const ModuleView& view() const { return view_; }
  const PlanView& plan() const { return variant_.plan; }
  const VariantView& variant() const { return variant_; }
  const PlanFacts& facts() const { return facts_; }
  const char* name(uint32_t offset) const { return view_.name(offset); }
  const tw_kernel* kernels() const { return kernels_.data(); }
  const HostOp* const* host_ops() const { return host_ops_.data(); }
  const char* features() const { return features_; }
  /// "sequence(f32)", of port i: inputs first, then outputs.
  const char* type_text(size_t port) const { return types_[port].text; }
  const Allocator& allocator() const { return allocator_; }
  /// For values that the caller makes.
  BlockPool& pool() { return *pool_; }

 private:
  struct TypeText {
    char text[48];
  };

  static LoadedModule* create(const Allocator& allocator);
  tw_status open(std::span<const std::byte> bytes, bool in_place, const LoadOptions& options,
                 ErrorText& error);
  tw_status choose_variant(const LoadOptions& options, ErrorText& error);
  tw_status resolve(ErrorText& error);
  bool name_types();

  std::atomic<int32_t> refs_{1};
  Allocator allocator_;
  FileMap file_;
  ModuleView view_;
  VariantView variant_;
  PlanFacts facts_;
  CodeMap code_;
  Array<tw_kernel> kernels_;
  Array<const HostOp*> host_ops_;
  Array<TypeText> types_;
  BlockPool* pool_ = nullptr;
  char features_[512] = "";
};

}  // namespace tilewright::runtime
