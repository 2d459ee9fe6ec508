# SPDX-License-Identifier: Apache-2.0
"""Contenders in processes of their own, timed in turn.

A contender prints `ready`, then answers each line SECONDS on its standard input with the seconds of
every call it made in that time, on one line.
"""
import os
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build/release/bench"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
SLICE = 0.1  # seconds


def quantile(values, q=0.2):
    return sorted(values)[int(q * (len(values) - 1))]


def geomean(values):
    product = 1.0
    for v in values:
        product *= v
    return product ** (1 / len(values))


class Worker:
    def __init__(self, command, env=ONE_THREAD):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **env})
        self.rounds = []  # times of each round
        self.ready = self.process.stdout.readline().strip() == "ready"

    def slice(self, seconds=SLICE):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return [float(t) for t in self.process.stdout.readline().split()]

    def time(self):
        return quantile([t for r in self.rounds for t in r])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def python_worker(script, *arguments):
    return Worker([sys.executable, ROOT / "bench" / script, *arguments])


def stolen():
    """Seconds that the host has taken from this machine."""
    return int(open("/proc/stat").readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def play(workers, probe, rounds):
    """Rounds of one slice for each contender, beginning with another one each time. A round that lost time to
    the host, or in which the FMA probe moved by more than 3 %, is repeated; as many more as asked for are tried.
    Gives the number of rounds that were not quiet but had to count."""
    names = list(workers)
    quiet, other = [], []
    for r in range(2 * rounds):
        if len(quiet) == rounds:
            break
        before, lost = quantile(probe.slice(0.002)), stolen()
        times, start = {}, time.perf_counter()
        for name in names[r % len(names):] + names[:r % len(names)]:
            times[name] = workers[name].slice()
        took = time.perf_counter() - start
        after = quantile(probe.slice(0.002))
        moved = abs(after / before - 1) > 0.03 or stolen() - lost > 0.03 * took
        (other if moved else quiet).append(times)
    used = quiet + other[:rounds - len(quiet)]
    for name, w in workers.items():
        w.rounds = [times[name] for times in used]
    return len(used) - len(quiet)


def interval(ours, peer, subtract=0.0, samples=500):
    """95 % of the ratios that one gets from rounds drawn at random."""
    rng, ratios = random.Random(1), []
    for _ in range(samples):
        draw = [rng.randrange(len(ours)) for _ in ours]
        a, b = ([t for i in draw for t in rounds[i]] for rounds in (ours, peer))
        ratios.append((quantile(b) - subtract) / quantile(a))
    return [quantile(ratios, 0.025), quantile(ratios, 0.975)]
