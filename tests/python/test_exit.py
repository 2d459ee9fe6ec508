# SPDX-License-Identifier: Apache-2.0
"""The interpreter may end while threads are in native code."""
import subprocess
import sys

import pytest

START = """
import threading, time
import numpy as np
import tilewright as tw
from onnx import parser
model = parser.parse_model('<ir_version: 9, opset_import: ["" : 18]> g (float[{n}, {n}] x) => (float[{n}, {n}] y) {{ y = MatMul(x, x) }}')
x = np.ones(({n}, {n}), np.float32)
m = tw.compile(model, threads={threads})
s = tw.Schedule(tw.te.program("p", [A := tw.te.placeholder("A", "f32", (400, 400))], tw.te.compute("B", (400, 400), lambda i, j: A[i, j] + 1.0)))
k = s.build()
a = np.ones((400, 400), np.float32)
def busy(i):
    sum(range(100000))
    return i
inside = threading.Event()
def forever(call):
    while True:
        inside.set()
        call()
for call in [{calls}]:
    for _ in range(3):
        threading.Thread(target=forever, args=(call,), daemon=True).start()
inside.wait()
time.sleep({sleep})
"""


@pytest.mark.parametrize("calls", ["lambda: m(x)", "lambda: tw.compile(model, cache=False)", "lambda: s.interpret(a)", "lambda: k(a)", "lambda: tw.te.compute('C', (4,), busy)"])
@pytest.mark.parametrize("n, threads", [(4, 1), (400, 2)])
def test_daemon_threads_do_not_abort_the_process(calls, n, threads):
    for sleep in (0, 0.1):
        script = START.format(n=n, threads=threads, calls=calls, sleep=sleep)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and done.stderr == "", done.stderr


def test_daemon_threads_in_an_operator_of_ones_own_do_not_abort_either():
    script = START.format(n=4, threads=1, calls="lambda: tw.compile(own, cache=False)", sleep=0.2).replace("inside = ", """
def twice(x):
    sum(range(10000))
    return tw.te.compute("t", x.shape, lambda i, j: x[i, j] * 2.0)
tw.register_op("my.domain", "Twice", te=twice)
own = parser.parse_model('<ir_version: 9, opset_import: ["" : 18, "my.domain" : 1]> g (float[4, 4] x) => (float[4, 4] y) { y = my.domain.Twice(x) }')
tw.compile(own)
inside = """, 1)
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and done.stderr == "", done.stderr
