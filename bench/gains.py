#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tuning gains: each model of the race is tuned for some seconds from nothing, then runs untuned and tuned in turn.

  gains.py [--seconds 60] [--rounds 20] [--threads 1] [--only NAME …] [--folder FOLDER]

There are three untuned and three tuned builds, five each where a call takes less than a millisecond: what builds of one kind differ by
(where pages and kernels come to lie) is noise, and in the interval. A model whose records are in the folder is not tuned again.
"""
import argparse
import json
from pathlib import Path

from contest import machine
from stats import pooled, quantile, verdict
from tuned import MODELS, ROOT, race, speed, speed_of_builds, told, tune

SHORT = 1e-3  # seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench/gains")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    kind = f"{args.seconds}s" if args.threads == 1 else f"{args.seconds}s-{args.threads}threads"
    results = args.folder / f"{machine()}-{kind}.json"
    gains = json.loads(results.read_text()) if results.exists() else {}
    for model in sorted(MODELS.glob("*.onnx")):
        if model.stem == "empty" or (args.only and model.stem not in args.only):
            continue
        records = args.folder / f"{model.stem}-{kind}.db"
        if not records.exists():
            part = records.with_suffix(".part")
            part.unlink(missing_ok=True)  # of a run that was killed
            tune(model, part, args.seconds, args.threads)
            part.rename(records)
        variants = [{}, {"records": records}]
        times = race(model, 3 * variants, args.rounds, threads=args.threads)
        if quantile(pooled(times[0])) < SHORT:
            times = race(model, 5 * variants, args.rounds, threads=args.threads)
        untuned, tuned = times[::2], times[1::2]
        gains[model.stem] = {"tuned": speed_of_builds(tuned, untuned), "noise": speed(untuned[1], untuned[0])}
        print(f"{model.stem:16} tuned {told(gains[model.stem]['tuned'])}; untuned builds {told(gains[model.stem]['noise'])}",
              flush=True)
        results.write_text(json.dumps(gains, indent=1))
    if not gains:
        raise SystemExit("there are no models yet: `make bench BENCH_ARGS=\"--part race --rounds 1\"` makes them")
    all_of = verdict([(g["tuned"][0], g["tuned"][1:]) for g in gains.values()])
    print(f"{len(gains)} models: {all_of['geomean']:.3f}x, worst {all_of['worst']:.3f}x, {all_of['worst_at_best']:.3f}x at best")


if __name__ == "__main__":
    main()
