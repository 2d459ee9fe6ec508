// SPDX-License-Identifier: Apache-2.0
// The commands. Each adds itself to the program and gives what to do when it was called; that
// returns the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace tilewright::cli {

using Action = std::function<int()>;

Action add_compile(CLI::App& app);
Action add_run(CLI::App& app);
Action add_bench(CLI::App& app);
Action add_check(CLI::App& app);
Action add_explain(CLI::App& app);
Action add_cache(CLI::App& app);
Action add_completion(CLI::App& app);
Action add_opt(CLI::App& app);
Action add_records(CLI::App& app);
Action add_targets(CLI::App& app);

}  // namespace tilewright::cli
