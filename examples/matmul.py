# SPDX-License-Identifier: Apache-2.0
"""From three nested loops to fast code in a dozen steps, in Python: `python examples/matmul.py`.

After each step the program is compiled, checked against NumPy and timed; `print(s)` would show it. matmul.cpp is the same
in C++.
"""
import time

import numpy as np

import tilewright as tw
from tilewright import te

SIZE, WIDTH = 512, 32

# C = A · B, with B kept in panels of WIDTH columns: B[x / WIDTH, k, x % WIDTH].
A = te.placeholder("A", "f32", (SIZE, SIZE))
B = te.placeholder("B", "f32", (SIZE // WIDTH, SIZE, WIDTH))
k = te.reduce_axis(SIZE, "k")
C = te.compute("C", (SIZE, SIZE), lambda y, x: te.sum(A[y, k] * B[x // WIDTH, k, x % WIDTH], k))

s = tw.Schedule(te.program("matmul", [A, B], C))
LANES = s.lanes("f32")
COLS, ROWS = 2 * LANES, 14 if s.vector_registers >= 32 else 6  # a tile of the result fills the registers
a, b = (np.random.default_rng(i).integers(-8, 9, (SIZE, SIZE)).astype(np.float32) for i in range(2))
panels = np.ascontiguousarray(b.reshape(SIZE, SIZE // WIDTH, WIDTH).transpose(1, 0, 2))
expected = a @ b
rows = []


def show(what):
    kernel, out = s.build(threads=1), np.empty_like(expected)
    times = []
    while len(times) < 3 or sum(times) < 0.3:
        start = time.perf_counter()
        kernel(a, panels, out=out)
        times.append(time.perf_counter() - start)
    right = np.array_equal(out, expected)  # whole numbers: a sum is the same in every order
    rows.append(2e-9 * SIZE ** 3 / min(times))
    print(f"{len(rows):2}  {what:44} {rows[-1]:8.2f} GFLOP/s  {'right' if right else 'WRONG'}")
    if not right:
        raise SystemExit(1)


print(f"f32 matmul, {SIZE} cubed, one core")
show("three nested loops")
c = s.block("C")
y, x, k = s.loops(c)
x0, x1 = s.split(x, [None, COLS])
show("columns split")
y0, y1 = s.split(y, [None, ROWS])
s.reorder([x0, y0, k, y1, x1])
show("tiles of rows and columns, k outside")
out = s.cache_write(c, "C", "register")
s.reverse_compute_at(out, y0)
show("result collected per tile")
init = s.decompose_reduction(c, k)
show("zeros set before the k loop")
x1o, x1i = s.split(x1, [None, LANES])
s.vectorize(x1i)
show("columns as vectors")
s.unroll(x1o)
s.unroll(y1)
show("tile unrolled into registers")
for block in (init, out):
    row, col = s.loops(block)[-2:]
    o, i = s.split(col, [None, LANES])
    s.vectorize(i)
    s.unroll(o)
    s.unroll(row)
show("zeros and results as vectors too")
k0, k1 = s.split(k, [None, 4])
s.unroll(k1)
show("k unrolled by 4")
print(f"\n{s.trace}")
