// SPDX-License-Identifier: Apache-2.0
// One run at a time of a module: registers, values, arena. The parts of the class are in files of
// their own: ports.cpp (inputs and outputs), entry.cpp (from input shapes to placed values),
// execute.cpp (the plan), slots.cpp (values), calls.cpp (kernels), async.cpp.
#pragma once

#include <atomic>
#include <pthread.h>

#include "runtime/blocks.h"
#include "runtime/loaded.h"
#include "runtime/thread_pool.h"
#include "runtime/value.h"
#include "support/bare/memory.h"
#include "tilewright/runtime.h"

namespace tilewright::runtime {

/// Where a value is at the moment. Undefined: no data (arrays), no object (sequences, optionals).
struct Slot {
  void* data;
  int64_t bytes;
  int64_t* dims;
  Block* block;    // a reference, when the memory is counted and this is no view
  Value* object;   // a reference
  bool read_only;  // the memory is an input's or a constant's
};

/// Where tensors without elements lie: they have an address too.
extern char no_elements[64];

struct ContextOptions {
  int32_t threads = 1;  // 0: as many as there are CPUs
  ThreadPool* pool = nullptr;
  void (*parallel_for)(void* user, int64_t count, tw_task task, void* closure) = nullptr;
  void* parallel_user = nullptr;
  int32_t workers = 1;
  Allocator allocator;
  int64_t memory_limit = 0;  // 0: what the machine has
};

class Context {
 public:
  static tw_status create(LoadedModule& module, const ContextOptions& options, Context*& context,
                          ErrorText& error);
  void release();

  LoadedModule& module() { return module_; }
  const char* error_text() const { return error_.text(); }
  tw_status fail(tw_status status, const char* format, ...) __attribute__((format(printf, 3, 4)));
  bool running() const { return running_.load(std::memory_order_acquire); }

  // ports.cpp
  tw_status set_input(uint32_t index, const tw_tensor& tensor, bool donated);
  tw_status set_input_shape(uint32_t index, std::span<const int64_t> dims);
  tw_status set_input_value(uint32_t index, Value* value);
  /// The input is what the module has for it, until it is set.
  tw_status set_default(uint32_t index);
  tw_status bind_output(uint32_t index, void* data, size_t bytes);
  tw_status output_shape(uint32_t index, int64_t* dims);
  tw_status output(uint32_t index, tw_tensor& view);
  tw_status output_value(uint32_t index, Value*& value);

  tw_status run();
  tw_status run_async(tw_done done, void* user);
  tw_status wait();
  void cancel() { cancel_.store(true, std::memory_order_relaxed); }
  void observe(void (*observer)(void*, const tw_event*), void* user) {
    observer_ = observer;
    observer_user_ = user;
  }
  int64_t held_bytes() const;
  /// Gives back what only runs need.
  void trim();

  // For host operators.
  const PlanValue& plan_value(ValueId id) const { return plan_.values[id]; }
  /// The slot of a value that is defined, else nullptr.
  Slot* live(ValueId id);
  /// A slot as a value of its own, one reference; nullptr when there is no memory.
  Value* keep(ValueId id);
  /// Memory for a value with this shape, which its own registers must agree with if it has any.
  tw_status allocate(ValueId id, std::span<const int64_t> dims, int64_t bytes);
  /// The value becomes what `value` holds; takes over the reference.
  tw_status take(ValueId id, Value* value);
  BlockPool& pool() { return *pool_; }

 private:
  struct Input {
    const void* data;
    Value* value;  // a reference, when set by one
    bool shaped, filled, donated;
  };
  struct Output {
    void* bound;
    size_t capacity;
    ValueId value;
  };
  struct Memory {
    void* data;
    size_t bytes;
  };

  Context(LoadedModule& module, const ContextOptions& options);
  ~Context();
  bool prepare();
  void use_threads(const ContextOptions& options);

  // ports.cpp
  tw_status check_shape(uint32_t index, std::span<const int64_t> dims);
  void take_shape(uint32_t index, std::span<const int64_t> dims);
  std::span<int64_t> input_dims(uint32_t index);
  void place_input(uint32_t index, int64_t bytes, Value* object);
  tw_status ports_apart();

  // entry.cpp
  tw_status infer_shapes();
  tw_status bind_dims();
  tw_status place_values();
  tw_status enter();
  tw_status inputs_filled();
  tw_status fill_outputs();
  void leave(tw_status status);

  // execute.cpp
  tw_status execute(uint32_t at, uint32_t end);
  tw_status run_plan();

  // slots.cpp
  tw_status read_dims(ValueId id, Slot& slot, int64_t& bytes);
  tw_status define(ValueId id);
  tw_status allocate_slot(ValueId id, bool keep_content);
  tw_status memory_for(ValueId id, Slot& slot, int64_t bytes, bool keep_content);
  tw_status share(ValueId to, ValueId from);
  tw_status copy(ValueId to, ValueId from);
  tw_status load_element(ValueId id, int64_t index, int64_t& value);
  tw_status store_element(ValueId id, int64_t index, int64_t value);
  tw_status check_indices(const uint32_t* words);
  tw_status undefined(ValueId id);
  void clear(Slot& slot);
  const char* value_name(ValueId id) const;
  Block* block_of(ValueId id) const;
  tw_status may_write(ValueId id);

  // calls.cpp
  tw_status call(const uint32_t* words, bool checked);
  tw_status checked_buffers(const uint32_t* words);
  tw_status grow(Memory& memory, int64_t bytes, const char* what);
  tw_status reserve(Memory& memory, int64_t bytes, const char* what);
  tw_status host_call(const uint32_t* words);
  void tell(const char* name, bool host_op, const uint32_t* words, int64_t begin);

  void give_back(Memory& memory);
  tw_status no_memory(const char* what, const char* name, int64_t bytes);

  static void* async_main(void* context);

  LoadedModule& module_;
  const PlanView& plan_;
  const Allocator allocator_;
  const size_t memory_limit_;
  ErrorText error_;
  BlockPool* pool_ = nullptr;

  Array<int64_t> registers_;
  Array<int64_t> entry_registers_;  // what they hold when the body starts
  Array<Slot> slots_;
  Array<int64_t> dims_;  // of all slots
  Array<void*> buffers_;
  Array<int64_t> scalars_;
  Array<Input> inputs_;
  Array<int64_t> input_dims_;
  Array<Output> outputs_;
  Array<ValueId> input_values_, dynamic_values_;
  Memory arena_{}, workspace_{}, scratch_{};

  tw_host host_{};
  ThreadPool* own_threads_ = nullptr;
  ContextOptions parallel_;  // for parallel loops that need a float state of their own

  bool shapes_known_ = false;  // the prologue has run for the shapes that are set
  bool placed_ = false;        // and values are placed by it
  bool ports_checked_ = false;
  bool has_results_ = false;

  std::atomic<bool> running_{false};
  std::atomic<bool> cancel_{false};
  void (*observer_)(void*, const tw_event*) = nullptr;
  void* observer_user_ = nullptr;

  // The thread of asynchronous runs, made by the first one.
  struct Async {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    bool started, pending, stop;
    tw_done done;
    void* user;
    tw_status result;
  } async_{};
};

}  // namespace tilewright::runtime
