// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/reference.h"

#include <chrono>
#include <cstring>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "arith/context.h"
#include "ir/interpret/interpret.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "tune/measure/window.h"

namespace tilewright::tune {
namespace {

using Clock = std::chrono::steady_clock;

/// Instances of blocks that the interpreter runs at each end of the results.
constexpr int64_t kInterpreted = 200'000;

/// Memory that a child's writes to are seen in.
class SharedMemory {
 public:
  explicit SharedMemory(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedMemory() { munmap(data_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  size_t bytes_;
  void* data_;
};

/// Waits for the child to say `word`; what went wrong otherwise.
std::string problem_before(const char* word, Child& child, Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    while (const auto message = child.receive())
      if (*message == word) return {};
    if (child.gone()) return ended(child.status()).error;
    pollfd wait{child.fd(), POLLIN, 0};
    poll(&wait, 1, 50);
  }
  return "it takes too long";
}

/// The elements of a result that a window has, as bytes.
std::vector<std::byte> part_of(const ir::Array& whole, const std::vector<IndexRange>& window) {
  std::vector<int64_t> shape, at;
  for (const IndexRange& r : window) {
    shape.push_back(r.size());
    at.push_back(r.low);
  }
  ir::Array part = ir::make_array(whole.elem, shape);
  for (uint64_t& cell : part.cells) {
    int64_t place = 0;
    for (size_t d = 0; d < at.size(); ++d) place = place * whole.shape[d] + at[d];
    cell = whole.cells[static_cast<size_t>(place)];
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < window[d].high) break;
      at[d] = window[d].low;
    }
  }
  return ir::to_bytes(part);
}

Reference built_reference(const Task& task, const MeasureOptions& options,
                          std::shared_ptr<FarMemory> far) {
  Reference out{.code = {}, .arguments = Arguments(task), .packed = {}, .results = {}};
  out.arguments.fill(options.seed);
  out.far = std::move(far);
  out.from_floats = computes_floats(task.func);
  const Clock::time_point start = Clock::now();
  try {
    out.code = build_native(task, default_trace(task));
  } catch (const Error&) {  // as when a model is compiled: plain loops are always an answer
    out.code = build_native(task, {});
  }
  out.build_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  out.packed = packed_constants(out.code, out.arguments);
  const Arguments& a = out.arguments;
  const SharedMemory shared(shared_bytes_of(a));
  runtime::ThreadPool* pool = nullptr;
  Child child(
      options.memory_bytes + 20 * a.total(), [&] { pool = pool_of(options.threads); },
      [&](const Link& link) { run_reference(task, out, shared.data(), pool, link); });
  out.problem =
      problem_before("done", child,
                     Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(5 * options.run_seconds)));
  if (!out.problem.empty()) return out;
  std::memcpy(&out.seconds, shared.data(), sizeof out.seconds);
  const std::byte* from = shared.data() + 64;
  for (size_t i = a.inputs(); i < a.count(); ++i) {
    const Memory& result = out.results.emplace_back(a.bytes(i));
    std::memcpy(result.data(), from, static_cast<size_t>(a.bytes(i)));
    from += (a.bytes(i) + 63) / 64 * 64;
  }
  out.problem = differs_from_interpreter(task, out);
  return out;
}

}  // namespace

std::string differs_from_interpreter(const Task& task, const Reference& reference) {
  const Arguments& a = reference.arguments;
  ir::VarMap values;
  for (size_t i = 0; i < task.func.symbols.size(); ++i)
    values[task.func.symbols[i].var] = task.symbols[i];
  const auto array = [&](size_t i, const Memory& bytes) {
    std::vector<int64_t> shape;
    for (const ir::Expr& e : task.func.params[i].buffer->shape)
      shape.push_back(*ir::const_int(arith::Context().simplify(ir::substitute(e, values))));
    return ir::from_bytes(a.elem(i), std::move(shape),
                          {bytes.data(), static_cast<size_t>(a.bytes(i))});
  };
  std::vector<ir::Array> contents;
  for (const bool at_end : {false, true}) {
    const std::optional<Window> window = window_of(task, kInterpreted, at_end);
    if (!window) continue;
    for (size_t i = contents.size(); i < a.count(); ++i) contents.push_back(array(i, a.content(i)));
    std::vector<ir::Array> args = contents;
    try {
      ir::interpret(window->func, args, task.symbols, {.check = false});
    } catch (const Error&) {
      continue;  // it follows indices of made-up data astray, or takes too long
    }
    for (size_t i = a.inputs(); i < a.count(); ++i) {
      const std::vector<IndexRange>& box = window->results[i - a.inputs()];
      const std::vector<std::byte> want = part_of(args[i], box),
                                   got = part_of(array(i, reference.results[i - a.inputs()]), box);
      int64_t elements = 1;
      for (const IndexRange& r : box) elements *= r.size();
      const std::string how =
          difference(a.elem(i), elements, want.data(), got.data(), reference.from_floats);
      if (!how.empty()) return str("the interpreter disagrees with it: ", how);
    }
  }
  return {};
}

Measurement ended(int status) {
  Measurement out;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    out.verdict = signal == SIGSYS ? Verdict::Forbidden : Verdict::Crashed;
    out.error = signal == SIGSYS ? "it asked the system for what a kernel may not do"
                                 : str("it was ended by signal ", signal, ", ", strsignal(signal));
  } else {
    out.verdict = Verdict::Crashed;
    out.error = str("it ended with exit code ", WEXITSTATUS(status), " and no result");
  }
  return out;
}

runtime::ThreadPool* pool_of(int threads) {
  return threads > 1 ? new runtime::ThreadPool(threads) : nullptr;
}

Reference make_reference(const Task& task, const MeasureOptions& options,
                         std::shared_ptr<FarMemory> far) {
  std::string problem;
  try {
    return built_reference(task, options, std::move(far));
  } catch (const Error& e) {
    problem = e.diagnostic.message;
  }
  Reference none;
  none.problem = std::move(problem);
  return none;
}

}  // namespace tilewright::tune
