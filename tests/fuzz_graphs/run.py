#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random graphs, compared with ONNX Runtime, at up to three sizes. Some run with products of bf16, in some an index is out of range: those must fail.

    run.py [--count N] [--seed FIRST] [--jobs N] [--save FOLDER]    graphs of the seeds FIRST, FIRST + 1, …
    run.py --repro FILE.onnx                                       one saved graph, with its inputs in FILE.npz

Each graph runs in a worker process, so that a crash is one failure. A failing graph is made small by dropping
nodes, printed as text, and saved with its inputs.
"""
import argparse
import collections
import os
import sys
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "common")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import worker_pool  # noqa: E402
from check import Skipped, check, peer_runs  # noqa: E402
from generate import generate  # noqa: E402
from minimize import minimize  # noqa: E402


def run_seed(seed):
    model, feeds, others = generate(seed)
    try:
        return check(model, feeds, others), len(model.graph.node)
    except Skipped as e:
        return f"skipped: {e}", len(model.graph.node)


def run_peer(seed):
    try:
        peer_runs(*generate(seed))
    except Skipped:
        pass
    return True


def blame(seed, failure, args):
    """A crash of ONNX Runtime alone is no failure of ours."""
    (_, _, theirs), = worker_pool.run(run_peer, [seed], 1, args.timeout)
    return f"skipped: ONNX Runtime too: {theirs}" if theirs else failure


def report(seed, problem, args):
    """Makes the graph small and writes it down."""
    model, feeds, others = generate(seed)
    small, inputs, now = minimize(model, feeds, problem, args.jobs, args.timeout)
    folder = Path(args.save)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(small, folder / f"seed_{seed}.onnx")
    np.savez(folder / f"seed_{seed}.npz", **inputs)
    if problem != now and len(small.graph.node) == len(model.graph.node):
        now = problem
    print(f"\nseed {seed}: {now}\n{onnx.printer.to_text(small)}\n  {folder}/seed_{seed}.onnx", flush=True)
    for name, value in inputs.items():
        print(f"  {name}: {value.dtype}{list(value.shape)} {np.array2string(value.reshape(-1)[:8])}", flush=True)


def repro(path):
    model = onnx.load(path)
    with np.load(Path(path).with_suffix(".npz")) as file:
        feeds = dict(file)
    problem = check(model, feeds)
    print(onnx.printer.to_text(model), problem or "passes", sep="\n")
    sys.exit(1 if problem else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--save", default="build/fuzz_graphs")
    parser.add_argument("--repro")
    args = parser.parse_args()
    if args.repro:
        repro(args.repro)
    start, states, nodes, failed = time.time(), collections.Counter(), 0, []
    for seed, result, failure in worker_pool.run(run_seed, range(args.seed, args.seed + args.count), args.jobs, args.timeout):
        problem, size = result or (blame(seed, failure, args), 0)
        state = problem.split(":")[0] or "passed"
        states[state] += 1
        nodes += size
        if state not in ("passed", "skipped"):
            failed.append((seed, problem))
            print(f"seed {seed}: {problem}"[:300], flush=True)
    for seed, problem in sorted(failed)[:20]:
        report(seed, problem, args)
    print(f"{args.count} graphs, {nodes} nodes: " + ", ".join(f"{n} {s}" for s, n in states.most_common())
          + f"  ({time.time() - start:.0f} s)")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
