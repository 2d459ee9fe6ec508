// SPDX-License-Identifier: Apache-2.0
// The C ABI for C++: objects that release themselves, and exceptions instead of statuses.
//
//   tw::Module module = tw::Module::load("model.twm");
//   tw::Context context(module, {.threads = -1});
//   context.set_input("x", data, {1, 3, 224, 224});
//   context.run();
//   std::span<const float> y = context.output("y").data<float>();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tilewright/runtime.h"

namespace tw {

class Error : public std::runtime_error {
 public:
  Error(tw_status status, const char* text) : std::runtime_error(text), status(status) {}
  tw_status status;
};

inline void check(tw_status status, const tw_context* context = nullptr) {
  if (status != TW_OK)
    throw Error(status, status == TW_BUSY ? "the context is running" : tw_error_text(context));
}

/// The element type of a C++ type.
template <class T>
constexpr tw_elem elem_of() {
  if constexpr (std::is_same_v<T, bool>)
    return TW_BOOL;
  else if constexpr (std::is_same_v<T, float>)
    return TW_F32;
  else if constexpr (std::is_same_v<T, double>)
    return TW_F64;
  else {
    static_assert(std::is_integral_v<T>, "no element type for this");
    constexpr bool s = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1)
      return s ? TW_I8 : TW_U8;
    else if constexpr (sizeof(T) == 2)
      return s ? TW_I16 : TW_U16;
    else if constexpr (sizeof(T) == 4)
      return s ? TW_I32 : TW_U32;
    else
      return s ? TW_I64 : TW_U64;
  }
}

/// A tensor that somebody else owns.
class TensorView {
 public:
  explicit TensorView(const tw_tensor& tensor) : tensor_(tensor) {}
  tw_elem elem() const { return static_cast<tw_elem>(tw_elem_of(&tensor_)); }
  std::span<const int64_t> dims() const {
    return {tensor_.dims, static_cast<size_t>(tensor_.rank)};
  }
  int64_t count() const {
    int64_t n = 1;
    for (const int64_t d : dims()) n *= d;
    return n;
  }
  template <class T>
  std::span<const T> data() const {
    if (elem() != elem_of<T>()) throw Error(TW_INVALID_ARGUMENT, "the tensor is of another type");
    return {static_cast<const T*>(tensor_.data), static_cast<size_t>(count())};
  }
  const tw_tensor& get() const { return tensor_; }

 private:
  tw_tensor tensor_;
};

/// A reference to a module.
class Module {
 public:
  static Module load(const std::string& path, const tw_load_options& options = {}) {
    tw_module* m = nullptr;
    check(tw_load_file(path.c_str(), &options, &m));
    return Module(m);
  }
  /// The bytes must outlive the module and its contexts.
  static Module load(std::span<const std::byte> bytes, const tw_load_options& options = {}) {
    tw_module* m = nullptr;
    check(tw_load_memory(bytes.data(), bytes.size(), &options, &m));
    return Module(m);
  }
  Module(Module&& other) noexcept : module_(std::exchange(other.module_, nullptr)) {}
  Module& operator=(Module&& other) noexcept {
    std::swap(module_, other.module_);
    return *this;
  }
  ~Module() { tw_module_release(module_); }

  int32_t inputs() const { return tw_input_count(module_); }
  int32_t outputs() const { return tw_output_count(module_); }
  tw_port input(int32_t i) const {
    tw_port port;
    check(tw_input_port(module_, i, &port));
    return port;
  }
  tw_port output(int32_t i) const {
    tw_port port;
    check(tw_output_port(module_, i, &port));
    return port;
  }
  tw_module* get() const { return module_; }

 private:
  explicit Module(tw_module* m) : module_(m) {}
  tw_module* module_;
};

/// A reference to a value.
class Value {
 public:
  /// Takes over a reference.
  explicit Value(tw_value* value) : value_(value) {}
  static Value strings(const Module& module, std::span<const std::string> texts,
                       std::span<const int64_t> dims) {
    std::vector<tw_string> all;
    for (const std::string& t : texts) all.push_back({t.data(), t.size()});
    tw_value* v = nullptr;
    check(tw_value_strings(module.get(), all.data(), static_cast<int32_t>(dims.size()), dims.data(),
                           &v));
    return Value(v);
  }
  static Value tensor(const Module& module, const tw_tensor& tensor) {
    tw_value* v = nullptr;
    check(tw_value_tensor(module.get(), &tensor, &v));
    return Value(v);
  }
  Value(const Value& other) : value_(other.value_) { tw_value_retain(value_); }
  Value(Value&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Value() { tw_value_release(value_); }

  tw_kind kind() const { return tw_value_kind(value_); }
  int64_t count() const { return tw_value_count(value_); }
  TensorView view() const {
    tw_tensor t;
    check(tw_value_view(value_, &t));
    return TensorView(t);
  }
  std::string_view string(int64_t i) const {
    tw_string s;
    check(tw_value_string(value_, i, &s));
    return {s.data, s.bytes};
  }
  Value item(int64_t i) const {
    auto* inner = const_cast<tw_value*>(tw_value_item(value_, i));
    if (inner == nullptr) throw Error(TW_INVALID_ARGUMENT, "there is no item of this index");
    tw_value_retain(inner);
    return Value(inner);
  }
  tw_value* get() const { return value_; }

 private:
  tw_value* value_;
};

class Context {
 public:
  explicit Context(const Module& module, const tw_context_options& options = {})
      : module_(module.get()) {
    check(tw_context_create(module_, &options, &context_));
  }
  Context(Context&& other) noexcept
      : module_(other.module_), context_(std::exchange(other.context_, nullptr)) {}
  Context& operator=(Context&& other) noexcept {
    std::swap(module_, other.module_);
    std::swap(context_, other.context_);
    return *this;
  }
  ~Context() { tw_context_release(context_); }

  /// The data is not copied.
  void set_input(int32_t i, const tw_tensor& tensor, bool donate = false) {
    check(tw_set_input(context_, i, &tensor, donate ? TW_DONATE : 0), context_);
  }
  template <class T>
  void set_input(int32_t i, T* data, std::span<const int64_t> dims, bool donate = false) {
    using Elem = std::remove_const_t<T>;
    set_input(i,
              tw_make_tensor(const_cast<Elem*>(data), elem_of<Elem>(),
                             static_cast<int32_t>(dims.size()), const_cast<int64_t*>(dims.data())),
              donate);
  }
  template <class T>
  void set_input(int32_t i, T* data, std::initializer_list<int64_t> dims, bool donate = false) {
    set_input(i, data, std::span(dims.begin(), dims.size()), donate);
  }
  template <class T>
  void set_input(const char* name, T* data, std::initializer_list<int64_t> dims,
                 bool donate = false) {
    set_input(found(tw_find_input(module_, name), name), data, std::span(dims.begin(), dims.size()),
              donate);
  }
  void set_input(int32_t i, const Value& value) {
    check(tw_set_input_value(context_, i, value.get()), context_);
  }
  void set_input_shape(int32_t i, std::span<const int64_t> dims) {
    check(tw_set_input_shape(context_, i, static_cast<int32_t>(dims.size()), dims.data()),
          context_);
  }
  std::vector<int64_t> output_shape(int32_t i) {
    tw_port port;
    check(tw_output_port(module_, i, &port));
    std::vector<int64_t> dims(static_cast<size_t>(port.rank) + 1);
    check(tw_output_shape(context_, i, dims.data()), context_);
    dims.pop_back();
    return dims;
  }
  void bind_output(int32_t i, void* data, size_t bytes) {
    check(tw_bind_output(context_, i, data, bytes), context_);
  }

  void run() { check(tw_run(context_), context_); }
  void run_async(tw_done done, void* user) { check(tw_run_async(context_, done, user), context_); }
  void wait() { check(tw_wait(context_), context_); }
  void cancel() { tw_cancel(context_); }

  TensorView output(int32_t i) {
    tw_tensor view;
    check(tw_output(context_, i, &view), context_);
    return TensorView(view);
  }
  TensorView output(const char* name) { return output(found(tw_find_output(module_, name), name)); }
  Value output_value(int32_t i) {
    tw_value* value = nullptr;
    check(tw_output_value(context_, i, &value), context_);
    return Value(value);
  }
  /// Gives back the memory that is kept for the next run, and that of views of results.
  void trim() { check(tw_trim(context_), context_); }
  tw_context* get() const { return context_; }

 private:
  static int32_t found(int32_t index, const char* name) {
    if (index >= 0) return index;
    throw Error(TW_INVALID_ARGUMENT,
                ("the module has no input or output `" + std::string(name) + "`").c_str());
  }

  tw_module* module_;
  tw_context* context_ = nullptr;
};

}  // namespace tw
