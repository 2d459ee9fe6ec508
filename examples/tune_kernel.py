# SPDX-License-Identifier: Apache-2.0
"""A kernel of one's own, tuned: `python examples/tune_kernel.py [RECORDS]`.

The function leaves its numbers open; a search measures some of them on this machine, and checks each result. With the name of
a file every trial is kept there, and the next run goes on.
"""
import sys

import numpy as np

import tilewright as tw
from tilewright import te

SIZE, TRIALS = 256, 24

A, B = te.placeholder("A", "f32", (SIZE, SIZE)), te.placeholder("B", "f32", (SIZE, SIZE))
r = te.reduce_axis(SIZE, "r")
C = te.compute("C", (SIZE, SIZE), lambda y, x: te.sum(A[y, r] * B[r, x], r))


def tiled(s, k):
    y, x, r = s.loops("C")
    (rows,) = k.split("rows", SIZE, most=16)
    (columns,) = k.split("columns", SIZE, most=64)
    vector = k.boolean("vector")
    k.require("vectors of 4 or more", ["columns", "vector"], lambda columns, vector: columns[0] >= 4 or not vector)
    y0, y1 = s.split(y, [None, rows])
    x0, x1 = s.split(x, [None, columns])
    s.reorder([y0, x0, r, y1, x1])
    if vector:
        s.vectorize(x1)
    s.unroll(y1)


space = tw.tune.Space(te.program("product", [A, B], C), tiled)
print(space)
result = space.search(trials=TRIALS, records=sys.argv[1] if len(sys.argv) > 1 else None,
                      progress=lambda t: print(f"{t.seconds[0] * 1e6:9.1f} us  {t.point}"))
best = result.best
print(f"best: {best.seconds[0] * 1e6:.1f} us, {1 / best.ratio[0]:.2f} times as fast as the default schedule: {best.point}")

a, b = (np.random.default_rng(i).integers(-8, 9, (SIZE, SIZE)).astype(np.float32) for i in range(2))
if not np.array_equal(result.schedule.build(threads=1)(a, b), a @ b):  # whole numbers: a sum is the same in every order
    raise SystemExit("WRONG")
