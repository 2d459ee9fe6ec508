// SPDX-License-Identifier: Apache-2.0
// A schedule shown step by step: after each, the program is compiled, checked against the plain
// loops and timed. `--svg FILE` on the command line draws the speeds.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "driver/kernel.h"
#include "ir/build.h"
#include "lower/to_blocks.h"
#include "measure.h"
#include "schedule/schedule.h"
#include "target/host.h"
#include "te/te.h"

namespace example {

using namespace tilewright;
using schedule::kOpen;

class Walk {
 public:
  /// `work`: what one run does, in units of which a second holds `peak`.
  Walk(const te::Program& program, double work, double peak, const char* unit)
      : schedule(lower::to_blocks(program)), work_(work), peak_(peak), unit_(unit) {
    for (const ir::Param& p : schedule.func().params) {
      int64_t size = 1;
      for (const ir::Expr& extent : p.buffer->shape) size *= ir::const_int(extent).value();
      std::vector<float> data(static_cast<size_t>(size));
      // Small integers: a sum of products is the same in every order.
      for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>((i * 7919) % 17) - 8.0f;
      data_.push_back(std::move(data));
      is_output_.push_back(p.access == ir::Access::Out);
    }
  }

  schedule::Schedule schedule;

  /// Compiles, checks and times the program as it stands; prints one row.
  void show(const std::string& what) {
    const auto kernel = driver::compile_kernel(schedule.func(), target::host_target());
    std::vector<void*> buffers;
    for (size_t i = 0; i < data_.size(); ++i) {
      if (is_output_[i]) std::memset(data_[i].data(), 0xff, data_[i].size() * sizeof(float));
      buffers.push_back(data_[i].data());
    }
    kernel.call(buffers);
    const double error = difference();
    std::vector<double> times;
    const double end = bench::now() + 0.3;
    while (times.size() < 3 || bench::now() < end) {
      const double start = bench::now();
      kernel.call(buffers);
      times.push_back(bench::now() - start);
    }
    const double rate = work_ / bench::quantile(times, 0.2);
    rows_.push_back({what, rate});
    std::printf("%2zu  %-44s %8.2f %s  %5.1f %% of peak  %s\n", rows_.size(), what.c_str(),
                rate * 1e-9, unit_, 100 * rate / peak_, error < 1e-5 ? "right" : "WRONG");
    wrong_ = wrong_ || !(error < 1e-5);
  }

  /// Prints the steps, draws the picture if asked for; the program's exit code.
  int finish(int argc, char** argv) const {
    std::printf("\n%s", schedule::print(schedule.trace()).c_str());
    for (int i = 1; i + 1 < argc; ++i)
      if (std::string(argv[i]) == "--svg") draw(argv[i + 1]);
    return wrong_;
  }

 private:
  struct Row {
    std::string what;
    double rate;
  };

  /// The greatest difference from the first program's results, relative to them.
  double difference() {
    double worst = 0;
    const bool first = expected_.empty();
    size_t output = 0;
    for (size_t i = 0; i < data_.size(); ++i) {
      if (!is_output_[i]) continue;
      if (first) expected_.push_back(data_[i]);
      const std::vector<float>& want = expected_[output++];
      for (size_t k = 0; k < want.size(); ++k) {
        const double d = std::abs(data_[i][k] - want[k]) / std::max(1e-3f, std::abs(want[k]));
        if (!(d <= worst)) worst = d;  // NaN is the worst of all
      }
    }
    return worst;
  }

  /// One bar per row, beside the line of the machine's limit.
  void draw(const char* path) const {
    constexpr int kLabel = 330, kWidth = 360, kRow = 22;
    const int height = kRow * (static_cast<int>(rows_.size()) + 2);
    std::ofstream out(path);
    out << "<svg xmlns='http://www.w3.org/2000/svg' width='" << kLabel + kWidth + 90 << "' height='"
        << height << "' font-family='sans-serif' font-size='12'>\n";
    for (size_t i = 0; i < rows_.size(); ++i) {
      const int y = kRow * (static_cast<int>(i) + 1);
      const double width = kWidth * rows_[i].rate / peak_;
      char number[32];
      std::snprintf(number, sizeof number, "%.1f", rows_[i].rate * 1e-9);
      out << "<text x='" << kLabel - 8 << "' y='" << y + 14 << "' text-anchor='end'>" << i + 1
          << "  " << rows_[i].what << "</text><rect x='" << kLabel << "' y='" << y + 3
          << "' width='" << width << "' height='" << kRow - 6 << "' fill='#3b7dd8'/><text x='"
          << kLabel + width + 5 << "' y='" << y + 14 << "'>" << number << "</text>\n";
    }
    char limit[64];
    std::snprintf(limit, sizeof limit, "limit %.1f %s", peak_ * 1e-9, unit_);
    out << "<line x1='" << kLabel + kWidth << "' y1='" << kRow - 4 << "' x2='" << kLabel + kWidth
        << "' y2='" << height - kRow << "' stroke='#c33'/><text x='" << kLabel + kWidth
        << "' y='14' text-anchor='middle' fill='#c33'>" << limit << "</text>\n</svg>\n";
    if (!out.flush()) std::fprintf(stderr, "cannot write %s\n", path);
  }

  double work_, peak_;
  const char* unit_;
  std::vector<std::vector<float>> data_, expected_;
  std::vector<bool> is_output_;
  std::vector<Row> rows_;
  bool wrong_ = false;
};

}  // namespace example
