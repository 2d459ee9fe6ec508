# SPDX-License-Identifier: Apache-2.0
import sys
import time


def serve(call):
    """A contender: for each line on stdin, calls for that many seconds and prints the time of each call but the first."""
    print("ready", flush=True)
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        print(" ".join(f"{t:.9f}" for t in times[1:]), flush=True)
