#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What records of some models are worth for others that were held back, without a trial.

  transfer.py [--seconds 60] [--rounds 20] [--models FOLDER] [--folder FOLDER]

Tunes SOURCES into one file of records and HELD_BACK into another, then runs each of the latter untuned, with what is
transferred from the sources, with its own records, and untuned from another build, in turn: what that one differs by is
noise that the others have, too. The share of the gain is (untuned - transferred) / (untuned - tuned),
summed over models whose tuned gain is beyond doubt. Files of records that are there are taken as they are.
"""
import argparse
import re
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from stats import interval, pooled, quantile

import tilewright as tw

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/tilewright"
SOURCES = ["resnet18", "mobilenet_v2", "ppocr_det", "minilm_l6"]
HELD_BACK = ["resnet50", "ppocr_rec", "bert_base"]
CALLS = 5  # of each variant in a round


def tune(models, names, records, seconds):
    if records.exists():
        return
    part = records.with_suffix(".part")
    for name in names:
        subprocess.run([PROGRAM, "tune", models / f"{name}.onnx", "--inputs", models / f"{name}.npz",
                        "--budget", f"{seconds}s", "--threads", "1", "--records", part], check=True)
    part.rename(records)


def transferred_kernels(model, sources):
    with tempfile.TemporaryDirectory() as folder:
        text = subprocess.run([PROGRAM, "compile", model, "-v", "--no-shipped-records", "--records", sources, "--transfer",
                               "-o", Path(folder) / "model.twm"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"(\d+) transferred", text)
    return int(found[1]) if found else 0


def race(model, sources, held_back, rounds):
    """Seconds of each round's calls: untuned, transferred, tuned, and untuned again."""
    given = dict(np.load(model.with_suffix(".npz")))
    variants = [tw.compile(model, threads=1, shipped_records=False, **more)
                for more in ({}, {"records": sources, "transfer": True}, {"records": held_back}, {})]
    times = [[] for _ in variants]
    for turn in range(rounds):
        for i in np.roll(range(len(variants)), turn):
            calls = []
            for _ in range(CALLS):
                start = time.perf_counter()
                variants[i].run(given)
                calls.append(time.perf_counter() - start)
            times[i].append(calls)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--models", type=Path, default=ROOT / "build/bench/models")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench/transfer")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    sources, held_back = args.folder / "sources.db", args.folder / "held_back.db"
    tune(args.models, SOURCES, sources, args.seconds)
    tune(args.models, HELD_BACK, held_back, args.seconds)
    gained = possible = 0.0
    for name in HELD_BACK:
        times = race(args.models / f"{name}.onnx", sources, held_back, args.rounds)
        untuned, moved, tuned, again = (quantile(pooled(t)) for t in times)
        low, high = interval(times[2], times[0])
        moved_low, moved_high = interval(times[1], times[0])
        again_low, again_high = interval(times[3], times[0])
        print(f"{name}: {transferred_kernels(args.models / f'{name}.onnx', sources)} kernels transferred; {1e3 * untuned:.2f} ms untuned; transferred {untuned / moved:.3f}x ({moved_low:.3f} … {moved_high:.3f}), "
              f"tuned {untuned / tuned:.3f}x ({low:.3f} … {high:.3f}), untuned again {untuned / again:.3f}x ({again_low:.3f} … {again_high:.3f})", flush=True)
        if low > 1:
            gained, possible = gained + untuned - moved, possible + untuned - tuned
    print(f"share of the gain: {100 * gained / possible:.0f} %" if possible else "no tuned gain is beyond doubt")


if __name__ == "__main__":
    main()
