/* SPDX-License-Identifier: Apache-2.0
 * Loads a compiled module (`.twm`) and runs it. Needs nothing but libc, libm and pthreads.
 *
 *   tw_module* module;   tw_load_file("model.twm", NULL, &module);
 *   tw_context* context; tw_context_create(module, NULL, &context);
 *   tw_set_input(context, 0, &tensor, 0);
 *   tw_run(context);
 *   tw_output(context, 0, &result);
 *
 * Every function that can fail returns a status; tw_error_text says what happened, in words.
 * Nothing here aborts, throws or writes to a stream. A module is immutable: any number of threads
 * may use it at once, each with a context of its own. A context belongs to one thread at a time.
 */
#ifndef TILEWRIGHT_RUNTIME_H
#define TILEWRIGHT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "tilewright/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(TILEWRIGHT_BUILDING_RUNTIME)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

typedef enum tw_status {
  TW_OK = 0,
  TW_INVALID_ARGUMENT = 1, /* a null pointer, an index out of range, a call at the wrong time */
  TW_IO_ERROR = 2,         /* the file cannot be read */
  TW_BAD_MODULE = 3,       /* no module, or a damaged one */
  TW_UNSUPPORTED = 4,      /* another machine, another format, an unknown host operator */
  TW_OUT_OF_MEMORY = 5,
  TW_BAD_INPUT = 6,  /* an input or the memory for an output does not fit the model */
  TW_RUN_FAILED = 7, /* the model's own checks failed: its values make no sense */
  TW_CANCELLED = 8,
  TW_BUSY = 9 /* the context is running */
} tw_status;

/* Element types. */
typedef enum tw_elem {
  TW_BOOL = 0, /* a byte, 0 or 1 */
  TW_I2 = 1,
  TW_I4 = 2,
  TW_I8 = 3,
  TW_I16 = 4,
  TW_I32 = 5,
  TW_I64 = 6,
  TW_U2 = 7,
  TW_U4 = 8,
  TW_U8 = 9,
  TW_U16 = 10,
  TW_U32 = 11,
  TW_U64 = 12,
  TW_F8E4M3 = 13,
  TW_F8E4M3FNUZ = 14,
  TW_F8E5M2 = 15,
  TW_F8E5M2FNUZ = 16,
  TW_F16 = 17,
  TW_BF16 = 18,
  TW_F32 = 19,
  TW_F64 = 20,
  TW_STRING = 21,
  TW_F4E2M1 = 22,
  TW_F8E8M0 = 23,
  TW_C64 = 24,
  TW_C128 = 25
} tw_elem;

typedef enum tw_kind { TW_TENSOR = 0, TW_STRINGS = 1, TW_SEQUENCE = 2, TW_OPTIONAL = 3 } tw_kind;

/* A tensor in memory. Its layout is that of DLPack's DLTensor, so that one can be passed as the
 * other. Elements are row-major and compact; those below a byte are packed from the low bits on. */
typedef struct tw_tensor {
  void* data;
  int32_t device_type; /* 1: the CPU */
  int32_t device_id;
  int32_t rank;
  uint8_t type_code; /* DLPack's; tw_elem_type fills these three */
  uint8_t type_bits;
  uint16_t type_lanes;
  int64_t* dims;
  int64_t* strides; /* NULL, or those of a compact tensor */
  uint64_t byte_offset;
} tw_tensor;

/* Sets the type fields of a tensor. False for strings, which are no tensors. */
TW_API int tw_set_elem(tw_tensor* tensor, tw_elem elem);
/* The element type of a tensor's fields; −1 for one that there is not. */
TW_API int tw_elem_of(const tw_tensor* tensor);
/* A tensor on the CPU, compact. */
TW_API tw_tensor tw_make_tensor(void* data, tw_elem elem, int32_t rank, int64_t* dims);
/* `f32`; bits of one element in memory. */
TW_API const char* tw_elem_name(tw_elem elem);
TW_API int tw_elem_bits(tw_elem elem);

/* What happened in the last call that failed: of a context, or with NULL in this thread. */
typedef struct tw_context tw_context;
TW_API const char* tw_error_text(const tw_context* context);
TW_API const char* tw_status_name(tw_status status);

/* "0.1.0"; the newest module format that is read, major * 1000 + minor; what this machine can do,
 * as the names that a module may ask for: "x86_64 avx2 fma". */
TW_API const char* tw_runtime_version(void);
TW_API int tw_runtime_format(void);
TW_API const char* tw_machine_features(void);

/* Memory: `alignment` is a power of two; allocate returns NULL when there is none. Both are called
 * by any thread. */
typedef struct tw_allocator {
  void* user;
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*release)(void* user, void* memory, size_t bytes);
} tw_allocator;

/* ---- modules ---- */

typedef struct tw_module tw_module;

typedef struct tw_load_options {
  /* 0: all but the weights is compared with its checksum; 1: the weights too. */
  int verify_full;
  /* NULL: that of the C library. Copied. */
  const tw_allocator* allocator;
  /* What was chosen and why, one line each. */
  void (*log)(void* user, const char* line);
  void* log_user;
} tw_load_options;

/* `options` may be NULL. From memory: the bytes must stay, unchanged, until the module and all its
 * contexts are gone; they start at a multiple of 64. The descriptor can be closed after the call.
 */
TW_API tw_status tw_load_file(const char* path, const tw_load_options* options, tw_module** module);
TW_API tw_status tw_load_descriptor(int descriptor, const tw_load_options* options,
                                    tw_module** module);
TW_API tw_status tw_load_memory(const void* data, size_t bytes, const tw_load_options* options,
                                tw_module** module);
/* Contexts and values of the module may live on. */
TW_API void tw_module_release(tw_module* module);

typedef struct tw_dim {
  int64_t value;      /* −1: not constant */
  const char* symbol; /* its name or formula; "" when only a run can tell */
  int64_t min, max, divisor;
  int64_t preset; /* inputs with a default: what the dimension is there, else −1 */
} tw_dim;

typedef struct tw_port {
  const char* name;
  tw_kind kind;
  tw_elem elem;     /* of sequences and optionals: of what they hold */
  const char* type; /* "f32", "sequence(f32)" */
  int32_t rank;
  int32_t alignment; /* bytes that the data's address must be a multiple of */
  int32_t donor;     /* outputs: the input that may be donated to it, or −1 */
  /* Inputs: 1 when the module has a tensor for it, which is taken when the input is not set. */
  int32_t has_default;
} tw_port;

TW_API int32_t tw_input_count(const tw_module* module);
TW_API int32_t tw_output_count(const tw_module* module);
TW_API tw_status tw_input_port(const tw_module* module, int32_t index, tw_port* port);
TW_API tw_status tw_output_port(const tw_module* module, int32_t index, tw_port* port);
TW_API tw_status tw_input_dim(const tw_module* module, int32_t index, int32_t axis, tw_dim* dim);
TW_API tw_status tw_output_dim(const tw_module* module, int32_t index, int32_t axis, tw_dim* dim);
/* The index of a name, or −1. */
TW_API int32_t tw_find_input(const tw_module* module, const char* name);
TW_API int32_t tw_find_output(const tw_module* module, const char* name);

TW_API int32_t tw_metadata_count(const tw_module* module);
TW_API tw_status tw_metadata(const tw_module* module, int32_t index, const char** key,
                             const char** value);
/* What the chosen code needs of a machine: "x86_64 avx2 fma". */
TW_API const char* tw_module_features(const tw_module* module);
/* Bytes of weights, of the arena for the largest inputs (0: depends on them), kernels in the code.
 */
TW_API int64_t tw_module_constant_bytes(const tw_module* module);
TW_API int64_t tw_module_arena_bytes(const tw_module* module);
TW_API int32_t tw_module_kernels(const tw_module* module);

/* ---- values that are more than a tensor ---- */

/* A tensor, a tensor of strings, a sequence or an optional. Immutable and counted: whoever got a
 * reference releases it. */
typedef struct tw_value tw_value;

typedef struct tw_string {
  const char* data; /* need not end with a 0 */
  size_t bytes;
} tw_string;

/* Copies what it is given. */
TW_API tw_status tw_value_tensor(tw_module* module, const tw_tensor* tensor, tw_value** value);
TW_API tw_status tw_value_strings(tw_module* module, const tw_string* strings, int32_t rank,
                                  const int64_t* dims, tw_value** value);
/* An element type is needed where there is nothing inside to tell it; `of` says what the elements
 * are: TW_TENSOR or TW_STRINGS, or TW_SEQUENCE in an optional. The parts are retained. */
TW_API tw_status tw_value_sequence(tw_module* module, tw_elem elem, tw_value* const* items,
                                   size_t count, tw_value** value);
TW_API tw_status tw_value_optional(tw_module* module, tw_kind of, tw_elem elem, tw_value* item,
                                   tw_value** value);
TW_API void tw_value_retain(tw_value* value);
TW_API void tw_value_release(tw_value* value);

TW_API tw_kind tw_value_kind(const tw_value* value);
TW_API tw_elem tw_value_elem(const tw_value* value);
/* Tensors: a view that lives as long as the value. Strings: rank and dims, without data. */
TW_API tw_status tw_value_view(const tw_value* value, tw_tensor* view);
/* Strings: number and content. Sequences: number and items. Optionals: 0 or 1. Items are borrowed.
 */
TW_API int64_t tw_value_count(const tw_value* value);
TW_API tw_status tw_value_string(const tw_value* value, int64_t index, tw_string* text);
TW_API const tw_value* tw_value_item(const tw_value* value, int64_t index);

/* ---- running ---- */

/* Threads that several contexts may share; a loop that finds them busy runs in its own thread. */
typedef struct tw_pool tw_pool;
/* `threads` counts the caller's, at most 256; 0: as many as there are CPUs. */
TW_API tw_status tw_pool_create(int32_t threads, tw_pool** pool);
TW_API void tw_pool_release(tw_pool* pool);
TW_API int32_t tw_pool_threads(const tw_pool* pool);

typedef struct tw_context_options {
  /* Own threads, at most 256: 0 means 1, the caller's alone; −1 as many as there are CPUs. */
  int32_t threads;
  /* Or a pool that outlives the context. */
  tw_pool* pool;
  /* Or the caller's: see tw_host in kernel.h. Worker numbers are below `workers`. */
  void (*parallel_for)(void* user, int64_t count, tw_task task, void* closure);
  void* parallel_user;
  int32_t workers;
  /* NULL: the module's. Copied. */
  const tw_allocator* allocator;
  /* Bytes that the context may hold at most (tw_context_bytes); 0: as many as the machine has. A
   * run that needs more ends with TW_OUT_OF_MEMORY and names the value. */
  int64_t memory_limit;
} tw_context_options;

TW_API tw_status tw_context_create(tw_module* module, const tw_context_options* options,
                                   tw_context** context);
TW_API void tw_context_release(tw_context* context);

/* The storage may be reused for an output (tw_port.donor): its content is lost by the run. */
#define TW_DONATE 1u

/* The data must stay until the run has ended; it is not copied. NULL instead of a tensor: the
 * input's default again (tw_port.has_default). */
TW_API tw_status tw_set_input(tw_context* context, int32_t index, const tw_tensor* tensor,
                              uint32_t flags);
/* Only its shape, to ask for output shapes. */
TW_API tw_status tw_set_input_shape(tw_context* context, int32_t index, int32_t rank,
                                    const int64_t* dims);
TW_API tw_status tw_set_input_value(tw_context* context, int32_t index, tw_value* value);

/* The shape an output will have for the inputs that are set; −1 where only a run can tell. `dims`
 * has room for tw_port.rank. */
TW_API tw_status tw_output_shape(tw_context* context, int32_t index, int64_t* dims);

/* Memory for an output, of at least as many bytes as it has; NULL: the runtime's own again. */
TW_API tw_status tw_bind_output(tw_context* context, int32_t index, void* data, size_t bytes);

TW_API tw_status tw_run(tw_context* context);

/* Returns at once. When the run has ended the context can be used again, `done` (if not NULL) is
 * called from the thread that ran it, and may start the next run but not release the context.
 * tw_wait waits for the end of the run, not of `done`, and returns the run's status. */
typedef void (*tw_done)(void* user, tw_status status);
TW_API tw_status tw_run_async(tw_context* context, tw_done done, void* user);
TW_API tw_status tw_wait(tw_context* context);

/* From any thread: the run ends at its next instruction with TW_CANCELLED. Without a run, nothing
 * happens. */
TW_API void tw_cancel(tw_context* context);

/* The result of the last run; the view lives until the next run, until inputs and outputs are set,
 * or until tw_trim. A value is a reference of its own and lives until it is released. */
TW_API tw_status tw_output(tw_context* context, int32_t index, tw_tensor* view);
TW_API tw_status tw_output_value(tw_context* context, int32_t index, tw_value** value);

/* ---- images ---- */

/* An encoded image that a model's ImageDecoder is given, and where its pixels go. */
#define TW_IMAGE_VERSION 1
typedef struct tw_image {
  int32_t version;  /* of this record: TW_IMAGE_VERSION */
  int32_t channels; /* 3: red, green, blue; 1: grey */
  const uint8_t* data;
  size_t bytes;
  /* Memory for height * width * channels samples of a byte, row by row; NULL when there is none.
   * Called at most once. */
  uint8_t* (*pixels)(void* user, int64_t height, int64_t width);
  void* user;
  tw_allocator memory; /* the context's, for what else the decoder needs */
  char message[256];   /* what went wrong */
} tw_image;

/* TW_OK; TW_BAD_INPUT when the bytes are no image that can be decoded, for which the operator gives
 * an image without pixels, as ONNX says; anything else ends the run with `message`. Called by any
 * thread. */
typedef tw_status (*tw_image_decoder)(tw_image* image);

/* Who decodes what is no BMP, PBM, PGM or PPM, in all contexts. NULL: the plug-in again, which the
 * runtime loads when it first needs it: libtilewright_images.so.0, by dlopen and its name, so from
 * where the run-time linker looks for libraries of the file that holds the runtime. */
TW_API void tw_set_image_decoder(tw_image_decoder decoder);

/* In libtilewright_images, not in the runtime: decodes JPEG, PNG, TIFF, WebP and JPEG 2000 of up to
 * 2^28 pixels. A program that is linked without dlopen links libtilewright_images.a instead and
 * hands this function to tw_set_image_decoder. */
TW_API tw_status tw_decode_image(tw_image* image);

/* ---- watching ---- */

/* Told after every kernel and host operator of a run: for traces and profiles. */
typedef struct tw_event {
  const char* name;
  int32_t is_host_op;
  int32_t instruction; /* where in the plan */
  int64_t begin_ns, end_ns;
} tw_event;
TW_API tw_status tw_observe(tw_context* context,
                            void (*observer)(void* user, const tw_event* event), void* user);

/* Bytes that the context holds: arena, workspaces, dynamic memory. They grow with the largest
 * inputs so far and are kept for the next run; tw_trim gives them back, the results of the last run
 * too. Values that were taken with tw_output_value stay. */
TW_API int64_t tw_context_bytes(const tw_context* context);
TW_API tw_status tw_trim(tw_context* context);

#ifdef __cplusplus
}
#endif
#endif
