#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make bench-operators`: every operator at three sizes and along each axis, against ONNX Runtime.

  operators.py [--only OP …] [--limit SECONDS] [--out NAME]

Writes bench/results/<cpu>-operators.{json,md}. Every row is written down at once (build/bench/operators.jsonl), so that a run
that was stopped goes on where it was, until the compiler or ONNX Runtime changes; operators named by --only are measured anew.
Rows below 1.0x are measured twice.
"""
import argparse
import json
import sys
import time
from importlib import metadata, util
from pathlib import Path

import contest
import operator_report
from operator_race import measure, merged, ratio, rows

sys.path.append(str(contest.ROOT / "tests/common"))
import worker_pool  # noqa: E402

JOURNAL = contest.ROOT / "build/bench/operators.jsonl"
TIMEOUT = 180  # seconds of a row


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=sorted({k.split("|")[0] for k in rows()}), metavar="OP")
    parser.add_argument("--limit", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--out", type=Path, default=contest.ROOT / "bench/results" / f"{contest.machine()}-operators")
    return parser.parse_args()


def engines():
    """What the journal's rows were measured with."""
    library, = Path(util.find_spec("tilewright").origin).parent.glob("_native*.so")
    return {"compiler": [library.stat().st_size, int(library.stat().st_mtime)], "onnxruntime": metadata.version("onnxruntime")}


class Journal:
    """Rows measured so far: {key: row}, and which of them were measured twice."""

    def __init__(self, with_engines):
        JOURNAL.parent.mkdir(parents=True, exist_ok=True)
        text = JOURNAL.read_text() if JOURNAL.exists() else ""
        lines = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]  # the last one may have been cut off
        if not lines or lines[0] != with_engines:
            lines = [with_engines]
        JOURNAL.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.rows, self.twice = {}, set()
        for line in lines[1:]:
            self.take(**line)

    def take(self, key, row, again):
        if again:
            self.twice.add(key)
        else:
            self.twice.discard(key)
        self.rows[key] = merged(self.rows[key], row) if again else row

    def add(self, key, row, again):
        with open(JOURNAL, "a") as file:
            file.write(json.dumps({"key": key, "row": row, "again": again}) + "\n")
        self.take(key, row, again)


def play(keys, again, journal, until, write):
    """Measures rows one after the other; False when the time is over."""
    start = written = time.monotonic()
    for number, ((key, _), row, failure) in enumerate(worker_pool.run(measure, [(k, 1 + again) for k in keys], 1, TIMEOUT), 1):
        journal.add(key, row or {"refused": {}, "inputs": "", "failed": failure}, again)
        now = time.monotonic()
        x = ratio(journal.rows[key])
        print(f"[{number}/{len(keys)}, about {(now - start) / number * (len(keys) - number) / 60:.0f} min left] {key} "
              + (f"{x:.2f}x {journal.rows[key]['differs']}" if x is not None else f"{failure or row['refused']}"[:150]), flush=True)
        if now > written + 60:
            write()
            written = now
        if now > until:
            return False
    return True


def main():
    options = arguments()
    until = time.monotonic() + options.limit
    chosen = [k for k in rows() if not options.only or k.split("|")[0] in options.only]
    with_engines = engines()
    journal = Journal(with_engines)
    file = options.out.with_name(options.out.name + ".json")
    before = json.loads(file.read_text())["rows"] if file.exists() else {}

    def write():
        known = before | journal.rows
        results = {"machine": contest.machine(), "date": time.strftime("%Y-%m-%d %H:%M"), "onnxruntime": with_engines["onnxruntime"],
                   "rows": {k: known[k] for k in rows() if k in known}}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        head = json.dumps({k: v for k, v in results.items() if k != "rows"}, indent=1)[:-2]
        lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(r)}" for k, r in results["rows"].items())
        file.write_text(f'{head},\n "rows": {{\n{lines}\n}}}}\n')
        options.out.with_name(options.out.name + ".md").write_text(operator_report.markdown(results))

    try:
        if play([k for k in chosen if options.only or k not in journal.rows], False, journal, until, write):
            slow = [k for k in chosen if (ratio(journal.rows[k]) or 1) < 1 and k not in journal.twice]
            play(slow, True, journal, until, write)
    finally:
        write()
    print(f"{operator_report.summary({k: journal.rows[k] for k in chosen if k in journal.rows})}\nwritten to {options.out}.md")


if __name__ == "__main__":
    main()
