# SPDX-License-Identifier: Apache-2.0
import json
import sys
import time


def serve(call, facts=None, out=sys.stdout):
    """A contender: for each line SECONDS on stdin, calls for that long and prints the time of each call but the first.
    With several things to call, a dictionary, the line is SECONDS NAME. `memory` is answered with the most megabytes that the
    process has held."""
    print("ready", json.dumps(facts or {}), file=out, flush=True)
    for line in sys.stdin:
        if line.strip() == "memory":
            print(peak_megabytes(), file=out, flush=True)
            continue
        seconds, _, name = line.strip().partition(" ")
        chosen = call[name] if name else call
        times, end = [], time.perf_counter() + float(seconds)
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            chosen()
            times.append(time.perf_counter() - start)
        print(" ".join(f"{t:.9f}" for t in times[1:]), file=out, flush=True)


def peak_megabytes():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
