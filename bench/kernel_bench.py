#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel benchmark: shares of peak and of roofs by build/release/bench/{kernels,roofs}, then GEMMs and whole
convolution layers against their peers.

  kernel_bench.py [--rounds N] [--only shares|roofs|gemm|layers] [--out FILE]

Every contender runs in a process of its own on one thread; rounds are interleaved and start with another
contender each time. A time is the 20 % quantile over all calls. Results are data: bench/results/<cpu>.json;
--only replaces its part of the file.
"""
import argparse
import json
import subprocess
from pathlib import Path

import contest
import gemms
import layers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", choices=["shares", "roofs", "gemm", "layers"])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or contest.ROOT / "bench/results" / f"{contest.machine()}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    results = json.loads(out.read_text()) if options.only and out.exists() else {}

    def part(name, title, run):
        if options.only not in (None, name):
            return
        print(f"\n{title}")
        results.update(run())
        out.write_text(json.dumps(results, indent=1) + "\n")

    def measured(program):
        part_file = out.with_suffix(".part")
        subprocess.run([contest.PROGRAMS / program, "--json", part_file], check=True)
        data = json.loads(part_file.read_text())
        part_file.unlink()
        return data

    part("shares", "Share of the machine's limit, one thread, quiet slices", lambda: measured("kernels"))
    part("roofs", "Kernels that stream, share of their roof", lambda: {"roofs": measured("roofs")})
    part("gemm", "GEMM, GFLOP/s, one thread",
         lambda: {"peers": gemms.compare(results["kernels"], results["lanes"], options.rounds),
                  "two_threads": gemms.scaling(results["kernels"], results["lanes"], options.rounds)})
    part("layers", "Convolution layers as a whole, NCHW in and out, one thread",
         lambda: {"layers": layers.compare(options.rounds)})
    print(f"written to {out}")


main()
