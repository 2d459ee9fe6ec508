#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A BLAS as a contender of bench/kernel_bench.py:  blas_worker.py openblas|mkl|mkl_packed M N K

mkl_packed has its right operand packed beforehand, as ours has."""
import ctypes
import glob
import os
import sys

import numpy as np

from serve import serve

NAMES = {"openblas": ["libopenblas.so.0"], "mkl": ["libmkl_rt.so.*", "libmkl_rt.so"]}
ROW_MAJOR, NO_TRANS, PACKED, B_MATRIX = 101, 111, 151, 162
ONE, ZERO = ctypes.c_float(1), ctypes.c_float(0)


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


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def plain(lib, a, b, c):
    (m, k), n = a.shape, b.shape[1]
    args = [ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, ONE, pointer(a), k, pointer(b), n, ZERO, pointer(c), n]
    return lambda: lib.cblas_sgemm(*args)


def packed(lib, a, b, c):
    (m, k), n = a.shape, b.shape[1]
    lib.cblas_sgemm_pack_get_size.restype = ctypes.c_size_t
    room = np.zeros(lib.cblas_sgemm_pack_get_size(B_MATRIX, m, n, k) + 64, dtype=np.uint8)
    place = ctypes.c_void_p((room.ctypes.data + 63) // 64 * 64)
    lib.cblas_sgemm_pack(ROW_MAJOR, B_MATRIX, NO_TRANS, m, n, k, ONE, pointer(b), n, place)
    args = [ROW_MAJOR, NO_TRANS, PACKED, m, n, k, pointer(a), k, place, n, ZERO, pointer(c), n]

    def call(keep=room):
        lib.cblas_sgemm_compute(*args)
    return call


def main():
    name, m, n, k = sys.argv[1], *map(int, sys.argv[2:5])
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k), dtype=np.float32), rng.standard_normal((k, n), dtype=np.float32)
    c = np.zeros((m, n), dtype=np.float32)
    call = (packed if name == "mkl_packed" else plain)(load(name.removesuffix("_packed")), a, b, c)
    for _ in range(3):
        call()
    assert np.allclose(c, a @ b, rtol=1e-3, atol=1e-2)
    serve(call)


main()
