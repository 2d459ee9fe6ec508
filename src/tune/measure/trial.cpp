// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/trial.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <unistd.h>
#include <utility>

#include "support/bare/large_pages.h"
#include "support/str.h"
#include "tune/measure/in_turn.h"
#include "tune/measure/sandbox.h"

namespace tilewright::tune {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr double kFarTooSlow = 32;  // times: one call is enough to know, cold or not
constexpr double kLong = 10e-6;     // enough that one call can be timed by itself
constexpr int64_t kAlignment = 64;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

tw_host host_of(runtime::ThreadPool* pool) {
  if (pool) return pool->host();
  return {.context = nullptr,
          .parallel_for = tw_serial_for,
          .workspace = nullptr,
          .scratch = nullptr,
          .scratch_bytes = 0,
          .workers = 1};
}

/// What the other kernels of a model leave in the second cache between two calls of one: what it
/// reads, which the one before it has written, but nothing of its workspace, constants and code.
class OtherKernels {
 public:
  explicit OtherKernels(const ir::TargetSpec& target)
      : memory_(2 * target.l2_bytes, Memory::Pages::Large) {
    std::memset(memory_.data(), 1, static_cast<size_t>(memory_.size()));
  }
  void run(std::span<const std::span<const std::byte>> near) {
    read({memory_.data(), static_cast<size_t>(memory_.size())});
    for (const std::span<const std::byte> bytes : near) read(bytes);
  }

 private:
  void read(std::span<const std::byte> bytes) {
    int sum = 0;
    for (size_t i = 0; i < bytes.size(); i += kLine) sum += static_cast<int>(bytes[i]);
    sum_ = sum;
  }

  static constexpr size_t kLine = 64;
  Memory memory_;
  volatile int sum_ = 0;  // or nothing would be read
};

/// Calls on one set of arguments after the other, from the first on; with other kernels between
/// them, or in a row.
class Timed {
 public:
  Timed(const LoadedCode& code, const ArgumentSets& sets, size_t first, bool warm,
        OtherKernels* others)
      : code_(code), sets_(sets), first_(first), warm_(warm), others_(others) {}
  /// Seconds of one of `calls` calls.
  double operator()(int calls) {
    if (warm_ && calls > 1) call();
    const int together = others_ ? 1 : calls;
    double seconds = 0;
    for (int i = 0; i < calls; i += together) {
      if (others_) others_->run(sets_.near(set()));
      const Clock::time_point start = Clock::now();
      for (int k = 0; k < together; ++k) call();
      seconds += seconds_since(start);
    }
    return seconds / calls;
  }

 private:
  size_t set() const { return first_ + next_ % sets_.count(); }
  void call() {
    code_.call(set());
    ++next_;
  }

  const LoadedCode& code_;
  const ArgumentSets& sets_;
  size_t first_, next_ = 0;
  bool warm_;  // before several: what the other one of a pair took from the caches comes back
  OtherKernels* others_;
};

/// How the results in set 0 differ from the reference's; empty when they do not.
std::string wrong_result(const Reference& reference, const ArgumentSets& sets) {
  const Arguments& a = reference.arguments;
  for (size_t i = a.inputs(); i < a.count(); ++i) {
    const auto* got = static_cast<const std::byte*>(sets.buffers()[0][i]);
    const std::string how =
        difference(a.elem(i), a.elements(i), reference.results[i - a.inputs()].data(), got,
                   reference.from_floats);
    if (!how.empty()) return str("result ", i - a.inputs(), ": ", how);
  }
  return {};
}

Measurement failure(Verdict verdict, std::string why) {
  return {.verdict = verdict, .error = std::move(why), .seconds = {}, .time = {}, .ratio = {}};
}

const Link* link_for_handler = nullptr;

/// LLVM has no exceptions: where memory ends, this is the last that can be said.
void say_no_memory() {
  static const std::string message =
      encoded(failure(Verdict::NoMemory, "it wants more memory than it may have"));
  link_for_handler->send(message);
  _exit(0);
}

Measurement measured(const Task& task, const NativeCode& code, const Reference& reference,
                     const MeasureOptions& options, runtime::ThreadPool* pool) {
  FarMemory* far = reference.far.get();
  const ArgumentSets sets(reference.arguments, task, {code.taken, reference.code.taken}, far);
  const tw_host host = host_of(pool);
  const std::vector<Memory> packed = packed_constants(code, reference.arguments);
  const auto loaded = [&](const NativeCode& from, const std::vector<Memory>& constants,
                          size_t kernel) {
    return LoadedCode(from, reference.arguments, constants, sets.buffers(),
                      sets.copies_of_constants(), task, host, far, kernel);
  };
  std::vector<Memory> its_packed;  // as new as that of the candidate: where pages lie matters
  for (const Memory& from : reference.packed) {
    const Memory& to = its_packed.emplace_back(reference.arguments.memory_of_constant(from.size()));
    std::memcpy(to.data(), from.data(), static_cast<size_t>(from.size()));
  }
  const LoadedCode mine = loaded(code, packed, 0), other = loaded(reference.code, its_packed, 1);
  sets.restore(0);
  const Clock::time_point start = Clock::now();
  mine.call(0);
  const double first = seconds_since(start);
  if (std::string how = wrong_result(reference, sets); !how.empty())
    return failure(Verdict::Wrong, std::move(how));
  if (first > kFarTooSlow * reference.seconds && first > 0.01) {
    const double ratio = first / reference.seconds;
    return {.verdict = Verdict::Ok,
            .error = {},
            .seconds = {first},
            .time = {first, first, first},
            .ratio = {ratio, ratio, ratio}};
  }
  const bool warm = far_bytes(task) == 0;
  // The same for all trials of a task. (They would be in the caches of one thread only.)
  std::optional<OtherKernels> others;
  if (!warm && !pool && reference.seconds >= kLong) others.emplace(task.target);
  OtherKernels* between = others ? &*others : nullptr;
  Timed candidate(mine, sets, 0, warm, between), its(other, sets, sets.count(), warm, between);
  return in_turn(candidate, its, options.sample_seconds, options.repeats);
}

}  // namespace

ArgumentSets::ArgumentSets(const Arguments& arguments, const Task& task, const Taken& taken,
                           FarMemory* far)
    : arguments_(arguments) {
  constexpr int64_t kMost = 256;
  const ir::TargetSpec& target = task.target;
  const auto constant = [&](size_t i) {
    return i < arguments.inputs() &&
           std::ranges::count(task.constants, task.func.params[i].buffer->name) > 0;
  };
  int64_t constants = 1, others = 1;  // bytes
  for (size_t i = 0; i < arguments.count(); ++i)
    (constant(i) ? constants : others) += arguments.bytes(i);
  const auto parts = [&](int64_t all, int64_t one) {
    return static_cast<size_t>(std::clamp<int64_t>((all + one - 1) / one, 1, kMost));
  };
  copies_ = parts(far_bytes(task) / 2, constants);
  // What a kernel reads, the one before it has just written: it is in the second cache if it fits
  // there, beside that of the other one of a pair.
  const bool stays = 2 * others <= target.l2_bytes;
  const size_t near = stays ? 1 : parts(2 * target.l2_bytes, others);
  count_ = std::lcm(copies_, near);  // neither comes twice in a row
  // A run has its values in one memory; both kernels have one, so that theirs lie alike.
  std::array<std::byte*, 2> next{};
  const int64_t each =
      static_cast<int64_t>(near) * (others + kAlignment * static_cast<int64_t>(arguments.count()));
  if (on_large_pages(std::max(task.arena, others)))
    for (std::byte*& n : next) n = memory_.emplace_back(each, Memory::Pages::Large).data();
  const auto memory_for = [&](size_t i, size_t kernel) {
    const int64_t bytes = arguments.bytes(i);
    if (constant(i)) return memory_.emplace_back(arguments.memory_of_constant(bytes)).data();
    if (!next[kernel]) return memory_.emplace_back(bytes).data();
    const int64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return std::exchange(next[kernel], next[kernel] + whole);
  };
  for (size_t s = 0; s < 2 * count_; ++s) {
    const size_t kernel = s / count_;
    std::vector<void*>& set = buffers_.emplace_back();
    for (size_t i = 0; i < arguments.count(); ++i) {
      // That has the same, of the same kernel.
      const size_t first = kernel * count_ + s % count_ % (constant(i) ? copies_ : near);
      const bool unused = constant(i) && std::ranges::count(taken[kernel], i) == 0;
      if (unused) {
        set.push_back(nullptr);
      } else if (first < s) {
        set.push_back(buffers_[first][i]);
      } else if (void* part =
                     far && constant(i) && first % count_ > 0 && arguments.elem(i) == ir::Elem::F32
                         ? far->take(arguments.bytes(i), kernel)
                         : nullptr) {
        set.push_back(part);
      } else {
        set.push_back(memory_for(i, kernel));
        restore(s, i);
      }
    }
    std::vector<std::span<const std::byte>>& near_of_set = near_.emplace_back();
    for (size_t i = 0; stays && i < arguments.inputs(); ++i)
      if (!constant(i))
        near_of_set.emplace_back(static_cast<const std::byte*>(set[i]),
                                 static_cast<size_t>(arguments.bytes(i)));
  }
}

void ArgumentSets::restore(size_t set) const {
  for (size_t i = 0; i < arguments_.count(); ++i) restore(set, i);
}

void ArgumentSets::restore(size_t set, size_t i) const {
  if (arguments_.bytes(i) == 0 || !buffers_[set][i]) return;
  std::memcpy(buffers_[set][i], arguments_.content(i).data(),
              static_cast<size_t>(arguments_.bytes(i)));
}

void run_trial(const Task& task, const schedule::Trace& trace, const Reference& reference,
               const MeasureOptions& options, Build build, runtime::ThreadPool* pool,
               const Link& link) {
  link_for_handler = &link;
  std::set_new_handler(say_no_memory);
  Measurement out;
  try {
    const NativeCode code = build(task, trace);
    if (!link.send("built") || !link.wait()) return;
    require(end_on_violation(), "the sandbox cannot be closed");
    out = measured(task, code, reference, options, pool);
  } catch (const Error& e) {
    out = failure(Verdict::Refused, e.diagnostic.message);
  } catch (const std::bad_alloc&) {
    say_no_memory();
  } catch (const std::exception& e) {
    out = failure(Verdict::Refused, str("mistake of the compiler: ", e.what()));
  }
  link.send(encoded(out));
}

int64_t shared_bytes_of(const Arguments& a) {
  int64_t bytes = kAlignment;
  for (size_t i = a.inputs(); i < a.count(); ++i)
    bytes += (a.bytes(i) + kAlignment - 1) / kAlignment * kAlignment;
  return bytes;
}

void run_reference(const Task& task, const Reference& reference, std::byte* shared,
                   runtime::ThreadPool* pool, const Link& link) {
  const Arguments& a = reference.arguments;
  FarMemory* far = reference.far.get();
  const ArgumentSets sets(a, task, {reference.code.taken, reference.code.taken}, far);
  const LoadedCode code(reference.code, a, reference.packed, sets.buffers(),
                        sets.copies_of_constants(), task, host_of(pool), far, 0);
  link.send("loaded");
  if (!end_on_violation()) return;
  sets.restore(0);
  code.call(0);
  std::byte* to = shared + kAlignment;
  for (size_t i = a.inputs(); i < a.count(); ++i) {
    if (a.bytes(i) > 0) std::memcpy(to, sets.buffers()[0][i], static_cast<size_t>(a.bytes(i)));
    to += (a.bytes(i) + kAlignment - 1) / kAlignment * kAlignment;
  }
  Timed timed(code, sets, 0, false, nullptr);
  double seconds = timed(1);
  if (seconds < 0.05) seconds = std::min(seconds, timed(3));
  std::memcpy(shared, &seconds, sizeof seconds);
  link.send("done");
}

std::string encoded(const Measurement& m) {
  const auto three = [](const Estimate& e) { return json{e.median, e.low, e.high}; };
  return json{{"verdict", m.verdict},
              {"error", m.error},
              {"seconds", m.seconds},
              {"time", three(m.time)},
              {"ratio", three(m.ratio)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Measurement decoded(const std::string& message) {
  const json from = json::parse(message);
  const auto number = [](const json& j) {
    const double x = j.get<double>();
    if (!std::isfinite(x) || x < 0) throw std::runtime_error("a time is no number");
    return x;
  };
  const auto three = [&](const char* field) {
    const json& j = from.at(field);
    const Estimate e{number(j.at(0)), number(j.at(1)), number(j.at(2))};
    if (!(e.low <= e.median && e.median <= e.high)) throw std::runtime_error("no interval");
    return e;
  };
  const int verdict = from.at("verdict").get<int>();
  if (verdict < 0 || verdict > static_cast<int>(Verdict::Failed))
    throw std::runtime_error("no verdict");
  Measurement out{.verdict = static_cast<Verdict>(verdict),
                  .error = from.at("error"),
                  .seconds = {},
                  .time = three("time"),
                  .ratio = three("ratio")};
  for (const json& s : from.at("seconds")) out.seconds.push_back(number(s));
  return out;
}

}  // namespace tilewright::tune
