// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/local_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <poll.h>

#include "support/str.h"
#include "tune/measure/reference.h"

namespace tilewright::tune {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point in_seconds(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

struct LocalRunner::Job {
  enum class State : uint8_t { New, Building, Built, Running, Done };
  const Candidate* candidate = nullptr;
  const Reference* reference = nullptr;
  State state = State::New;
  std::unique_ptr<Child> child;
  Clock::time_point deadline;
  Measurement result;

  void finish(Measurement m) {
    result = std::move(m);
    child.reset();
    state = State::Done;
  }
};

LocalRunner::LocalRunner(MeasureOptions options, Build build)
    : options_(options), build_(build), cpus_(std::max(1, runtime::available_cpus())) {}
LocalRunner::~LocalRunner() = default;

const Reference& LocalRunner::reference_for(const Candidate& candidate) {
  const Task* key = candidate.task.get();
  if (const auto found = references_.find(key); found != references_.end())
    return found->second.second;
  const Task& task = *candidate.task;
  try {  // all tasks of a model read as far
    const int64_t bytes = far_bytes(task);
    if (bytes > (far_ ? far_->size() : 0)) far_ = std::make_shared<FarMemory>(bytes);
  } catch (const std::bad_alloc&) {
    far_ = nullptr;  // then each trial copies what it can
  }
  return references_.emplace(key, std::pair(candidate.task, make_reference(task, options_, far_)))
      .first->second.second;
}

/// Takes what the children say, and the time that they have.
void LocalRunner::watch(std::vector<std::unique_ptr<Job>>& jobs) {
  std::vector<pollfd> wait;
  Clock::time_point next = in_seconds(0.1);
  for (const auto& job : jobs) {
    if (!job->child) continue;
    wait.push_back({job->child->fd(), POLLIN, 0});
    if (job->state != Job::State::Built) next = std::min(next, job->deadline);
  }
  const double left = std::chrono::duration<double, std::milli>(next - Clock::now()).count();
  poll(wait.data(), wait.size(), std::max(0, static_cast<int>(std::ceil(left))));
  for (const auto& job : jobs) {
    if (!job->child) continue;
    while (job->child) {
      const std::optional<std::string> message = job->child->receive();
      if (!message) break;
      if (*message == "built" && job->state == Job::State::Building) {
        job->state = Job::State::Built;
        continue;
      }
      try {
        job->finish(decoded(*message));
      } catch (const std::exception& e) {
        job->finish({.verdict = Verdict::Crashed,
                     .error = str("it sent what is no measurement: ", e.what())});
      }
    }
    if (!job->child) continue;
    if (job->child->gone()) {
      job->finish(ended(job->child->status()));
    } else if (job->state != Job::State::Built && Clock::now() > job->deadline) {
      job->finish({.verdict = Verdict::TimedOut,
                   .error = job->state == Job::State::Building ? "building it takes too long"
                                                               : "running it takes too long"});
    }
  }
}

std::vector<Measurement> LocalRunner::measure(std::span<const Candidate> candidates) {
  std::vector<std::unique_ptr<Job>> jobs;
  for (const Candidate& c : candidates) {
    Job& job = *jobs.emplace_back(std::make_unique<Job>());
    job.candidate = &c;
    job.reference = &reference_for(c);
    if (!job.reference->problem.empty())
      job.finish(
          {.verdict = Verdict::Failed,
           .error = str("the default schedule cannot be measured: ", job.reference->problem)});
  }
  using State = Job::State;
  const auto count = [&](State s) {
    return static_cast<int>(std::ranges::count(jobs, s, [](const auto& j) { return j->state; }));
  };
  const auto first = [&](State s) {
    return std::ranges::find(jobs, s, [](const auto& j) { return j->state; });
  };
  const int beside = std::max(0, cpus_ - options_.threads);  // builds while a kernel runs
  std::vector<bool> told(jobs.size());
  const auto tell = [&] {
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (told[i] || jobs[i]->state != State::Done) continue;
      told[i] = true;
      if (on_measured) on_measured(*jobs[i]->candidate, jobs[i]->result);
    }
  };
  tell();
  while (count(State::Done) < static_cast<int>(jobs.size())) {
    if (stop && *stop) {
      for (const auto& job : jobs)
        if (job->state != State::Done)
          job->finish({.verdict = Verdict::Failed, .error = "interrupted"});
      break;
    }
    const bool running = count(State::Running) > 0;
    if (!running && count(State::Building) <= beside && count(State::Built) > 0) {
      Job& job = **first(State::Built);
      job.state = State::Running;
      job.deadline = in_seconds(std::min(options_.run_seconds, 2 + 200 * job.reference->seconds));
      job.child->go();
    }
    // A processor for each build, less those of the kernel that runs or could.
    const bool wanted = count(State::Running) > 0 || count(State::Built) > 0;
    const int builds = wanted ? beside : cpus_;
    while (count(State::Building) < builds && count(State::New) > 0 && count(State::Built) < 2) {
      Job& job = **first(State::New);
      const Task& task = *job.candidate->task;
      runtime::ThreadPool* pool = nullptr;
      job.child = std::make_unique<Child>(
          options_.memory_bytes + 20 * job.reference->arguments.total(),
          [&] { pool = pool_of(options_.threads); },
          [&](const Link& link) {
            run_trial(task, job.candidate->trace, *job.reference, options_, build_, pool, link);
          });
      job.state = State::Building;
      // Code that takes so much longer to build is huge, and slow.
      job.deadline =
          in_seconds(std::min(options_.build_seconds, 0.5 + 8 * job.reference->build_seconds));
    }
    watch(jobs);
    tell();
  }
  std::vector<Measurement> out;
  for (const auto& job : jobs) out.push_back(std::move(job->result));
  return out;
}

}  // namespace tilewright::tune
