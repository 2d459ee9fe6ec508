// SPDX-License-Identifier: Apache-2.0
#include "runtime/loaded.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <unistd.h>

#include "runtime/cpu.h"

namespace tilewright::runtime {
namespace {

void log(const LoadOptions& options, const char* line) {
  if (options.log != nullptr) options.log(options.log_user, line);
}

void write_type(ValueType type, char* text, size_t bytes) {
  const char* wraps[] = {"", "sequence(", "optional("};
  size_t at = 0, depth = 0;
  for (const ValueType::Wrap w : type.wraps) {
    const int n = std::snprintf(text + at, bytes - at, "%s", wraps[static_cast<int>(w)]);
    at += static_cast<size_t>(n);
    depth += w != ValueType::Wrap::None;
  }
  std::snprintf(text + at, bytes - at, "%s%.*s", name_of(type.elem), static_cast<int>(depth),
                ")))");
}

}  // namespace

LoadedModule* LoadedModule::create(const Allocator& allocator) {
  void* memory = allocator.get(sizeof(LoadedModule), alignof(LoadedModule));
  if (memory == nullptr) return nullptr;
  auto* module = new (memory) LoadedModule();
  module->allocator_ = allocator;
  module->pool_ = BlockPool::create(allocator, SIZE_MAX);
  if (module->pool_ != nullptr) return module;
  module->release();
  return nullptr;
}

void LoadedModule::release() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (pool_ != nullptr) pool_->close();
  const Allocator allocator = allocator_;
  this->~LoadedModule();
  allocator.put(this, sizeof *this);
}

tw_status LoadedModule::load(const char* path, const LoadOptions& options, LoadedModule*& module,
                             ErrorText& error) {
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    error.set("cannot open `%s`: %s", path, std::strerror(errno));
    return TW_IO_ERROR;
  }
  const tw_status status = load(descriptor, path, options, module, error);
  close(descriptor);
  return status;
}

tw_status LoadedModule::load(int descriptor, const char* name, const LoadOptions& options,
                             LoadedModule*& module, ErrorText& error) {
  LoadedModule* loaded = create(options.allocator);
  if (loaded == nullptr) {
    error.set("no memory to load a module");
    return TW_OUT_OF_MEMORY;
  }
  tw_status status = TW_IO_ERROR;
  if (loaded->file_.map(descriptor, name, options.verify == Verify::Full, error))
    status = loaded->open(loaded->file_.bytes(), true, options, error);
  if (status == TW_OK)
    module = loaded;
  else
    loaded->release();
  return status;
}

tw_status LoadedModule::load(std::span<const std::byte> bytes, const LoadOptions& options,
                             LoadedModule*& module, ErrorText& error) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % format::kConstantAlignment != 0) {
    error.set("a module in memory must start at a multiple of %d bytes",
              static_cast<int>(format::kConstantAlignment));
    return TW_INVALID_ARGUMENT;
  }
  LoadedModule* loaded = create(options.allocator);
  if (loaded == nullptr) {
    error.set("no memory to load a module");
    return TW_OUT_OF_MEMORY;
  }
  const tw_status status = loaded->open(bytes, false, options, error);
  if (status == TW_OK)
    module = loaded;
  else
    loaded->release();
  return status;
}

tw_status LoadedModule::open(std::span<const std::byte> bytes, bool in_place,
                             const LoadOptions& options, ErrorText& error) {
  if (!view_module(bytes, options.verify, view_, error)) return TW_BAD_MODULE;
  if (const tw_status s = choose_variant(options, error); s != TW_OK) return s;
  if (!verify_plan(view_, variant_, allocator_, facts_, error)) return TW_BAD_MODULE;
  if (const tw_status s = resolve(error); s != TW_OK) return s;
  if (!code_.map(variant_, in_place, error)) return TW_UNSUPPORTED;
  if (code_.copied() && in_place)
    log(options, "code: copied, the file's pages may not be executed");
  if (!kernels_.resize(allocator_, variant_.kernels.size())) {
    error.set("no memory to load a module");
    return TW_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < kernels_.size(); ++i)
    kernels_[i] = code_.kernel(variant_.kernels[i].offset);
  return TW_OK;
}

/// Of the variants that this machine can run, the one that uses most of it. Nothing of a variant
/// but its row of the table is looked at before that.
tw_status LoadedModule::choose_variant(const LoadOptions& options, ErrorText& error) {
  const IsaNeeds machine = this_machine();
  uint32_t best = kNone, closest = kNone;
  for (uint32_t i = 0; i < view_.variants; ++i) {
    const IsaNeeds needs = needs_of(view_, i);
    const auto more = [&](uint32_t than) {
      return than == kNone || std::popcount(needs.bits) > std::popcount(needs_of(view_, than).bits);
    };
    if (covers(machine, needs) && more(best)) best = i;
    if (needs.arch == machine.arch && (closest == kNone || !more(closest))) closest = i;
  }
  if (best == kNone) {
    if (view_.variants == 0) {
      error.set("the module holds no code");
      return TW_BAD_MODULE;
    }
    char missing[256];
    describe_missing(machine, needs_of(view_, closest == kNone ? 0 : closest), missing,
                     sizeof missing);
    error.set(
        "the module needs %s, which this machine (%s) does not have: compile the model for "
        "this machine, or with a further variant for it",
        missing, name_of(machine.arch));
    return TW_UNSUPPORTED;
  }
  if (!view_variant(view_, best, variant_, error)) return TW_BAD_MODULE;
  describe(variant_.needs, features_, sizeof features_);
  char line[600];
  std::snprintf(line, sizeof line, "variant: %u of %u, for %s", best + 1, view_.variants,
                features_);
  log(options, line);
  return TW_OK;
}

tw_status LoadedModule::resolve(ErrorText& error) {
  if (!host_ops_.resize(allocator_, view_.host_ops.size()) || !name_types()) {
    error.set("no memory to load a module");
    return TW_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < host_ops_.size(); ++i) {
    host_ops_[i] = find_host_op(name(view_.host_ops[i]));
    if (host_ops_[i] == nullptr) {
      error.set(
          "the module needs host operator `%s`, which this runtime does not have: use the "
          "runtime that belongs to the compiler",
          name(view_.host_ops[i]));
      return TW_UNSUPPORTED;
    }
  }
  return TW_OK;
}

bool LoadedModule::name_types() {
  if (!types_.resize(allocator_, view_.inputs.size() + view_.outputs.size())) return false;
  size_t next = 0;
  for (const auto& ports : {view_.inputs, view_.outputs})
    for (const format::PortRecord& p : ports) {
      write_type(p.type, types_[next].text, sizeof types_[next].text);
      ++next;
    }
  return true;
}

}  // namespace tilewright::runtime
