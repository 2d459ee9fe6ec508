// SPDX-License-Identifier: Apache-2.0
// The page of `tune --report`: drawings and tables without a script.
#include <algorithm>
#include <cstdio>

#include "driver/tune.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

constexpr const char* kHead = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Tuning report</title>
<style>
:root{color-scheme:light dark}
body{margin:0 auto;max-width:1200px;padding:10px 16px;font:14px/1.45 system-ui,sans-serif}
h1{font-size:18px}h2{font-size:15px;margin:22px 0 6px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:2px 8px;text-align:right;border-bottom:1px solid #8883;white-space:nowrap}
td.name,th.name{text-align:left;white-space:normal;overflow-wrap:anywhere}
svg{background:#8881}
polyline{fill:none;stroke:#4c6ef5;stroke-width:1.5}
line{stroke:#8888}text{font-size:11px;fill:CanvasText}
.before{fill:#8889}.after{fill:#4c6ef5}
.note{opacity:.75}
</style></head><body>
)page";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

std::string fixed(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// `1.213x (1.180 … 1.242)`
std::string gain(const tune::Estimate& r) {
  return str(fixed(1 / r.median, 3), "x (", fixed(1 / r.high, 3), " … ", fixed(1 / r.low, 3), ")");
}

/// Values between `low` and `high` from left to right, with a line at `mark`.
std::string drawing(const std::vector<double>& values, double low, double high, double mark,
                    int width, int height) {
  const auto y = [&](double v) {
    return height - 2 - (std::clamp(v, low, high) - low) / (high - low) * (height - 4);
  };
  std::string points;
  const auto steps = static_cast<double>(std::max<size_t>(values.size(), 2) - 1);
  for (size_t i = 0; i < values.size(); ++i)
    points +=
        str(fixed(static_cast<double>(i) / steps * width, 1), ",", fixed(y(values[i]), 1), " ");
  if (values.size() == 1) points += str(width, ",", fixed(y(values[0]), 1));
  return str("<svg width=\"", width, "\" height=\"", height, "\" role=\"img\"><line x1=\"0\" x2=\"",
             width, "\" y1=\"", fixed(y(mark), 1), "\" y2=\"", fixed(y(mark), 1),
             "\"/><polyline points=\"", points, "\"/></svg>");
}

/// How far a kernel is from what the machine allows, before and after.
std::string roof(const TuneReport::Kernel& k) {
  if (k.roof <= 0) return "?";
  const double before = std::min(k.roof, 1.0);
  const double after = std::min(k.tuned ? k.roof / k.in_model.median : k.roof, 1.0);
  const auto bar = [](const char* kind, int y, double share) {
    return str("<rect class=\"", kind, "\" x=\"0\" y=\"", y, "\" height=\"7\" width=\"",
               fixed(120 * share, 1), "\"/>");
  };
  return str("<svg width=\"120\" height=\"18\" role=\"img\">", bar("before", 1, before),
             bar("after", 10, after), "</svg> ", fixed(100 * before, 0), " → ",
             fixed(100 * after, 0), " %");
}

/// The share of right pairs up to each batch.
std::vector<double> right_so_far(const TuneReport& r, double& pairs) {
  std::vector<double> out;
  double right = 0;
  for (const TuneReport::Ranked& b : r.ranked) {
    pairs += static_cast<double>(b.pairs);
    right += static_cast<double>(b.right);
    if (pairs > 0) out.push_back(right / pairs);
  }
  return out;
}

}  // namespace

std::string html(const TuneReport& r, const std::string& model) {
  std::string out = kHead;
  out += str("<h1>", escaped(model), ": ", gain(r.whole), " as fast as untuned</h1>\n<p>",
             fixed(r.before_ms, 3), " ms untuned. ", r.trials, " trials, ", r.failed,
             " of them failed, in ", fixed(r.searching, 1), " s; ", fixed(r.seconds, 1),
             " s with making sure.", r.interrupted ? " Interrupted." : "", "</p>\n");
  double pairs = 0;
  const std::vector<double> right = right_so_far(r, pairs);
  out += "<h2>Rank accuracy of the cost model</h2>\n";
  if (!r.no_model.empty())
    out += str("<p>Nothing was learnt: ", escaped(r.no_model), "</p>\n");
  else if (right.empty())
    out += "<p>No two schedules were told apart beyond doubt.</p>\n";
  else
    out +=
        str(drawing(right, 0, 1, 0.5, 600, 90), "<p class=\"note\">Of ", fixed(pairs, 0),
            " pairs of one batch whose intervals do not overlap, ", fixed(100 * right.back(), 1),
            " % were in the right order before they were measured; the line is chance. From left "
            "to right: batches.</p>\n");
  out +=
      "<h2>Kernels</h2>\n<table><tr><th class=\"name\">kernel</th><th>share</th><th>trials</th>"
      "<th>best so far over trials</th><th>alone</th><th>in the model</th>"
      "<th>of the roof</th><th class=\"name\">outcome</th></tr>\n";
  for (const TuneReport::Kernel& k : r.kernels) {
    std::vector<double> speed;
    for (const double ratio : k.curve) speed.push_back(1 / ratio);
    const double most = speed.empty() ? 1.1 : std::max(1.1, 1.05 * speed.back());
    out +=
        str("<tr><td class=\"name\">", escaped(k.name), "</td><td>", fixed(100 * k.share, 1),
            " %</td><td>", k.trials, "</td><td>",
            speed.empty() ? std::string() : drawing(speed, 0.95, most, 1, 160, 34), "</td><td>",
            k.best.median < 1 ? gain(k.best) : "–", "</td><td>", k.tuned ? gain(k.in_model) : "–",
            "</td><td>", roof(k), "</td><td class=\"name\">", escaped(k.outcome), "</td></tr>\n");
  }
  return out +
         "</table>\n<p class=\"note\">Speeds are relative to the default schedule, with 95 % "
         "intervals. The roof is the time that arithmetic or memory traffic alone would take "
         "on this machine: grey untuned, blue tuned.</p>\n</body></html>\n";
}

}  // namespace tilewright::driver
