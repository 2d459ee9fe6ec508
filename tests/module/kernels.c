/* Kernels for the tests of modules and of the runtime, linked as the compiler links its own. */
#include "tilewright/kernel.h"

void* memcpy(void* to, const void* from, unsigned long bytes);
void* memset(void* to, int byte, unsigned long bytes);

#define KERNEL(name)                                                        \
  __attribute__((visibility("default"))) int32_t name(void* const* buffers, \
                                                      const int64_t* scalars, const tw_host* host)
#define UNUSED (void)buffers, (void)scalars, (void)host

KERNEL(nothing) {
  UNUSED;
  return 0;
}

/* c[i] = a[i] + b[i], i < n */
KERNEL(add) {
  (void)host;
  const float *a = buffers[0], *b = buffers[1];
  float* c = buffers[2];
  for (int64_t i = 0; i < scalars[0]; ++i) c[i] = a[i] + b[i];
  return 0;
}

struct scale {
  const float* from;
  float* to;
};
static void scale_task(void* closure, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const struct scale* s = closure;
  for (int64_t i = begin; i < end; ++i) s->to[i] = s->from[i] / 3.0f;
}
/* b[i] = a[i] / 3, in parallel */
KERNEL(third) {
  struct scale s = {buffers[0], buffers[1]};
  host->parallel_for(host->context, scalars[0], scale_task, &s);
  return 0;
}

/* x[i] += 1 for i64 */
KERNEL(increment) {
  (void)host;
  int64_t* x = buffers[0];
  for (int64_t i = 0; i < scalars[0]; ++i) x[i] += 1;
  return 0;
}

/* Copies by way of the workspace; memcpy and memset are imports. */
KERNEL(through_workspace) {
  const unsigned long bytes = (unsigned long)scalars[0];
  memcpy(host->workspace, buffers[0], bytes);
  memset(buffers[1], 0, bytes);
  memcpy(buffers[1], host->workspace, bytes);
  memset(host->scratch, 1, (unsigned long)(host->scratch_bytes * host->workers));
  return 0;
}

/* Words that hold addresses: relocations. */
static const int64_t one = 1, two = 2;
static const int64_t* const table[2] = {&one, &two};
KERNEL(from_table) {
  (void)host;
  const int64_t* const* words = table;
  __asm__("" : "+r"(words)); /* compilers make it a table of distances where they see its use */
  int64_t* out = buffers[0];
  out[0] = *words[scalars[0]];
  return 0;
}

KERNEL(fails) {
  UNUSED;
  return 7;
}

/* count[0] = how many of x[0 … n) are greater than 0; rest: their indices */
KERNEL(count_positive) {
  (void)host;
  const float* x = buffers[0];
  int64_t *count = buffers[1], *where = buffers[2];
  count[0] = 0;
  for (int64_t i = 0; i < scalars[0]; ++i)
    if (x[i] > 0) where[count[0]++] = i;
  return 0;
}
