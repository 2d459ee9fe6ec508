#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A BLAS as a contender of bench/kernels.py:  blas_worker.py openblas|mkl M N K"""
import ctypes
import glob
import os
import sys
import time

import numpy as np

NAMES = {"openblas": ["libopenblas.so.0"], "mkl": ["libmkl_rt.so.*", "libmkl_rt.so"]}


def load(name):
    folders = ["", os.path.join(sys.prefix, "lib") + "/"]
    for pattern in NAMES[name]:
        for folder in folders:
            for path in glob.glob(folder + pattern) or ([pattern] if "*" not in pattern else []):
                try:
                    return ctypes.CDLL(path)
                except OSError:
                    pass
    raise SystemExit(f"{name} is not installed")


def main():
    name, m, n, k = sys.argv[1], *map(int, sys.argv[2:5])
    lib = load(name)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k), dtype=np.float32), rng.standard_normal((k, n), dtype=np.float32)
    c = np.zeros((m, n), dtype=np.float32)
    pointer = lambda x: x.ctypes.data_as(ctypes.c_void_p)
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    args = [101, 111, 111, m, n, k, one, pointer(a), k, pointer(b), n, zero, pointer(c), n]

    def call():
        lib.cblas_sgemm(*args)

    for _ in range(3):
        call()
    assert np.allclose(c, a @ b, rtol=1e-3, atol=1e-2)
    print("ready", flush=True)
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        print(" ".join(f"{t:.9f}" for t in times[1:]), flush=True)


main()
