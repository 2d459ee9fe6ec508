# SPDX-License-Identifier: Apache-2.0
"""Sizes that a model of free dimensions cannot take, and Loops that never end: an error from the run, after which the same module
is right again."""
import os
import signal
import threading
import time

import numpy as np
import pytest

import tilewright as tw


def refused(module, inputs, text, code="python.run.failed"):
    with pytest.raises(tw.Error, match=text) as caught:
        module.run(inputs)
    assert caught.value.code == code


def floats(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def test_a_slice_of_less_than_nothing_is_empty(model):
    module = tw.compile(model("""
        net (float[n] x, int64[1] start, int64[1] end) => (float[m] y) { y = Slice(x, start, end) }"""))
    x = floats(6)
    for start, end in ((4, 2), (-100, -50), (9, 12), (2, 5), (-2, 100)):
        y, = module.run([x, np.array([start]), np.array([end])])
        np.testing.assert_array_equal(y, x[start:end] if start >= -6 else x[0:max(end + 6, 0)])


def test_a_pool_window_over_nothing_is_refused(model):
    module = tw.compile(model("""
        net (float[1, 2, h, w] x) => (float[1, 2, a, b] y) { y = MaxPool <kernel_shape = [3, 3]> (x) }"""))
    refused(module, [floats(1, 2, 1, 5)], "MaxPool")
    assert module.run([floats(1, 2, 3, 3)])[0].item(0) == 8
    refused(module, [floats(1, 2, 0, 0)], "MaxPool")
    pairs = tw.compile(model("net (float[n, h] x) => (float[n, 1, a] y) <int64[1] one = {1}> { u = Unsqueeze(x, one) y = MaxPool <kernel_shape = [2], strides = [2]> (u) }"))
    assert pairs.run([floats(2, 0)])[0].shape == (2, 1, 0)
    assert module.run([floats(1, 2, 4, 3)])[0].shape == (1, 2, 2, 1)


def test_a_convolution_of_too_small_a_picture_is_refused(model):
    module = tw.compile(model("""
        net (float[n, 1, h, w] x, float[1, 1, 5, 5] k) => (float[n, 1, a, b] y) { y = Conv(x, k) }"""))
    k = np.ones((1, 1, 5, 5), np.float32)
    refused(module, [floats(1, 1, 3, 9), k], "Conv")
    np.testing.assert_allclose(module.run([floats(1, 1, 5, 5), k])[0], [[[[300.0]]]])
    assert module.run([floats(0, 1, 5, 5), k])[0].shape == (0, 1, 1, 1)


def test_a_reshape_that_does_not_fit_is_refused(model):
    module = tw.compile(model("""
        net (float[n, m] x) => (float[a, 4] y) <int64[2] s = {-1, 4}> { y = Reshape(x, s) }"""))
    refused(module, [floats(3, 3)], "Reshape")
    assert module.run([floats(2, 6)])[0].shape == (3, 4)


@pytest.mark.parametrize("n, m", [(0, 0), (0, 1), (1, 0), (1, 1), (0, 5), (5, 0), (5, 1)])
def test_sizes_of_zero_and_one_are_right(model, n, m):
    module = tw.compile(model("""
        net (float[n, m] x) => (float[n, m] s, float[n, 1] r, float[m, n] t, float[n, 3] p, float[k, m] c)
        <float[1] one = {1}> {
          s = Softmax <axis = -1> (x)
          r = ReduceSum <keepdims = 1> (x, axis)
          t = Transpose <perm = [1, 0]> (x)
          shape = Shape(x)
          two = Constant <value = int64[1] {1}> ()
          axis = Constant <value = int64[1] {1}> ()
          columns = Gather(shape, two)
          three = Constant <value = int64[1] {3}> ()
          ws = Concat <axis = 0> (columns, three)
          w = Expand(one, ws)
          p = MatMul(x, w)
          c = Concat <axis = 0> (x, x) }"""))
    x = floats(n, m)
    s, r, t, p, c = module.run([x])
    np.testing.assert_allclose(r, x.sum(1, keepdims=True))
    np.testing.assert_allclose(s.sum(1), np.ones(n) if m else np.zeros(n), rtol=1e-6)
    np.testing.assert_array_equal(t, x.T)
    np.testing.assert_allclose(p, np.repeat(x.sum(1, keepdims=True), 3, 1))
    np.testing.assert_array_equal(c, np.concatenate([x, x]))


def test_two_to_the_31_elements(model):
    module = tw.compile(model("""
        net (uint8[n, m] x) => (uint8[n, m] y, uint8[1, m] last) <int64[1] at = {-1}, uint8 seven = {7}> {
          y = Mod(x, seven)
          last = Gather(y, at) }"""))
    refused(module, [np.zeros((2 ** 31, 1), np.uint8)], "n of input `x` is 2147483648; the module was compiled for 0 to 2147483647")
    x = np.zeros((2 ** 15 + 1, 2 ** 16), np.uint8)
    x[-1, -1] = 12
    y, last = module.run([x])
    assert last[0, -1] == y[-1, -1] == 5 and y[0, 0] == 0 and y.shape == x.shape
    del x, y
    np.testing.assert_array_equal(module.run([np.array([[8, 2]], np.uint8)])[0], [[1, 2]])


LOOP = """
    net (float[n] x, {trips}) => (float[m] y) {{ y = Loop <body = body (int64 i, bool go, float[k] s) => (bool on, float[j] t) {{
        on = Identity(go)
        t = {step} }}> ({given}, go, x) }}"""


def loop(model, step, trips="int64 trips, bool go", given="trips"):
    return model(LOOP.format(step=step, trips=trips, given=given))


def test_a_loop_that_never_ends_is_cancelled(model):
    module = tw.compile(loop(model, "Add(s, s)", trips="bool go", given=""))
    took = []

    def cancel():
        time.sleep(0.2)
        start = time.perf_counter()
        module.cancel()
        ended.wait()
        took.append(time.perf_counter() - start)
    ended = threading.Event()
    other = threading.Thread(target=cancel)
    other.start()
    refused(module, [floats(3), np.array(True)], "cancelled", "python.run.cancelled")
    ended.set()
    other.join()
    assert took[0] < 1  # milliseconds, but the machine may be busy
    np.testing.assert_array_equal(module.run([floats(3), np.array(False)])[0], floats(3))


@pytest.fixture
def hears_ctrl_c():
    """A shell lets its background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("trips", [2 ** 63 - 1, 2 ** 40])
def test_ctrl_c_ends_a_loop_of_too_many_iterations(model, trips, hears_ctrl_c):
    module = tw.compile(loop(model, "Add(s, s)"))
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        module.run([floats(3), np.array(trips), np.array(True)])
    y, = module.run([floats(3), np.array(2), np.array(True)])
    np.testing.assert_array_equal(y, 4 * floats(3))


def test_ctrl_c_goes_to_the_handler_of_the_user(model):
    module = tw.compile(loop(model, "Add(s, s)"))
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        refused(module, [floats(3), np.array(2 ** 62), np.array(True)], "cancelled", "python.run.cancelled")
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [1]


def test_a_carried_value_that_grows_without_bound_meets_the_limit(model):
    module = tw.compile(loop(model, "Concat <axis = 0> (s, s)"), memory_limit=20_000_000)
    refused(module, [floats(3), np.array(2 ** 40), np.array(True)], r"`[st](_\d+)?`.* may hold 20000000", "python.run.memory")
    assert module.held_bytes() <= 20_000_000
    assert module.run([floats(3), np.array(4), np.array(True)])[0].shape == (48,)


def test_windows_over_an_empty_picture_are_refused(model):
    for node in ("Conv <pads = [1, 1, 1, 1]> (x, k)", "ConvTranspose(x, k)"):
        module = tw.compile(model(f"""
            net (float[n, 1, h, w] x, float[1, 1, 3, 3] k) => (float[n, 1, a, b] y, float[1, 1, 3, 3] z) {{ y = {node} z = Neg(k) }}"""))
        k = np.ones((1, 1, 3, 3), np.float32)
        refused(module, [floats(1, 1, 0, 4), k], "windows over dimension 2, which is empty")
        refused(module, [floats(0, 1, 4, 0), k], "windows over dimension 3, which is empty")
        assert module.run([floats(1, 1, 1, 1), k])[0].shape[:2] == (1, 1)
        assert module.run([floats(0, 1, 4, 4), k])[0].shape[:2] == (0, 1)


def test_what_a_table_bounds_is_checked_before_anything_counts_on_it(model):
    module = tw.compile(model("""
        net (float[n, 2] x) => (float[m, 2] y) <int64[1] zero = {0}, int64[1] one = {1}, float[3, 2] table = {1, 2, 3, 4, 5, 6}> {
            s = Shape(x) n1 = Slice(s, zero, one, zero) t = Slice(table, zero, n1, zero) z = Add(x, t) y = Exp(z) }"""))
    for n in (0, 1, 2, 3):
        x = floats(n, 2)
        np.testing.assert_allclose(module.run([x])[0], np.exp(x + np.arange(1, 7, dtype=np.float32).reshape(3, 2)[:n]), rtol=1e-5)
    refused(module, [floats(4, 2)], "Add")
    assert module.run([floats(3, 2)])[0].shape == (3, 2)


def test_points_that_a_check_excludes_get_no_kernels(model):
    module = tw.compile(model("""
        net (float[n, 1, h, 8] x, float[1, 1, 3, 3] k) => (float[n, 1, a, b] y) { y = Conv(x, k) }"""), dims={"h": (0, 64, [0, 8])})
    assert module.run([floats(1, 1, 8, 8), np.ones((1, 1, 3, 3), np.float32)])[0].shape == (1, 1, 6, 6)
