// SPDX-License-Identifier: Apache-2.0
// An explanation as text and as a page.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "driver/explain.h"
#include "driver/explain_page.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using nlohmann::json;

template <class... Values>
std::string format(const char* text, Values... values) {
  char out[256];
  std::snprintf(out, sizeof out, text, values...);
  return out;
}

double mega(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

json number(const auto& value) { return value ? json(*value) : json(nullptr); }

const char* name_of(PlanValue::Storage storage) {
  constexpr const char* names[] = {"input", "output", "constant", "arena", "view", "dynamic"};
  return names[static_cast<int>(storage)];
}

/// Tuned or not, and what came of it.
std::string schedule_of(const Explanation::Step& s) {
  if (!s.refused.empty()) return str("untuned: its record is not used: ", s.refused);
  return s.origin == ScheduleOrigin::Untuned ? "untuned" : str(name(s.origin), ": ", s.tuned);
}

json of(const Explanation::Step& s) {
  json members = json::array();
  for (const Explanation::Member& m : s.members)
    members.push_back(json::array({m.op, m.value, m.origin}));
  return {{"name", s.plan.name},
          {"host", s.plan.kernel == kNone},
          {"kernel", s.plan.kernel},
          {"reads", s.plan.reads},
          {"writes", s.plan.writes},
          {"members", members},
          {"reasons", s.reasons},
          {"layouts", s.layouts},
          {"plain", s.plain},
          {"schedule", schedule_of(s)},
          {"calls", s.calls},
          {"ms", s.ms},
          {"flops", number(s.flops)},
          {"bytes", number(s.bytes)},
          {"share", number(share_of_roof(s))},
          {"compute_bound", s.compute_bound}};
}

std::optional<uint32_t> part_of(const PlannedValue& v) {
  return v.whole == kNone ? std::nullopt : std::optional(v.whole);
}

json of(const Explanation& e) {
  json out{{"model", e.model},
           {"median_ms", e.median_ms},
           {"threads", e.threads},
           {"arena_bytes", e.arena_bytes},
           {"arena_at", e.arena_texts},
           {"live_bytes", e.live_bytes},
           {"constant_bytes", e.constant_bytes},
           {"roofs", {{"flops", e.roofs.flops}, {"memory", json::array()}}},
           {"steps", json::array()},
           {"values", json::array()}};
  for (const Roofs::Memory& m : e.roofs.memory)
    out["roofs"]["memory"].push_back({{"bytes", m.bytes}, {"rate", m.rate}});
  for (const Explanation::Step& s : e.steps) out["steps"].push_back(of(s));
  for (size_t v = 0; v < e.values.size(); ++v)
    out["values"].push_back({{"name", e.names[v]},
                             {"type", e.values[v].type},
                             {"storage", name_of(e.values[v].storage)},
                             {"bytes", number(e.values[v].bytes)},
                             {"offset", number(e.values[v].offset)},
                             {"part_of", number(part_of(e.values[v]))},
                             {"first", e.values[v].first},
                             {"last", e.values[v].last}});
  return out;
}

/// A rate of something per call, in units of 10⁹ a second.
std::string rate(const Explanation::Step& s, const std::optional<double>& amount) {
  if (!amount || s.ms <= 0) return "-";
  return format("%.1f", *amount * s.calls / s.ms / 1e6);
}

}  // namespace

std::string print(const Explanation& e) {
  std::string out = str(e.model, "\n");
  out += format(
      "median run %.3f ms with %d thread%s; weights %.2f MB; arena %.2f MB, at most %.2f MB "
      "of it live at once\n",
      e.median_ms, e.threads, e.threads == 1 ? "" : "s", mega(e.constant_bytes),
      mega(e.arena_bytes), mega(e.live_bytes));
  out += format("roofs, measured now: %.0f GFLOP/s", e.roofs.flops / 1e9);
  for (const Roofs::Memory& m : e.roofs.memory)
    out += format(", %.0f GB/s up to %.2f MB", m.rate / 1e9, mega(m.bytes));
  out += "\n\nstep        ms  GFLOP/s    GB/s  of roof  kernel\n";
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Explanation::Step& s = e.steps[i];
    const std::optional<double> share = share_of_roof(s);
    out += format("%4zu %9.4f %8s %7s %8s  ", i, s.ms, rate(s, s.flops).c_str(),
                  rate(s, s.bytes).c_str(), share ? format("%.0f %%", 100 * *share).c_str() : "-");
    out += str(s.plan.name, s.plan.kernel == kNone ? " (host)" : "",
               s.members.empty() ? "" : str(" <- ", s.members.back().origin), "\n");
    if (s.plan.kernel != kNone && s.calls == 0) {
      out += "       not called for these sizes\n";
      continue;
    }
    if (!s.plain.empty()) out += str("       slow: runs as plain loops: ", s.plain, "\n");
    if (!s.members.empty()) out += str("       schedule: ", schedule_of(s), "\n");
    for (const std::string& line : s.layouts) out += str("       layout: ", line, "\n");
    for (const std::string& line : s.reasons) out += str("       ", line, "\n");
  }
  if (!e.arena_texts.empty()) out += "\nthe arena at likely sizes:\n";
  for (const std::string& line : e.arena_texts) out += str("  ", line, "\n");
  out += "\nstep of first and last use, offset and bytes of what lies in the arena\n";
  for (size_t v = 0; v < e.values.size(); ++v) {
    const PlannedValue& d = e.values[v];
    if (!d.offset || !d.bytes || d.first < 0) continue;
    out += format("%4d %4d %12lld %12lld  ", d.first, d.last, static_cast<long long>(*d.offset),
                  static_cast<long long>(*d.bytes));
    out += str(e.names[v], ": ", d.type,
               d.whole == kNone ? "" : str(", a part of ", e.names[d.whole]), "\n");
  }
  return out;
}

std::string html(const Explanation& e) {
  std::string data = of(e).dump(-1, ' ', true, json::error_handler_t::replace);
  // Nothing of the model may end the script.
  for (size_t at = 0; (at = data.find('<', at)) != std::string::npos;)
    data.replace(at, 1, "\\u003c");
  return str(kPageHead, "const D = ", data, ";", kPageTail);
}

}  // namespace tilewright::driver
