// SPDX-License-Identifier: Apache-2.0
// Processes that write records and are killed at some moment: what they were told to be on disk
// must be there.
#pragma once

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
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

/// A process that adds records in batches of some, until it is killed. Those of writer w have the
/// numbers w, w + 2, w + 4, …
class Writer {
 public:
  /// `done` of its records are in the file already.
  Writer(const std::string& path, int64_t writer, int64_t done, uint32_t seed) : done_(done) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ != 0) {
      close(ends[1]);
      from_ = ends[0];
      return;
    }
    close(ends[0]);
    std::mt19937 random(seed);
    try {
      Records records(path, Database::Mode::Create);
      for (int64_t next = done;;) {
        std::vector<Record> batch;
        for (uint32_t n = 1 + random() % 4; n > 0; --n)
          batch.push_back(numbered_record(2 * next++ + writer));
        records.add(batch);
        if (write(ends[1], &next, sizeof next) != sizeof next) _exit(0);
        usleep(random() % 200);  // somebody else may want to write, too
      }
    } catch (const std::exception& e) {
      std::fprintf(stderr, "a writer: %s\n", e.what());
      _exit(1);
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Waits until it has been told that a batch is on disk.
  void wait_for_one() {
    if (int64_t next = 0; read(from_, &next, sizeof next) == sizeof next) done_ = next;
  }
  /// How many of its records were acknowledged, with those before; -1 when it had ended by itself.
  int64_t killed() {
    kill(pid_, SIGKILL);
    for (int64_t next = 0; read(from_, &next, sizeof next) == sizeof next;) done_ = next;
    close(from_);
    int status = 0;
    return waitpid(pid_, &status, 0) == pid_ && WIFSIGNALED(status) ? done_ : -1;
  }

 private:
  int64_t done_;
  pid_t pid_ = -1;
  int from_ = -1;
};

/// What is wrong with the file; empty when it is whole, and the first records of each writer, at
/// least `acknowledged` of them, are what they were. Leaves in `acknowledged` how many there are.
inline std::string wrong_with(const std::string& path, std::array<int64_t, 2>& acknowledged) {
  Records records(path, Database::Mode::Create);
  std::array<int64_t, 2> found{};
  std::string wrong;
  records.each([&](const Record& r) {
    const auto writer = static_cast<size_t>(r.time % 2);
    const int64_t expected = 2 * found[writer]++ + r.time % 2;
    if (wrong.empty() && r.identity() != numbered_record(expected).identity())
      wrong = str("record ", expected, " is not what it was");
  });
  for (size_t w = 0; w < 2 && wrong.empty(); ++w)
    if (found[w] < acknowledged[w])
      wrong = str(acknowledged[w], " were acknowledged, ", found[w], " are there");
  Database file(path, Database::Mode::Existing);
  Statement check = file.prepare("PRAGMA integrity_check");
  if (wrong.empty() && (!check.step() || check.text(0) != "ok")) wrong = check.text(0);
  acknowledged = found;
  return wrong;
}

struct Kills {
  int kills = 0;  // at the least; of two writers, both are killed
  uint32_t seed = 1;
  int longest = 8'000;  // microseconds that a writer lives after its start or its first batch
  int of_a_file = 20;   // lives: a file that grows makes all of them slow
};
struct Killed {
  int kills = 0;
  int64_t records = 0;  // that survived
  std::string wrong;    // after the last life; empty when all is right
};

/// Lives of writers, one or two at a time, in files of this folder.
inline Killed kill_writers(const std::filesystem::path& folder, const Kills& how) {
  std::mt19937 random(how.seed);
  Killed out;
  std::array<int64_t, 2> there{};
  std::string path;
  const auto pause = [&] { usleep(random() % static_cast<uint32_t>(how.longest)); };
  for (int life = 0; out.kills < how.kills && out.wrong.empty(); ++life) {
    if (life % how.of_a_file == 0) {
      if (life > 0) std::filesystem::remove(path);
      path = (folder / str("records", life, ".db")).string();
      there = {};
    }
    const std::array<int64_t, 2> before = there;
    Writer one(path, 0, there[0], random());
    std::optional<Writer> other;
    if (random() % 3 == 0) other.emplace(path, 1, there[1], random());
    // Mostly while it writes, sometimes while it opens the file.
    if (random() % 4 != 0) one.wait_for_one();
    pause();
    there[0] = one.killed();
    ++out.kills;
    if (other) {
      // It goes on, and may have to undo what the first one had begun.
      if (random() % 2 == 0) pause();
      there[1] = other->killed();
      ++out.kills;
    }
    if (std::ranges::min(there) < 0) {
      out.wrong = "a writer failed";
    } else {
      try {
        out.wrong = wrong_with(path, there);
      } catch (const std::exception& e) {
        out.wrong = e.what();
      }
    }
    out.records += there[0] + there[1] - before[0] - before[1];
  }
  if (out.wrong.empty() && out.records == 0) out.wrong = "nothing was written before any kill";
  return out;
}

}  // namespace tilewright::tune
