// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "driver/tune.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

std::string line(const char* format, auto... values) {
  char text[400];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// A ratio of times as a gain: `1.213x (1.180 … 1.242)`.
std::string gain(const tune::Estimate& ratio) {
  return line("%.3fx (%.3f … %.3f)", 1 / ratio.median, 1 / ratio.high, 1 / ratio.low);
}

}  // namespace

TuneBudget parse_budget(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  constexpr double kMost = 30 * 24 * 3600.0;  // seconds: a month
  for (const auto& [name, seconds] :
       {std::pair("s", 1.0), std::pair("min", 60.0), std::pair("h", 3600.0)})
    if (unit == name && number > 0 && number * seconds <= kMost) return {number * seconds, 0};
  if (unit == "trials" && number >= 1 && number <= 1e9)
    return {kMost, static_cast<int64_t>(number)};
  throw Error({.code = "driver.tune.budget",
               .at = {},
               .message = str("`", text, "` is no budget for tuning"),
               .notes = {},
               .help = "write 60s, 3min, 1h or 500trials"});
}

std::string print(const TuneReport& r) {
  std::string out =
      line("%lld trials, %lld failed, in %.1f s: %.1f a second\n", static_cast<long long>(r.trials),
           static_cast<long long>(r.failed), r.searching,
           r.searching > 0 ? static_cast<double>(r.trials) / r.searching : 0.0);
  if (!r.no_model.empty())
    out += str("searched without learning: ", r.no_model, " (Debian: libxgboost0)\n");
  size_t starts = 0;
  for (const TuneReport::Kernel& k : r.kernels) starts += k.starts;
  if (starts > 0)
    out += str("began with ", starts, " schedules of records of other kernels or machines\n");
  if (r.learnt_before > 0)
    out += str("the cost model knew ", r.learnt_before, " programs of other kernels\n");
  int64_t pairs = 0, right = 0;
  for (const TuneReport::Ranked& b : r.ranked) {
    pairs += b.pairs;
    right += b.right;
  }
  if (pairs > 0)
    out +=
        line("of %lld pairs that differ the cost model had %.0f %% in the right order beforehand\n",
             static_cast<long long>(pairs),
             100 * static_cast<double>(right) / static_cast<double>(pairs));
  out += " share  trials  alone, 95 %              in the model             kernel\n";
  for (const TuneReport::Kernel& k : r.kernels)
    out += line("%5.1f %% %6lld   %-24s %-24s %s: %s\n", 100 * k.share,
                static_cast<long long>(k.trials), k.best.median < 1 ? gain(k.best).c_str() : "-",
                k.in_model.high != 1 ? gain(k.in_model).c_str() : "-", k.name.c_str(),
                k.outcome.c_str());
  if (r.interrupted)
    return out + "interrupted: all records are kept; the same command goes on from here\n";
  return out +
         line("the model is %s as fast as untuned (%.3f ms)\n", gain(r.whole).c_str(), r.before_ms);
}

}  // namespace tilewright::driver
