# SPDX-License-Identifier: Apache-2.0
"""Contenders in processes of their own, timed in turn.

A contender prints `ready`, then answers each line SECONDS on its standard input with the seconds of
every call it made in that time, on one line. What it has to tell of itself it prints as JSON after `ready`. One that can do
several things is asked SECONDS NAME.
"""
import glob
import json
import os
import platform
import select
import subprocess
import sys
import time
from pathlib import Path

from stats import pooled, quantile

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build/release/bench"
SLICE = 0.1  # seconds
PATIENCE = 1800  # seconds that a contender may take to be ready; some compile for long
MOVED = 0.03  # share by which a round that counts may be disturbed


def machine():
    """What this processor calls itself, and what it has not: guests of several generations have one name."""
    lines = dict(line.split(":", 1) for line in open("/proc/cpuinfo") if ":" in line)
    facts = {name.strip(): value.split() for name, value in lines.items()}
    name = "-".join(facts.get("model name", [platform.machine()]))
    return name if "avx512f" in facts.get("flags", []) or "avx2" not in facts.get("flags", []) else name + "-AVX2"


def threads_env(threads):
    return {name: str(threads) for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "TVM_NUM_THREADS")}


class Worker:
    def __init__(self, command, env=threads_env(1), log=None):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=log, text=True, env={**os.environ, **env})
        self.rounds = []  # times of each round
        answered, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        if not answered:
            self.process.kill()
        first = self.process.stdout.readline()
        self.ready = first.startswith("ready")
        self.facts = json.loads(first[len("ready"):].strip() or "{}") if self.ready else {}
        self.refusal = None if self.ready else first.strip() or f"error: it ended with status {self.process.wait()}"

    def ask(self, line):
        """Its answer, or None when it has died."""
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        return self.process.stdout.readline() or None

    def slice(self, seconds=SLICE):
        return [float(t) for t in (self.ask(seconds) or "").split()]

    def time(self):
        return quantile(pooled(self.rounds))

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


class Part:
    """One of the things that a worker can do, as a contender. It dies with the worker."""

    def __init__(self, worker, name, seconds=SLICE):
        self.worker, self.name, self.seconds = worker, name, seconds
        self.process, self.ask = worker.process, worker.ask

    def slice(self):
        return [float(t) for t in (self.ask(f"{self.seconds} {self.name}") or "").split()]

    def close(self):
        pass


def python_worker(script, *arguments):
    return Worker([sys.executable, ROOT / "bench" / script, *arguments])


def fma_worker(threads=1, iterations=4000):
    return Worker([PROGRAMS / "fma_worker", threads, iterations])


def stolen():
    """Seconds that the host has taken from this machine."""
    return int(open("/proc/stat").readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def waited(workers):
    """Seconds that the contenders' threads were ready to run while other processes had the CPUs."""
    out = 0.0
    for pid in [w.process.pid for w in workers if isinstance(w, (Worker, Part))]:
        for file in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            try:
                out += 1e-9 * int(open(file).read().split()[1])
            except OSError:  # a thread has ended
                pass
    return out


def play_round(workers, probe, number):
    """One slice of each contender, beginning with another one each time. Gives their times, and whether the round lost time
    to the host or to other processes, or the FMA probe moved, so that it does not count."""
    names = list(workers)
    before, lost = quantile(probe.slice(0.002)), stolen() + waited(workers.values())
    times, start = {}, time.perf_counter()
    for name in names[number % len(names):] + names[:number % len(names)]:
        time.sleep(0.02)  # until the threads of the one before have stopped spinning
        times[name] = workers[name].slice()
    took = time.perf_counter() - start
    lost = stolen() + waited(workers.values()) - lost
    after = quantile(probe.slice(0.002))
    return times, abs(after / before - 1) > MOVED or lost > MOVED * took


def chosen_rounds(played, wanted):
    """Of (times, moved) the rounds that count: quiet ones first. Gives the number of the others among them, too."""
    quiet = [times for times, moved in played if not moved][:wanted]
    other = [times for times, moved in played if moved][:wanted - len(quiet)]
    return quiet + other, len(other)


def play(workers, probe, rounds):
    """As many quiet rounds as asked for; that many more are tried. Gives the number of rounds that were not quiet but had
    to count."""
    played = []
    while len(played) < 2 * rounds and sum(not moved for _, moved in played) < rounds:
        played.append(play_round(workers, probe, len(played)))
    used, disturbed = chosen_rounds(played, rounds)
    for name, w in workers.items():
        w.rounds = [times[name] for times in used]
    return disturbed
