// SPDX-License-Identifier: Apache-2.0
#include "runtime/context.h"

#include <cstdarg>
#include <cstdio>
#include <new>
#include <unistd.h>

#include "module/shape.h"
#include "runtime/float_state.h"

namespace tilewright::runtime {
namespace {

using Storage = PlanValue::Storage;

/// A task that runs with a floating-point state of its own: in threads that are not ours, or with
/// one that is not the default.
struct GuardedTask {
  tw_task task;
  void* closure;
  bool flush;

  static void run(void* self, int64_t begin, int64_t end, int32_t worker) {
    const auto* guarded = static_cast<const GuardedTask*>(self);
    const FloatState state(guarded->flush);
    guarded->task(guarded->closure, begin, end, worker);
  }
};

/// What the machine has: the system would end a program that uses more.
size_t bytes_of_machine() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page) : SIZE_MAX;
}

}  // namespace

Context::Context(LoadedModule& module, const ContextOptions& options)
    : module_(module),
      plan_(module.plan()),
      allocator_(options.allocator),
      memory_limit_(options.memory_limit > 0 ? static_cast<size_t>(options.memory_limit)
                                             : bytes_of_machine()) {
  module.retain();
  pthread_mutex_init(&async_.mutex, nullptr);
  pthread_cond_init(&async_.changed, nullptr);
}

Context::~Context() {
  if (async_.started) {
    pthread_mutex_lock(&async_.mutex);
    async_.stop = true;
    pthread_cond_broadcast(&async_.changed);
    pthread_mutex_unlock(&async_.mutex);
    pthread_join(async_.thread, nullptr);
  }
  pthread_mutex_destroy(&async_.mutex);
  pthread_cond_destroy(&async_.changed);
  for (Slot& slot : slots_) clear(slot);
  for (Input& input : inputs_)
    if (input.value != nullptr) input.value->release();
  for (Memory* memory : {&arena_, &workspace_, &scratch_}) give_back(*memory);
  if (own_threads_ != nullptr) {
    own_threads_->~ThreadPool();
    allocator_.put(own_threads_, sizeof(ThreadPool));
  }
  if (pool_ != nullptr) pool_->close();
  module_.release();
}

tw_status Context::create(LoadedModule& module, const ContextOptions& options, Context*& context,
                          ErrorText& error) {
  const Allocator& allocator = options.allocator;
  void* memory = allocator.get(sizeof(Context), alignof(Context));
  if (memory == nullptr) {
    error.set("no memory for a context");
    return TW_OUT_OF_MEMORY;
  }
  auto* made = new (memory) Context(module, options);
  made->use_threads(options);
  if (made->prepare()) {
    context = made;
    return TW_OK;
  }
  error.set("no memory for a context of this module");
  made->release();
  return TW_OUT_OF_MEMORY;
}

void Context::release() {
  const Allocator allocator = allocator_;
  this->~Context();
  allocator.put(this, sizeof *this);
}

tw_status Context::fail(tw_status status, const char* format, ...) {
  char text[900];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  error_.set("%s", text);
  return status;
}

void Context::use_threads(const ContextOptions& options) {
  parallel_ = options;
  const bool flush = module_.view().flush_subnormals;
  if (options.parallel_for == nullptr && options.pool == nullptr && options.threads != 1) {
    if (void* memory = allocator_.get(sizeof(ThreadPool), alignof(ThreadPool)))
      own_threads_ = new (memory) ThreadPool(options.threads);
  }
  ThreadPool* threads = options.pool != nullptr ? options.pool : own_threads_;
  host_ = {.context = nullptr, .parallel_for = tw_serial_for, .workers = 1};
  if (options.parallel_for == nullptr && threads == nullptr) return;
  if (options.parallel_for == nullptr && !flush) {
    host_ = threads->host();
    return;
  }
  if (options.parallel_for == nullptr) {
    const tw_host host = threads->host();
    parallel_.parallel_for = host.parallel_for;
    parallel_.parallel_user = host.context;
    parallel_.workers = host.workers;
  }
  host_.context = this;
  host_.workers = parallel_.workers;
  host_.parallel_for = [](void* self, int64_t count, tw_task task, void* closure) {
    const auto* c = static_cast<const Context*>(self);
    GuardedTask guarded{task, closure, c->module_.view().flush_subnormals};
    c->parallel_.parallel_for(c->parallel_.parallel_user, count, GuardedTask::run, &guarded);
  };
}

namespace {

/// The values for which `wanted` holds, in order.
template <class F>
bool select(const Allocator& allocator, uint32_t count, Array<ValueId>& values, F wanted) {
  uint32_t found = 0;
  for (ValueId id = 0; id < count; ++id) found += wanted(id) ? 1 : 0;
  if (!values.resize(allocator, found)) return false;
  found = 0;
  for (ValueId id = 0; id < count; ++id)
    if (wanted(id)) values[found++] = id;
  return true;
}

}  // namespace

/// Everything that a run needs and whose size is known or bounded by declared ranges: a run asks
/// for memory only where there is no such bound.
bool Context::prepare() {
  const PlanFacts& facts = module_.facts();
  const ModuleView& view = module_.view();
  pool_ = BlockPool::create(allocator_, memory_limit_);
  size_t dims = 0;
  for (const PlanValue& v : plan_.values) dims += v.rank;
  if (pool_ == nullptr || !registers_.resize(allocator_, plan_.registers) ||
      !entry_registers_.resize(allocator_, plan_.registers) ||
      !slots_.resize(allocator_, plan_.values.size()) || !dims_.resize(allocator_, dims) ||
      !buffers_.resize(allocator_, facts.max_buffers) ||
      !scalars_.resize(allocator_, facts.max_scalars) ||
      !inputs_.resize(allocator_, view.inputs.size()) ||
      !input_dims_.resize(allocator_, view.dims.size()) ||
      !outputs_.resize(allocator_, view.outputs.size()))
    return false;
  for (size_t i = 0; i < plan_.constants.size(); ++i) registers_[i] = plan_.constants[i];
  for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i].value = facts.outputs[i];
  size_t next_dims = 0;
  for (ValueId id = 0; id < plan_.values.size(); ++id) {
    const PlanValue& v = plan_.values[id];
    Slot& slot = slots_[id];
    slot.dims = dims_.data() + next_dims;
    next_dims += v.rank;
    if (v.storage == Storage::Constant) {
      const format::ConstantRecord& c = view.constants[v.index];
      for (uint32_t i = 0; i < v.rank; ++i) slot.dims[i] = registers_[plan_.dims[v.dims + i]];
      slot.data = const_cast<std::byte*>(view.constant_bytes.data() + c.offset);
      slot.read_only = true;
      slot.bytes = v.type.is_strings() ? static_cast<int64_t>(c.bytes)
                                       : tensor_bytes(v.type.elem, {slot.dims, v.rank});
    }
  }
  const auto count = static_cast<uint32_t>(plan_.values.size());
  const auto storage = [&](ValueId id) { return plan_.values[id].storage; };
  const bool selected = select(allocator_, count, input_values_,
                               [&](ValueId id) { return storage(id) == Storage::Input; }) &&
                        select(allocator_, count, dynamic_values_, [&](ValueId id) {
                          return storage(id) == Storage::Dynamic ||
                                 (facts.at_entry[id] == 0 && storage(id) != Storage::Output);
                        });
  int64_t scratch = 0;
  if (__builtin_mul_overflow((facts.scratch_bytes + 63) / 64 * 64, int64_t{host_.workers},
                             &scratch))
    return false;
  const bool known = plan_.arena_bytes < plan_.constants.size();
  if (!selected || (known && reserve(arena_, plan_.arena_max, "the arena") != TW_OK) ||
      reserve(workspace_, facts.workspace_bytes, "a workspace") != TW_OK ||
      reserve(scratch_, scratch, "a workspace") != TW_OK)
    return false;
  // The most that the declared ranges allow. Where there is no memory for that, smaller inputs may
  // do with less: a run asks for what it needs. What dynamic values may need is left to them.
  if (__builtin_mul_overflow((plan_.scratch_max + 63) / 64 * 64, int64_t{host_.workers}, &scratch))
    return false;
  const auto share = static_cast<int64_t>(memory_limit_ / 8);
  if (plan_.arena_max <= share) reserve(arena_, plan_.arena_max, "the arena");
  if (plan_.workspace_max <= share) reserve(workspace_, plan_.workspace_max, "a workspace");
  if (scratch <= share) reserve(scratch_, scratch, "a workspace");
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    if (view.inputs[i].source != kNone) set_default(i);
  error_.clear();
  return true;
}

int64_t Context::held_bytes() const {
  return static_cast<int64_t>(arena_.bytes + workspace_.bytes + scratch_.bytes +
                              pool_->held_bytes());
}

void Context::trim() {
  for (Memory* memory : {&arena_, &workspace_, &scratch_}) give_back(*memory);
  for (const Output& output : outputs_)
    if (output.bound == nullptr) clear(slots_[output.value]);
  has_results_ = placed_ = false;
  pool_->trim();
}

}  // namespace tilewright::runtime
