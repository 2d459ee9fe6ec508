// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "driver/run_model.h"
#include "support/str.h"
#include "support/write_file.h"

namespace tilewright::driver {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string line(const char* format, auto... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

struct Event {
  std::string name;
  uint32_t instruction;
  int64_t begin, end;
};

/// One run with every kernel's time.
std::vector<Event> observed(LoadedModule& module) {
  std::vector<Event> events;
  events.reserve(4096);
  tw::check(tw_observe(
      module.context().get(),
      [](void* user, const tw_event* e) {
        static_cast<std::vector<Event>*>(user)->push_back(
            {e->name, static_cast<uint32_t>(e->instruction), e->begin_ns, e->end_ns});
      },
      &events));
  module.run();
  tw::check(tw_observe(module.context().get(), nullptr, nullptr));
  return events;
}

/// Of several observed runs the one of median length.
std::vector<Event> median_run(LoadedModule& module) {
  constexpr size_t kRuns = 5;
  std::vector<std::vector<Event>> runs;
  for (size_t i = 0; i < kRuns; ++i) runs.push_back(observed(module));
  const auto length = [](const std::vector<Event>& run) {
    return run.empty() ? 0 : run.back().end - run.front().begin;
  };
  std::sort(runs.begin(), runs.end(),
            [&](const auto& a, const auto& b) { return length(a) < length(b); });
  return std::move(runs[kRuns / 2]);
}

void write_trace(const std::vector<Event>& events, const std::filesystem::path& path) {
  nlohmann::json all = nlohmann::json::array();
  for (const Event& e : events)
    all.push_back({{"name", e.name},
                   {"ph", "X"},
                   {"pid", 1},
                   {"tid", 1},
                   {"ts", static_cast<double>(e.begin - events[0].begin) / 1e3},
                   {"dur", static_cast<double>(e.end - e.begin) / 1e3}});
  write_file(path, nlohmann::json{{"traceEvents", all}}.dump() + "\n");
}

}  // namespace

double BenchResult::quantile(double q) const {
  return runs[std::min(runs.size() - 1, static_cast<size_t>(q * static_cast<double>(runs.size())))];
}

BenchResult bench(LoadedModule& module, double seconds, const std::filesystem::path& trace) {
  BenchResult out;
  module.run();  // pages, caches, threads
  const Clock::time_point start = Clock::now();
  while (out.runs.size() < 5 || ms_since(start) < seconds * 1e3) {
    const Clock::time_point begin = Clock::now();
    module.run();
    out.runs.push_back(ms_since(begin));
  }
  std::sort(out.runs.begin(), out.runs.end());
  const std::vector<Event> events = median_run(module);
  if (!trace.empty()) write_trace(events, trace);
  std::map<std::string, BenchResult::Kernel> kernels;
  std::map<uint32_t, BenchResult::Call> calls;
  for (const Event& e : events) {
    const double ms = static_cast<double>(e.end - e.begin) / 1e6;
    BenchResult::Kernel& k = kernels[e.name];
    k.name = e.name;
    k.ms += ms;
    ++k.calls;
    BenchResult::Call& c = calls[e.instruction];
    c.instruction = e.instruction;
    c.ms += ms;
    ++c.count;
  }
  for (const auto& [instruction, call] : calls) out.calls.push_back(call);
  for (auto& [name, k] : kernels) out.kernels.push_back(std::move(k));
  std::sort(out.kernels.begin(), out.kernels.end(),
            [](const auto& a, const auto& b) { return a.ms > b.ms; });
  out.constant_bytes = tw_module_constant_bytes(module.module().get());
  out.context_bytes = tw_context_bytes(module.context().get());
  return out;
}

std::string print(const BenchResult& r) {
  std::string out = line("%zu runs: median %.3f ms, 20 %% below %.3f, 95 %% below %.3f\n",
                         r.runs.size(), r.quantile(0.5), r.quantile(0.2), r.quantile(0.95));
  out +=
      line("weights %.2f MB, memory of a run %.2f MB\n",
           static_cast<double>(r.constant_bytes) / 1e6, static_cast<double>(r.context_bytes) / 1e6);
  double all = 0;
  for (const BenchResult::Kernel& k : r.kernels) all += k.ms;
  for (size_t i = 0; i < r.kernels.size() && i < 20; ++i)
    out += line("%9.3f ms %5.1f %%  %4d x  %s\n", r.kernels[i].ms, 100 * r.kernels[i].ms / all,
                r.kernels[i].calls, r.kernels[i].name.c_str());
  return out;
}

std::string json(const BenchResult& r) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const BenchResult::Kernel& k : r.kernels)
    kernels.push_back({{"name", k.name}, {"ms", k.ms}, {"calls", k.calls}});
  return nlohmann::json{{"runs_ms", r.runs},
                        {"median_ms", r.quantile(0.5)},
                        {"constant_bytes", r.constant_bytes},
                        {"context_bytes", r.context_bytes},
                        {"kernels", kernels}}
             .dump(1) +
         "\n";
}

}  // namespace tilewright::driver
