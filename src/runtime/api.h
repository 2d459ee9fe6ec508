// SPDX-License-Identifier: Apache-2.0
// What the files of the C ABI share: the C names of our classes, and the error of this thread.
#pragma once

#include "runtime/context.h"
#include "runtime/loaded.h"
#include "runtime/value.h"
#include "tilewright/runtime.h"

namespace tilewright::runtime {

inline LoadedModule* from_c(tw_module* m) { return reinterpret_cast<LoadedModule*>(m); }
inline const LoadedModule* from_c(const tw_module* m) {
  return reinterpret_cast<const LoadedModule*>(m);
}
inline Context* from_c(tw_context* c) { return reinterpret_cast<Context*>(c); }
inline const Context* from_c(const tw_context* c) { return reinterpret_cast<const Context*>(c); }
inline Value* from_c(tw_value* v) { return reinterpret_cast<Value*>(v); }
inline const Value* from_c(const tw_value* v) { return reinterpret_cast<const Value*>(v); }
inline ThreadPool* from_c(tw_pool* p) { return reinterpret_cast<ThreadPool*>(p); }
inline tw_module* to_c(LoadedModule* m) { return reinterpret_cast<tw_module*>(m); }
inline tw_context* to_c(Context* c) { return reinterpret_cast<tw_context*>(c); }
inline tw_value* to_c(Value* v) { return reinterpret_cast<tw_value*>(v); }
inline const tw_value* to_c(const Value* v) { return reinterpret_cast<const tw_value*>(v); }

inline Allocator from_c(const tw_allocator& a) { return {a.user, a.allocate, a.release}; }

/// Of functions without a context.
ErrorText& thread_error();
tw_status fail_in_thread(tw_status status, const char* text);

}  // namespace tilewright::runtime
