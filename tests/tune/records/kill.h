// SPDX-License-Identifier: Apache-2.0
// A process that writes records and is killed at some moment: what it was told to be on disk must
// be there.
#pragma once

#include <csignal>
#include <random>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "support/str.h"
#include "tune/records/records.h"

namespace tilewright::tune {

inline Record numbered_record(int64_t number) {
  Record r{
      .workload = str("kernel ", number % 5, std::string(2000, 'x')),
      .target = "machine",
      .trace = str("trace t {\n  // ", number, "\n}\n"),
      .point = {},
      .measurement = {.verdict = Verdict::Ok, .error = {}, .seconds = {}, .time = {}, .ratio = {}},
      .threads = 1,
      .config = "test",
      .compiler = "test",
      .time = number,
      .name = str("kernel", number % 5)};
  r.measurement.seconds.assign(15, static_cast<double>(number) * 1e-6);
  r.measurement.time = estimate(r.measurement.seconds);
  r.measurement.ratio = {1 + static_cast<double>(number) * 1e-6, 0.9, 2};
  return r;
}

/// Adds records to the file from number `first` on, in batches of some, until it is killed after
/// `microseconds`. Gives the first number that was not acknowledged.
inline int64_t write_until_killed(const std::string& path, int64_t first, int microseconds,
                                  uint32_t seed) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(pipe_ends[0]);
    std::mt19937 random(seed);
    try {
      Records records(path, Database::Mode::Create);
      for (int64_t next = first;;) {
        std::vector<Record> batch;
        for (uint32_t n = 1 + random() % 8; n > 0; --n) batch.push_back(numbered_record(next++));
        records.add(batch);
        if (write(pipe_ends[1], &next, sizeof next) != sizeof next) _exit(0);
      }
    } catch (...) {
      _exit(1);
    }
  }
  close(pipe_ends[1]);
  usleep(static_cast<useconds_t>(microseconds));
  kill(child, SIGKILL);
  int64_t acknowledged = first, next;
  while (read(pipe_ends[0], &next, sizeof next) == sizeof next) acknowledged = next;
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? -1 : acknowledged;  // it ended by itself: something else is wrong
}

/// Rounds of that on one file. What is wrong after one of them; empty when all is right.
inline std::string killed_rounds(const std::string& path, int rounds, uint32_t seed, int longest) {
  std::mt19937 random(seed);
  int64_t next = 0, lost_at = -1;
  for (int round = 0; round < rounds; ++round) {
    const auto wait = static_cast<int>(random() % static_cast<uint32_t>(longest));
    const int64_t acknowledged = write_until_killed(path, next, wait, random());
    if (acknowledged < 0) return str("round ", round, ": the writer failed");
    try {
      Records records(path, Database::Mode::Create);
      const int64_t count = records.count();
      if (count < acknowledged)
        return str("round ", round, ": ", acknowledged, " were acknowledged, ", count,
                   " are there");
      if (round % 50 == 49 || round + 1 == rounds) {
        int64_t expected = 0;
        records.each([&](const Record& r) {
          if (r.time != expected || r.identity() != numbered_record(expected).identity())
            lost_at = lost_at < 0 ? expected : lost_at;
          ++expected;
        });
        if (lost_at >= 0) return str("round ", round, ": record ", lost_at, " is not what it was");
      }
      next = count;
    } catch (const std::exception& e) {
      return str("round ", round, ": ", e.what());
    }
  }
  return next > 0 ? "" : "nothing was written before any of the kills";
}

}  // namespace tilewright::tune
