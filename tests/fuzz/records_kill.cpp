// SPDX-License-Identifier: Apache-2.0
// Kills a writer of records again and again, and looks whether something acknowledged is lost.
//   fuzz_records_kill [ROUNDS = 10000] [SEED = 1]
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "support/process.h"
#include "tune/records/kill.h"

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10000;
  const auto seed = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 1);
  constexpr int kRoundsOfAFile = 500;  // a file that grows makes rounds slow
  for (int done = 0; done < rounds; done += kRoundsOfAFile) {
    const tilewright::TempFolder folder;
    const std::string wrong = tilewright::tune::killed_rounds(
        (folder.path() / "records.db").string(), std::min(kRoundsOfAFile, rounds - done),
        seed + static_cast<uint32_t>(done), 60'000);
    if (!wrong.empty()) {
      std::printf("from round %d on, seed %u: %s\n", done, seed, wrong.c_str());
      return 1;
    }
  }
  std::printf("%d kills, no acknowledged record lost\n", rounds);
}
