/* SPDX-License-Identifier: Apache-2.0
 * How a compiled CPU kernel is called. Code made in memory, in an object file and as C text all
 * have this one signature:
 *
 *   int32_t name(void* const* buffers, const int64_t* scalars, const tw_host* host);
 *
 * buffers   one pointer for each parameter, in declared order. Two never overlap; each has the
 * alignment that the kernel was compiled for (at least that of its element). scalars   the values
 * of the shape symbols in declared order; may be NULL when there are none. host      what the
 * kernel may ask of its caller; never NULL. returns   0.
 *
 * A kernel imports nothing but memcpy and memset, allocates nothing, and may run in several threads
 * at once with different workspaces. It expects the default floating-point environment (round to
 * nearest, subnormals kept) in every thread.
 */
#ifndef TILEWRIGHT_KERNEL_H
#define TILEWRIGHT_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Iterations begin … end − 1 of a parallel loop. No two tasks with the same `worker` run at the
 * same time. */
typedef void (*tw_task)(void* closure, int64_t begin, int64_t end, int32_t worker);

typedef struct tw_host {
  /* Handed to parallel_for as it is. */
  void* context;

  /* Runs `task` so that every iteration 0 … count − 1 is covered exactly once, in any order and in
     any number of pieces; returns when all have ended, and what they wrote is visible to the
     caller. 0 <= worker < workers. */
  void (*parallel_for)(void* context, int64_t count, tw_task task, void* closure);

  /* Memory for large temporaries that all workers share, aligned to 64 bytes; NULL when the kernel
   * states that it needs none. */
  void* workspace;

  /* Memory for those that each worker has for itself: that of worker w starts at scratch + w *
     scratch_bytes. Both are multiples of 64; scratch_bytes is at least what the kernel states. NULL
     and 0 when it needs none. */
  void* scratch;
  int64_t scratch_bytes;

  /* How many workers there are, at least 1. */
  int32_t workers;
} tw_host;

typedef int32_t (*tw_kernel)(void* const* buffers, const int64_t* scalars, const tw_host* host);

/* A parallel_for for one thread. */
static inline void tw_serial_for(void* context, int64_t count, tw_task task, void* closure) {
  (void)context;
  if (count > 0) task(closure, 0, count, 0);
}

#ifdef __cplusplus
}
#endif
#endif
