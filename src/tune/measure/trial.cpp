// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/trial.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "support/str.h"
#include "tune/measure/sandbox.h"

namespace tilewright::tune {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr int kFewest = 6;       // pairs: below there is no interval of 95 %
constexpr double kHopeless = 8;  // times slower: two pairs are enough to know
constexpr double kSlow = 1.15;   // times slower in each of the first few pairs: enough, too
constexpr int kFirst = 3;        // so many
constexpr double kSampleSeconds = 50e-6;  // the clock and the call must not count
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

int64_t preemptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

/// Calls in a row, on one set of arguments after the other.
class Timed {
 public:
  Timed(const LoadedCode& code, size_t sets) : code_(code), sets_(sets) {}
  /// Seconds of one of `calls` calls.
  double operator()(int calls) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i) code_.call(next_++ % sets_);
    return seconds_since(start) / calls;
  }

 private:
  const LoadedCode& code_;
  size_t sets_, next_ = 0;
};

int calls_for(double seconds) {
  return static_cast<int>(std::clamp(kSampleSeconds / std::max(seconds, 1e-9), 1.0, 1000.0));
}

/// Candidate and reference in turn, so that what disturbs one disturbs the other. A pair in which
/// the system took the processor away counts only when too few others are left.
Measurement timed(Timed& candidate, Timed& reference, const MeasureOptions& options) {
  const double first = candidate(1), other = reference(1);  // code and tables come into caches
  const int calls = calls_for(std::min(candidate(1), first));
  const int other_calls = calls_for(std::min(reference(1), other));
  const bool hopeless = first > kHopeless * other && candidate(1) > kHopeless * reference(1);
  int fewest = hopeless ? 2 : kFewest, most = hopeless ? 2 : options.repeats;
  struct Pair {
    double seconds, ratio;
  };
  std::vector<Pair> quiet, disturbed;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 2 * most; ++i) {
    const auto slow = [](const Pair& p) { return p.ratio > kSlow; };
    if (quiet.size() == kFirst && std::ranges::all_of(quiet, slow)) fewest = most = kFirst;
    const bool enough = static_cast<int>(quiet.size()) >= fewest;
    if (static_cast<int>(quiet.size()) >= most ||
        (seconds_since(start) > options.sample_seconds && (enough || i >= 2 * fewest)))
      break;
    const int64_t before = preemptions();
    double mine, its;
    if (i % 2 == 0) {
      mine = candidate(calls);
      its = reference(other_calls);
    } else {
      its = reference(other_calls);
      mine = candidate(calls);
    }
    (preemptions() == before ? quiet : disturbed).push_back({mine, mine / its});
  }
  for (const Pair& p : disturbed)
    if (static_cast<int>(quiet.size()) < fewest) quiet.push_back(p);
  Measurement out{.verdict = Verdict::Ok, .error = {}, .seconds = {}, .time = {}, .ratio = {}};
  std::vector<double> ratios;
  for (const Pair& p : quiet) {
    out.seconds.push_back(p.seconds);
    ratios.push_back(p.ratio);
  }
  out.time = estimate(out.seconds);
  out.ratio = estimate(std::move(ratios));
  return out;
}

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
  const ArgumentSets sets(reference.arguments, task.target);
  const tw_host host = host_of(pool);
  const std::vector<Memory> packed = packed_constants(code, reference.arguments);
  const LoadedCode other(reference.code, reference.arguments, reference.packed, sets.buffers(),
                         task, host);
  const LoadedCode mine(code, reference.arguments, packed, sets.buffers(), task, host);
  sets.restore(0);
  const Clock::time_point start = Clock::now();
  mine.call(0);
  const double first = seconds_since(start);
  if (std::string how = wrong_result(reference, sets); !how.empty())
    return failure(Verdict::Wrong, std::move(how));
  if (first > 4 * kHopeless * reference.seconds && first > 0.01) {  // cold or not
    const double ratio = first / reference.seconds;
    return {.verdict = Verdict::Ok,
            .error = {},
            .seconds = {first},
            .time = {first, first, first},
            .ratio = {ratio, ratio, ratio}};
  }
  Timed candidate(mine, sets.count()), its(other, sets.count());
  return timed(candidate, its, options);
}

}  // namespace

ArgumentSets::ArgumentSets(const Arguments& arguments, const ir::TargetSpec& target)
    : arguments_(arguments) {
  constexpr int64_t kMost = 16;
  const int64_t one = std::max<int64_t>(arguments.total(), 1);
  const int64_t count = std::clamp<int64_t>(4 * target.l2_bytes / one, 1, kMost);
  for (int64_t s = 0; s < count; ++s) {
    std::vector<void*>& set = buffers_.emplace_back();
    for (size_t i = 0; i < arguments.count(); ++i)
      set.push_back(s == 0 && i < arguments.inputs()
                        ? arguments.content(i).data()  // nobody else writes to it
                        : memory_.emplace_back(arguments.bytes(i)).data());
    restore(static_cast<size_t>(s));
  }
}

void ArgumentSets::restore(size_t set) const {
  for (size_t i = 0; i < arguments_.count(); ++i) {
    if (arguments_.bytes(i) == 0 || buffers_[set][i] == arguments_.content(i).data()) continue;
    std::memcpy(buffers_[set][i], arguments_.content(i).data(),
                static_cast<size_t>(arguments_.bytes(i)));
  }
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
  const ArgumentSets sets(a, task.target);
  const LoadedCode code(reference.code, a, reference.packed, sets.buffers(), task, host_of(pool));
  link.send("loaded");
  if (!end_on_violation()) return;
  sets.restore(0);
  code.call(0);
  std::byte* to = shared + kAlignment;
  for (size_t i = a.inputs(); i < a.count(); ++i) {
    if (a.bytes(i) > 0) std::memcpy(to, sets.buffers()[0][i], static_cast<size_t>(a.bytes(i)));
    to += (a.bytes(i) + kAlignment - 1) / kAlignment * kAlignment;
  }
  Timed timed(code, sets.count());
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
