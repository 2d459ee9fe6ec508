// SPDX-License-Identifier: Apache-2.0
// Kills writers of records again and again, one or two on a file, and looks whether something
// acknowledged is lost.
//   fuzz_records_kill [KILLS = 10000] [SEED = 1]
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "support/process.h"
#include "tune/records/kill.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  const auto start = std::chrono::steady_clock::now();
  const TempFolder folder;
  const tune::Killed killed = tune::kill_writers(
      folder.path(), {.kills = argc > 1 ? std::atoi(argv[1]) : 10000,
                      .seed = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 1)});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::printf("%d kills in %.0f s, %lld records survived: %s\n", killed.kills, spent.count(),
              static_cast<long long>(killed.records),
              killed.wrong.empty() ? "no acknowledged one is lost, all files are intact"
                                   : killed.wrong.c_str());
  return killed.wrong.empty() ? 0 : 1;
}
