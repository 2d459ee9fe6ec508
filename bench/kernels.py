#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel benchmark: shares of peak and of roofs by build/release/bench/{kernels,roofs}, then GEMMs against peers.

  kernels.py [--rounds N] [--out FILE]

Every contender runs in a process of its own on one thread; rounds are interleaved and start with another
contender each time. A time is the 20 % quantile over all calls. Results are data: bench/results/<cpu>.json.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build/release/bench"
SHAPES = [(256, 256, 256), (1024, 1024, 1024), (3136, 64, 64), (3136, 256, 64), (784, 512, 128),
          (196, 1024, 256), (49, 2048, 512)]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def cpu_name():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return "-".join(line.split(":")[1].split())
    return platform.machine()


def quantile(values, q):
    return sorted(values)[int(q * (len(values) - 1))]


class Worker:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **ONE_THREAD})
        self.times = []
        self.ready = self.process.stdout.readline().strip() == "ready"

    def slice(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        self.times += map(float, self.process.stdout.readline().split())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def best_tile(shares, m, n, k):
    """The tile that did best in the shares of peak."""
    rows = [r for r in shares if r["kind"] == "gemm" and r["name"] == f"{m},{n},{k}"]
    best = max(rows, key=lambda r: (r["share"], -r["seconds"]))
    height, width = best["tile"].split("x")
    return int(height), int(width)


def compare(shares, lanes, rounds):
    results = []
    for m, n, k in SHAPES:
        height, width = best_tile(shares, m, n, k)
        size = [str(m), str(n), str(k)]
        workers = {"tilewright": Worker([str(PROGRAMS / "gemm_worker"), *size, str(height), str(width // lanes)])}
        for blas in ("openblas", "mkl"):
            workers[blas] = Worker([sys.executable, str(ROOT / "bench/blas_worker.py"), blas, *size])
        present = {name: w for name, w in workers.items() if w.ready}
        names = list(present)
        for r in range(rounds):
            for name in names[r % len(names):] + names[:r % len(names)]:
                present[name].slice(0.1)
        times = {name: quantile(w.times, 0.2) for name, w in present.items()}
        for w in workers.values():
            w.close()
        peers = {name: t for name, t in times.items() if name != "tilewright"}
        ratio = min(peers.values()) / times["tilewright"] if peers else None
        flops = 2.0 * m * n * k
        print(f"{m:5},{n:5},{k:5}  " + "  ".join(f"{name} {flops / t * 1e-9:7.1f}" for name, t in times.items()) +
              (f"   {ratio:.2f}x the best peer" if ratio else ""), flush=True)
        results.append({"shape": [m, n, k], "seconds": times, "ratio": ratio})
    return results


def roofs():
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "roofs.json"
        subprocess.run([PROGRAMS / "roofs", "--json", file], check=True)
        return json.loads(file.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or ROOT / "bench/results" / f"{cpu_name()}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([PROGRAMS / "kernels", "--json", out], check=True)
    results = json.loads(out.read_text())
    print("\nkernels that stream, share of their roof")
    results["roofs"] = roofs()
    print("\nGEMM, GFLOP/s, one thread, B packed beforehand for ours, plain for the others")
    results["peers"] = compare(results["kernels"], results["lanes"], options.rounds)
    out.write_text(json.dumps(results, indent=1) + "\n")
    print(f"written to {out.relative_to(ROOT)}")


main()
