// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <new>

#include "runtime/api.h"

using namespace tilewright;
using namespace tilewright::runtime;

namespace {

/// The context, when it is one and does not run.
Context* idle(tw_context* context, tw_status& status) {
  status = TW_OK;
  if (context == nullptr) {
    status = fail_in_thread(TW_INVALID_ARGUMENT, "the context is NULL");
    return nullptr;
  }
  if (!from_c(context)->running()) return from_c(context);
  status = fail_in_thread(TW_BUSY, "the context is running");
  return nullptr;
}

/// So many threads can be had; `all` stands for as many as there are CPUs.
tw_status check_threads(const char* what, int32_t threads, int32_t all) {
  if (threads >= all && threads <= ThreadPool::kMaxWorkers) return TW_OK;
  char text[200];
  std::snprintf(text, sizeof text,
                "%s with %d threads: give %d to %d, or %d for as many as there are CPUs", what,
                threads, all + 1, ThreadPool::kMaxWorkers, all);
  return fail_in_thread(TW_INVALID_ARGUMENT, text);
}

}  // namespace

extern "C" {

tw_status tw_pool_create(int32_t threads, tw_pool** pool) {
  if (pool == nullptr) return fail_in_thread(TW_INVALID_ARGUMENT, "an argument is NULL");
  *pool = nullptr;
  if (const tw_status s = check_threads("a pool", threads, 0); s != TW_OK) return s;
  const Allocator allocator = system_allocator();
  void* memory = allocator.get(sizeof(ThreadPool), alignof(ThreadPool));
  if (memory == nullptr) return fail_in_thread(TW_OUT_OF_MEMORY, "no memory for a pool");
  *pool = reinterpret_cast<tw_pool*>(new (memory) ThreadPool(threads));
  return TW_OK;
}

void tw_pool_release(tw_pool* pool) {
  if (pool == nullptr) return;
  from_c(pool)->~ThreadPool();
  system_allocator().put(pool, sizeof(ThreadPool));
}

int32_t tw_pool_threads(const tw_pool* pool) {
  return reinterpret_cast<const ThreadPool*>(pool)->workers();
}

tw_status tw_context_create(tw_module* module, const tw_context_options* given,
                            tw_context** context) {
  if (module == nullptr || context == nullptr)
    return fail_in_thread(TW_INVALID_ARGUMENT, "an argument is NULL");
  *context = nullptr;
  ContextOptions options{.allocator = from_c(module)->allocator()};
  if (given != nullptr) {
    if (const tw_status s = check_threads("a context", given->threads, -1); s != TW_OK) return s;
    options.threads = given->threads < 0 ? 0 : given->threads == 0 ? 1 : given->threads;
    options.pool = from_c(given->pool);
    options.parallel_for = given->parallel_for;
    options.parallel_user = given->parallel_user;
    options.workers = given->workers;
    if (given->memory_limit < 0)
      return fail_in_thread(TW_INVALID_ARGUMENT,
                            "memory_limit is negative: give bytes, or 0 for what the machine has");
    options.memory_limit = given->memory_limit;
    if (given->parallel_for != nullptr && given->workers < 1)
      return fail_in_thread(TW_INVALID_ARGUMENT, "parallel_for has no workers");
    if (given->allocator != nullptr) {
      if (given->allocator->allocate == nullptr || given->allocator->release == nullptr)
        return fail_in_thread(TW_INVALID_ARGUMENT, "a function of the allocator is NULL");
      options.allocator = from_c(*given->allocator);
    }
  }
  Context* made = nullptr;
  const tw_status status = Context::create(*from_c(module), options, made, thread_error());
  if (status == TW_OK) *context = to_c(made);
  return status;
}

void tw_context_release(tw_context* context) {
  if (context != nullptr) from_c(context)->release();
}

tw_status tw_set_input(tw_context* context, int32_t index, const tw_tensor* tensor,
                       uint32_t flags) {
  tw_status status;
  Context* c = idle(context, status);
  if (c == nullptr) return status;
  if (tensor == nullptr) return c->set_default(static_cast<uint32_t>(index));
  return c->set_input(static_cast<uint32_t>(index), *tensor, (flags & TW_DONATE) != 0);
}

tw_status tw_set_input_shape(tw_context* context, int32_t index, int32_t rank,
                             const int64_t* dims) {
  tw_status status;
  Context* c = idle(context, status);
  if (c == nullptr) return status;
  if (rank < 0 || (rank > 0 && dims == nullptr))
    return c->fail(TW_INVALID_ARGUMENT, "the dimensions are NULL");
  return c->set_input_shape(static_cast<uint32_t>(index), {dims, static_cast<size_t>(rank)});
}

tw_status tw_set_input_value(tw_context* context, int32_t index, tw_value* value) {
  tw_status status;
  Context* c = idle(context, status);
  if (c == nullptr) return status;
  if (value == nullptr) return c->fail(TW_INVALID_ARGUMENT, "the value is NULL");
  return c->set_input_value(static_cast<uint32_t>(index), from_c(value));
}

tw_status tw_output_shape(tw_context* context, int32_t index, int64_t* dims) {
  tw_status status;
  Context* c = idle(context, status);
  if (c == nullptr) return status;
  if (dims == nullptr) return c->fail(TW_INVALID_ARGUMENT, "the dimensions are NULL");
  return c->output_shape(static_cast<uint32_t>(index), dims);
}

tw_status tw_bind_output(tw_context* context, int32_t index, void* data, size_t bytes) {
  tw_status status;
  Context* c = idle(context, status);
  return c == nullptr ? status : c->bind_output(static_cast<uint32_t>(index), data, bytes);
}

tw_status tw_run(tw_context* context) {
  if (context == nullptr) return fail_in_thread(TW_INVALID_ARGUMENT, "the context is NULL");
  const tw_status status = from_c(context)->run();
  return status == TW_BUSY ? fail_in_thread(TW_BUSY, "the context is running") : status;
}

tw_status tw_run_async(tw_context* context, tw_done done, void* user) {
  if (context == nullptr) return fail_in_thread(TW_INVALID_ARGUMENT, "the context is NULL");
  const tw_status status = from_c(context)->run_async(done, user);
  return status == TW_BUSY ? fail_in_thread(TW_BUSY, "the context is running") : status;
}

tw_status tw_wait(tw_context* context) {
  if (context == nullptr) return fail_in_thread(TW_INVALID_ARGUMENT, "the context is NULL");
  return from_c(context)->wait();
}

void tw_cancel(tw_context* context) {
  if (context != nullptr) from_c(context)->cancel();
}

tw_status tw_output(tw_context* context, int32_t index, tw_tensor* view) {
  tw_status status;
  Context* c = idle(context, status);
  if (c == nullptr) return status;
  if (view == nullptr) return c->fail(TW_INVALID_ARGUMENT, "the view is NULL");
  return c->output(static_cast<uint32_t>(index), *view);
}

tw_status tw_output_value(tw_context* context, int32_t index, tw_value** value) {
  tw_status status;
  Context* c = idle(context, status);
  if (c == nullptr) return status;
  if (value == nullptr) return c->fail(TW_INVALID_ARGUMENT, "the value is NULL");
  Value* kept = nullptr;
  status = c->output_value(static_cast<uint32_t>(index), kept);
  if (status == TW_OK) *value = to_c(kept);
  return status;
}

tw_status tw_observe(tw_context* context, void (*observer)(void* user, const tw_event* event),
                     void* user) {
  tw_status status;
  Context* c = idle(context, status);
  if (c != nullptr) c->observe(observer, user);
  return status;
}

tw_status tw_trim(tw_context* context) {
  tw_status status;
  Context* c = idle(context, status);
  if (c != nullptr) c->trim();
  return status;
}

int64_t tw_context_bytes(const tw_context* context) { return from_c(context)->held_bytes(); }

}  // extern "C"
