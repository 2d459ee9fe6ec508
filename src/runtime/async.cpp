// SPDX-License-Identifier: Apache-2.0
#include "runtime/context.h"

namespace tilewright::runtime {

/// Waits for runs and runs them, until the context goes away.
void* Context::async_main(void* self) {
  auto* context = static_cast<Context*>(self);
  Async& async = context->async_;
  pthread_mutex_lock(&async.mutex);
  for (;;) {
    while (!async.pending && !async.stop) pthread_cond_wait(&async.changed, &async.mutex);
    if (!async.pending) break;
    const tw_done done = async.done;
    void* const user = async.user;
    pthread_mutex_unlock(&async.mutex);

    const tw_status status = context->run_plan();

    pthread_mutex_lock(&async.mutex);
    async.result = status;
    async.pending = false;
    context->running_.store(false, std::memory_order_release);
    pthread_mutex_unlock(&async.mutex);
    if (done != nullptr) done(user, status);
    pthread_mutex_lock(&async.mutex);
    pthread_cond_broadcast(&async.changed);
  }
  pthread_mutex_unlock(&async.mutex);
  return nullptr;
}

tw_status Context::run_async(tw_done done, void* user) {
  if (running_.exchange(true, std::memory_order_acquire)) return TW_BUSY;
  cancel_.store(false, std::memory_order_relaxed);
  pthread_mutex_lock(&async_.mutex);
  if (!async_.started)
    async_.started = pthread_create(&async_.thread, nullptr, async_main, this) == 0;
  const bool started = async_.started;
  if (started) {
    async_.done = done;
    async_.user = user;
    async_.pending = true;
    pthread_cond_broadcast(&async_.changed);
  }
  pthread_mutex_unlock(&async_.mutex);
  if (started) return TW_OK;
  running_.store(false, std::memory_order_release);
  return fail(TW_OUT_OF_MEMORY, "the system refuses a thread for an asynchronous run");
}

tw_status Context::wait() {
  pthread_mutex_lock(&async_.mutex);
  while (async_.pending) pthread_cond_wait(&async_.changed, &async_.mutex);
  const tw_status result = async_.result;
  pthread_mutex_unlock(&async_.mutex);
  return result;
}

}  // namespace tilewright::runtime
