// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <iostream>

#include "commands.h"
#include "driver/kernel_cache.h"

namespace tilewright::cli {
namespace {

std::string amount(const DiskCache::Usage& usage) {
  char text[80];
  std::snprintf(text, sizeof text, "%lld entries, %.1f MB", static_cast<long long>(usage.entries),
                static_cast<double>(usage.bytes) / 1e6);
  return text;
}

}  // namespace

Action add_cache(CLI::App& app) {
  const auto action = std::make_shared<std::string>("show");
  CLI::App* c = app.add_subcommand("cache", "Show or clear what is kept of earlier compiles");
  c->add_option("ACTION", *action, "show or clear")->check(CLI::IsMember({"show", "clear"}));
  c->footer("The place is $TILEWRIGHT_CACHE, else tilewright/ in $XDG_CACHE_HOME or ~/.cache.");
  return [action] {
    const driver::KernelCache cache;
    const DiskCache& files = cache.files();
    if (*action == "clear") {
      std::cout << "removed " << amount(files.clear()) << "\n";
      return 0;
    }
    std::cout << files.folder().string() << ": " << amount(files.usage()) << ", at most "
              << files.limit() / 1000000 << " MB\n";
    if (!files.problem().empty())
      std::cout << "It is not used: the folder " << files.problem() << "\n";
    return 0;
  };
}

}  // namespace tilewright::cli
