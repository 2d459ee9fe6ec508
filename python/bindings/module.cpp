// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <new>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "error.h"
#include "interrupt.h"
#include "lock.h"
#include "module/in_memory.h"
#include "support/write_file.h"
#include "values.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

using Bytes = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>, nb::c_contig>;

[[noreturn]] void fail(const std::string& what, int error) {
  refuse_value("python.module.file", "cannot read `" + what + "`: " + std::strerror(error),
               "name a .twm file that exists and can be read");
}

/// An open file, closed at the end.
struct File {
  File(int opened, const std::string& what) : fd(opened) {
    if (fd < 0) fail(what, errno);
  }
  ~File() { close(fd); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd;
};

/// The bytes of a module at an address that the runtime takes: a mapped file, or memory.
class Memory {
 public:
  explicit Memory(PagedMemory memory) : memory_(std::move(memory)), bytes_(memory_.span()) {}
  explicit Memory(const std::string& path) {
    const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
    struct stat about{};
    if (fstat(file.fd, &about) != 0) fail(path, errno);
    const auto size = static_cast<size_t>(about.st_size);
    if (size == 0) return;
    void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    bytes_ = {static_cast<const std::byte*>(data), size};
  }
  ~Memory() {
    if (memory_.size() == 0 && !bytes_.empty())
      munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  const void* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }

 private:
  PagedMemory memory_;  // empty where it is a file
  std::span<const std::byte> bytes_;
};

PagedMemory copy_of(const nb::bytes& bytes) {
  PagedMemory out(bytes.size());
  if (out.size() < bytes.size()) throw std::bad_alloc();
  if (bytes.size() > 0) std::memcpy(out.data(), bytes.c_str(), bytes.size());
  return out;
}

class Module {
 public:
  Module(const nb::bytes& twm, const ContextLimits& limits) : Module(copy_of(twm), limits) {}
  Module(const std::string& path, const ContextLimits& limits) : memory_(path), limits_(limits) {
    load();
  }
  Module(PagedMemory memory, const ContextLimits& limits)
      : memory_(std::move(memory)), limits_(limits) {
    load();
  }
  ~Module() {
    for (tw_context* context : idle_) tw_context_release(context);
    tw_module_release(module_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  nb::bytes bytes() const { return nb::bytes(memory_.data(), memory_.size()); }
  void save(const std::string& path) const {
    write_file(path, {static_cast<const char*>(memory_.data()), memory_.size()});
  }

  nb::list ports(bool inputs) const {
    nb::list out;
    const int32_t count = inputs ? tw_input_count(module_) : tw_output_count(module_);
    for (int32_t i = 0; i < count; ++i) {
      tw_port port;
      require_ok((inputs ? tw_input_port : tw_output_port)(module_, i, &port), nullptr);
      nb::list dims;
      for (int32_t d = 0; d < port.rank; ++d) {
        tw_dim dim;
        require_ok((inputs ? tw_input_dim : tw_output_dim)(module_, i, d, &dim), nullptr);
        if (dim.value >= 0)
          dims.append(dim.value);
        else
          dims.append(nb::str(dim.symbol));
      }
      out.append(nb::make_tuple(nb::str(port.name), nb::str(port.type), nb::tuple(dims)));
    }
    return out;
  }

  /// Names of the inputs that a run may leave out.
  nb::list defaults() const {
    nb::list out;
    for (int32_t i = 0; i < tw_input_count(module_); ++i) {
      tw_port port;
      require_ok(tw_input_port(module_, i, &port), nullptr);
      if (port.has_default != 0) out.append(nb::str(port.name));
    }
    return out;
  }

  nb::dict metadata() const {
    nb::dict out;
    for (int32_t i = 0; i < tw_metadata_count(module_); ++i) {
      const char *key, *value;
      require_ok(tw_metadata(module_, i, &key, &value), nullptr);
      out[key] = nb::bytes(value);
    }
    return out;
  }

  /// Of the contexts that do not run: other threads may be in the middle of theirs.
  void trim() {
    for (tw_context* context : idle_) require_ok(tw_trim(context), nullptr);
  }
  int64_t held_bytes() const {
    int64_t bytes = 0;
    for (const tw_context* context : idle_) bytes += tw_context_bytes(context);
    return bytes;
  }

  /// Ends the runs of other threads.
  void cancel() {
    for (tw_context* context : running_) tw_cancel(context);
  }

  /// None, or too few, stands for an input's default.
  nb::list run(const nb::list& inputs) {
    const Lease lease(*this);
    tw_context* context = lease.context;
    for (int32_t i = 0; i < tw_input_count(module_); ++i)
      if (static_cast<size_t>(i) < inputs.size())
        set(context, i, inputs[static_cast<size_t>(i)]);
      else
        set(context, i, nb::none());
    tw_status status;
    {
      const Interruptible interruptible(context);
      const Unlocked unlocked;
      status = tw_run(context);
    }
    if (status == TW_CANCELLED && PyErr_CheckSignals() != 0) throw nb::python_error();
    require_ok(status, context);
    nb::list out;
    for (int32_t i = 0; i < tw_output_count(module_); ++i) {
      tw_value* value;
      require_ok(tw_output_value(context, i, &value), context);
      out.append(object_of(value));
      tw_value_release(value);
    }
    return out;
  }

 private:
  /// A context for one run: one that is idle, or a new one when other threads hold them all.
  struct Lease {
    explicit Lease(Module& m) : module(m), context(m.take_context()) {
      module.running_.push_back(context);
    }
    ~Lease() {
      std::erase(module.running_, context);
      module.idle_.push_back(context);
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Module& module;
    tw_context* context;
  };

  void load() {
    require_ok(tw_load_memory(memory_.data(), memory_.size(), nullptr, &module_), nullptr);
    try {
      idle_.push_back(take_context());
    } catch (...) {
      tw_module_release(module_);
      throw;
    }
  }

  /// With the interpreter's lock held, which guards `idle_` and `running_`.
  tw_context* take_context() {
    tw_context* context = nullptr;
    if (!idle_.empty()) {
      context = idle_.back();
      idle_.pop_back();
      return context;
    }
    tw_context_options options{};
    options.threads = limits_.threads == 0 ? -1 : limits_.threads;
    options.memory_limit = limits_.memory;
    require_ok(tw_context_create(module_, &options, &context), nullptr);
    return context;
  }

  /// The caller's list keeps the data until the run has ended.
  void set(tw_context* context, int32_t i, const nb::handle& object) {
    tw_port port;
    require_ok(tw_input_port(module_, i, &port), nullptr);
    if (port.has_default != 0 && object.is_none()) {
      require_ok(tw_set_input(context, i, nullptr, 0), context);
      return;
    }
    if (port.kind == TW_TENSOR && nb::isinstance<nb::tuple>(object)) {
      const nb::tuple parts = nb::cast<nb::tuple>(object);
      const auto elem = nb::cast<std::string>(parts[0]);
      if (elem != "string") {
        auto shape = nb::cast<std::vector<int64_t>>(parts[1]);
        const Bytes bytes = nb::cast<Bytes>(parts[2]);
        const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % port.alignment == 0;
        if (aligned || bytes.size() == 0) {
          const tw_tensor tensor =
              tw_make_tensor(const_cast<uint8_t*>(bytes.data()), elem_from_name(elem),
                             static_cast<int32_t>(shape.size()), shape.data());
          require_ok(tw_set_input(context, i, &tensor, 0), context);
          return;
        }
      }
    }
    tw_value* value = value_of(module_, object, port);
    const tw_status status = tw_set_input_value(context, i, value);
    tw_value_release(value);
    require_ok(status, context);
  }

  Memory memory_;
  ContextLimits limits_;
  tw_module* module_ = nullptr;
  std::vector<tw_context*> idle_, running_;
};

}  // namespace

nb::object loaded(const tilewright::Module& compiled, const ContextLimits& limits) {
  PagedMemory memory = module_in_memory(compiled);
  if (memory.size() == 0) throw std::bad_alloc();
  return nb::cast(new Module(std::move(memory), limits), nb::rv_policy::take_ownership);
}

void bind_module(nb::module_& m) {
  nb::class_<ContextLimits>(m, "ContextLimits")
      .def(nb::init<int32_t, int64_t>(), nb::arg("threads"), nb::arg("memory"));
  nb::class_<Module>(m, "Module")
      .def(nb::init<const nb::bytes&, const ContextLimits&>(), nb::arg("twm"), nb::arg("limits"))
      .def(nb::init<const std::string&, const ContextLimits&>(), nb::arg("path"), nb::arg("limits"))
      .def("bytes", &Module::bytes)
      .def("save", &Module::save, nb::arg("path"))
      .def("inputs", [](const Module& module) { return module.ports(true); })
      .def("outputs", [](const Module& module) { return module.ports(false); })
      .def("defaults", &Module::defaults)
      .def("metadata", &Module::metadata)
      .def("cancel", &Module::cancel)
      .def("trim", &Module::trim)
      .def("held_bytes", &Module::held_bytes)
      .def("run", &Module::run, nb::arg("inputs"));
}

}  // namespace tilewright::python
