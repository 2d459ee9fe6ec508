#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: models against other engines, their kernels against the machine's limit, and what parts of the compiler are worth.

  models.py [--only MODEL …] [--threads 1,2] [--rounds N] [--precision f32,bf16] [--engines tilewright,…]
            [--part race,dynamic,quantized,convolutions,kernels,ablations,cells,scaling] [--out NAME]

Writes bench/results/<cpu>-models.{json,md} and a plot for each table. What was measured before stays in the JSON unless it is
measured again; a run that was stopped goes on where it was.
"""
import argparse
import json
import sys
import time
from pathlib import Path

import ablations
import cells
import contest
import dynamic_race
import kernel_shares
import plot
import quantized_race
import race
import report
import scaling
import zoo
import zoo_convolutions
import zoo_dynamic
import zoo_quantized
from engines import ENGINES
from stats import describe

PARTS = ["race", "dynamic", "quantized", "convolutions", "kernels", "ablations", "cells", "scaling"]
SCALED = ["resnet50", "bert_base"]


class Progress:
    """One line on the terminal, or a line for each piece of work in a log."""

    def __init__(self, pieces):
        self.pieces, self.done, self.what, self.start = pieces, 0, "", time.monotonic()

    def begin(self, what):
        self.what = what
        self("")
        if not sys.stderr.isatty():
            print(self.line(""), file=sys.stderr, flush=True)

    def end(self):
        self.done += 1

    def line(self, step):
        passed = time.monotonic() - self.start
        left = f", about {passed / self.done * (self.pieces - self.done) / 60:.0f} min left" if self.done else ""
        return f"[{self.done + 1}/{self.pieces}{left}] {self.what} {step}"

    def __call__(self, step):
        if sys.stderr.isatty():
            print("\r\033[K" + self.line(step)[:150], end="", file=sys.stderr, flush=True)


def comma(kinds):
    def parse(text):
        values = text.split(",")
        if unknown := [v for v in values if v not in kinds]:
            raise argparse.ArgumentTypeError(f"no {unknown[0]}; there are {', '.join(kinds)}")
        return values
    return parse


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*zoo.NAMES, *zoo_dynamic.NAMES, *zoo_quantized.NAMES, *zoo_convolutions.CONVOLUTIONS]
    parser.add_argument("--only", nargs="+", choices=sorted({*names}), default=names, metavar="MODEL")
    parser.add_argument("--threads", type=comma(["1", "2"]), default=["1", "2"])
    parser.add_argument("--precision", type=comma(list(race.TABLES)), default=list(race.TABLES))
    parser.add_argument("--part", type=comma(PARTS), default=PARTS)
    parser.add_argument("--engines", type=comma(list(ENGINES)), default=[e for e in ENGINES if e != "tvm_tuned"])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=contest.ROOT / "bench/results" / f"{contest.machine()}-models")
    return parser.parse_args()


def empty_times(threads, options, engines, progress):
    """Of a call that does next to nothing, by engine."""
    row = race.run("empty", threads, "f32", engines, min(options.rounds, 5), progress)
    return {name: describe(rounds)["p20"] for name, rounds in row["raw"].items()}


def work(options, results):
    """Pieces of work: a name, and what does it."""
    fixed = [n for n in zoo.NAMES if n in options.only]
    if "race" in options.part:
        for precision in options.precision:
            for threads in options.threads:
                yield f"empty model {threads}", lambda p, t=threads: results["empty"].update({t: empty_times(int(t), options, options.engines, p)})
                for name in fixed:
                    yield (f"{name} {precision} {threads} threads",
                           lambda p, n=name, t=threads, k=precision: results["race"].setdefault(k, {}).setdefault(n, {}).update(
                               {t: race.judge(race.run(n, int(t), k, options.engines, options.rounds, p), results["empty"][t])}))
    if "dynamic" in options.part:
        yield from dynamic(options, results)
    if "convolutions" in options.part:
        yield from convolutions(options, results)
    if "quantized" in options.part:
        yield from quantized(options, results)
    if "kernels" in options.part:
        for name in fixed:
            yield f"{name} kernels", lambda p, n=name: results["kernels"].update({n: kernels(n)})
    if "ablations" in options.part:
        for name in fixed:
            yield f"{name} ablations", lambda p, n=name: once(results["ablations"], n, options, lambda: ablations.of_model(n, options.rounds, p))
    if "cells" in options.part:
        for name in cells.CELLS:
            yield f"{name} fused", lambda p, n=name: once(results["cells"], n, options, lambda: ablations.of_cell(n, options.rounds, p))
    if "scaling" in options.part:
        for name in [n for n in SCALED if n in fixed]:
            yield f"{name} scaling", lambda p, n=name: once(results["scaling"], n, options, lambda: scaling.measure(n, options.rounds, p))


def dynamic(options, results):
    engines = [e for e in dynamic_race.ENGINES if e in options.engines]
    for threads in options.threads:
        if "race" not in options.part:
            yield (f"empty model {threads}", lambda p, t=threads: results["empty"].setdefault(t, {}).update(
                empty_times(int(t), options, engines, p)))
        for name in [n for n in zoo_dynamic.NAMES if n in options.only]:
            yield (f"{name} free sizes {threads} threads", lambda p, n=name, t=threads: results["dynamic"].setdefault(n, {}).update(
                {t: {size: dynamic_race.judge(row, results["empty"][t])
                     for size, row in dynamic_race.run(n, int(t), engines, options.rounds, p).items()}}))


def peers_of(part, options, results, names, row):
    """Models of a part against the two peers that take them; `row` plays and judges one."""
    engines = [e for e in ("tilewright", "onnxruntime", "openvino") if e in options.engines]
    for threads in options.threads:
        if "race" not in options.part:
            yield (f"empty model {threads}", lambda p, t=threads: results["empty"].setdefault(t, {}).update(
                empty_times(int(t), options, engines, p)))
        for name in [n for n in names if n in options.only]:
            yield (f"{name} {threads} threads", lambda p, n=name, t=threads: results[part].setdefault(n, {}).update(
                {t: row(n, t, engines, p)}))


def convolutions(options, results):
    return peers_of("convolutions", options, results, zoo_convolutions.CONVOLUTIONS, lambda n, t, engines, p: race.judge(
        race.run(n, int(t), "f32", engines, options.rounds, p), results["empty"][t]))


def quantized(options, results):
    return peers_of("quantized", options, results, zoo_quantized.NAMES, lambda n, t, engines, p: quantized_race.judge(
        quantized_race.run(n, int(t), engines, options.rounds, p), results["empty"][t]))


def once(results, name, options, measure):
    """What this compiler was measured at before is not measured again."""
    key = {"compiler": race.compiler(), "rounds": options.rounds}
    if results.get(name, {}).get("key") != key:
        results[name] = measure() | {"key": key}


def kernels(name):
    measured = kernel_shares.measure(zoo.make(name), race.BUILD / "kernels" / f"{name}.json", seconds=20)
    return {"summary": kernel_shares.summary(measured), "worst": kernel_shares.worst(measured, 10)}


def write(results, out):
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_name(out.name + ".json").write_text(json.dumps(results, indent=1) + "\n")
    out.with_name(out.name + ".md").write_text(report.markdown(results))
    for precision, models in results["race"].items():
        rows = {m: {int(t): (r["ratio"], r["interval"]) for t, r in by.items() if "ratio" in r} for m, by in models.items()}
        rows = {m: r for m, r in rows.items() if r}
        if rows:
            title = {"f32": "f32", "bf16": "reduced precision allowed"}[precision]
            out.with_name(f"{out.name}-{precision}.svg").write_text(plot.chart(f"Times the speed of the best peer, {title}", rows))


def main():
    options = arguments()
    file = options.out.with_name(options.out.name + ".json")
    results = json.loads(file.read_text()) if file.exists() else {}
    for part in ("empty", *PARTS):
        results.setdefault(part, {})
    results |= {"machine": contest.machine(), "date": race.now(), "versions": race.versions()}
    pieces = list(work(options, results))
    progress = Progress(len(pieces))
    for name, do in pieces:
        progress.begin(name)
        do(progress)
        progress.end()
        write(results, options.out)
    print(f"\nwritten to {options.out}.md")


main()
