# SPDX-License-Identifier: Apache-2.0
"""Models tuned from the command line, and builds of one model that run in turn."""
import random
import subprocess
import time
from pathlib import Path
from statistics import median

import numpy as np
from stats import geomean, interval, pooled, quantile

import tilewright as tw

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/tilewright"
MODELS = ROOT / "build/bench/models"


def tune(model, records, seconds, threads=1):
    subprocess.run([PROGRAM, "tune", model, "--inputs", model.with_suffix(".npz"), "--budget", f"{seconds}s", "--threads", str(threads),
                    "--records", records], check=True, stdout=subprocess.DEVNULL)


def race(model, variants, rounds, seconds=0.1, threads=1):
    """Seconds of each round's calls of each variant: what tw.compile gets beside the model."""
    given = dict(np.load(model.with_suffix(".npz")))
    modules = [tw.compile(model, threads=threads, shipped_records=False, cache=False, **more) for more in variants]
    times = [[] for _ in modules]
    for turn in range(rounds):
        for i in np.roll(range(len(modules)), turn):
            calls, end = [], time.perf_counter() + seconds
            modules[i].run(given)  # what it reads comes into the caches
            while time.perf_counter() < end or len(calls) < 3:
                start = time.perf_counter()
                modules[i].run(given)
                calls.append(time.perf_counter() - start)
            times[i].append(calls)
    return times


def speed(times, base):
    """How many times as fast as `base`, and its interval."""
    return quantile(pooled(base)) / quantile(pooled(times)), *interval(times, base)


def speed_of_builds(builds, bases, samples=500):
    """The same of several builds each: equal builds of a model differ, too. A build's time is the median of its rounds' 20 % quantiles; for
    the interval builds are drawn, and rounds of each."""
    def ratio(ours, others):
        return geomean([median(b) for b in others]) / geomean([median(b) for b in ours])

    kinds = [[[quantile(calls) for calls in b] for b in kind] for kind in (builds, bases)]
    rng, ratios = random.Random(1), []
    for _ in range(samples):
        drawn = [[rng.choices(b, k=len(b)) for b in rng.choices(kind, k=len(kind))] for kind in kinds]
        ratios.append(ratio(*drawn))
    return ratio(*kinds), quantile(ratios, 0.025), quantile(ratios, 0.975)


def told(gain):
    ratio, low, high = gain
    return f"{ratio:.3f}x ({low:.3f} … {high:.3f})"
