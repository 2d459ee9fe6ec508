// SPDX-License-Identifier: Apache-2.0
#include "driver/tune.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <unistd.h>

#include "commands.h"
#include "model_arguments.h"
#include "support/str.h"

namespace tilewright::cli {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

/// The second time ends the program as usual.
void on_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

void show(const driver::TuneProgress& p) {
  char text[300];
  std::snprintf(
      text, sizeof text,
      "\r\033[K%.0f s left, %lld trials, %.1f a second, model %.3fx; %.3fx (%.3f … %.3f) %s",
      std::max(0.0, p.budget - p.seconds), static_cast<long long>(p.trials),
      p.seconds > 0 ? static_cast<double>(p.trials) / p.seconds : 0.0, p.gain, 1 / p.best.median,
      1 / p.best.high, 1 / p.best.low, p.task.c_str());
  std::fputs(text, stderr);
}

}  // namespace

Action add_tune(CLI::App& app) {
  struct State {
    ModelArguments model;
    std::string budget = "60s", inputs, report;
    int threads = 1;
    uint64_t seed = 1;
  };
  const auto s = std::make_shared<State>();
  CLI::App* c = app.add_subcommand(
      "tune", "Find faster schedules for a model's kernels by trying them on this machine");
  Files files(*c);
  s->model.add(*c, files);
  c->get_option("--records")->required();
  c->add_option("--budget", s->budget, "60s, 3min, 1h, or a number of trials such as 500trials");
  files.input("--inputs", s->inputs, "an .npz file; without it, seeded random values");
  c->add_option("--threads", s->threads, "of the model, as it will run; 0: as many as CPUs");
  c->add_option("--seed", s->seed, "of the search");
  files.output("--report", s->report, "write a page that needs nothing else to this file");
  c->footer(
      "Ctrl-C keeps everything that was measured; the same command goes on from there.\n"
      "Then: tilewright compile MODEL --records DB -o OUT.twm");
  return [s] {
    driver::TuneOptions options;
    options.records = s->model.records;
    s->model.records.clear();  // it is what this command makes
    options.model = s->model.options();
    const driver::TuneBudget budget = driver::parse_budget(s->budget);
    options.seconds = budget.seconds;
    options.trials = budget.trials;
    options.threads = s->threads;
    options.seed = s->seed;
    options.inputs = read_inputs(s->inputs);
    options.stop = &interrupted;
    const bool terminal = isatty(STDERR_FILENO);
    if (terminal) options.progress = show;
    const graph::Graph& graph = s->model.read();
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    const driver::TuneReport report = driver::tune_model(graph, options);
    if (terminal) std::fputs("\r\033[K", stderr);
    std::cout << driver::print(report);
    if (!s->report.empty())
      write_text(driver::html(report, std::filesystem::path(s->model.model).filename().string()),
                 s->report);
    return 0;
  };
}

}  // namespace tilewright::cli
