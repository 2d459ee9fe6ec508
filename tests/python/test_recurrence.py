# SPDX-License-Identifier: Apache-2.0
"""Loops and scans that are recurrences become one kernel; others stay loops. Numbers are compared with NumPy."""
import numpy as np
import pytest
from onnx import numpy_helper

import tilewright as tw

INPUTS, STATE = 6, 5


def weights(seed=3):
    rng = np.random.default_rng(seed)
    return {"w": rng.standard_normal((INPUTS, 4 * STATE)), "r": rng.standard_normal((STATE, 4 * STATE)), "b": rng.standard_normal(4 * STATE)}


def with_weights(proto, arrays):
    for name, array in arrays.items():
        proto.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return proto


CELL = """
    gx = MatMul(xt, w)
    gh = MatMul(h, r)
    s0 = Add(gx, gh)
    s = Add(s0, b)
    si, so, sf, sc = Split<axis = 1, num_outputs = 4>(s)
    i = Sigmoid(si)
    o = Sigmoid(so)
    f = Sigmoid(sf)
    g = Tanh(sc)
    fc = Mul(f, c)
    ig = Mul(i, g)
    c1 = Add(fc, ig)
    tc = Tanh(c1)
    h1 = Mul(o, tc)"""

LSTM_LOOP = """
    m (float[t, n, 6] x, float[n, 5] h0, float[n, 5] c0) => (float[n, 5] hn, float[n, 5] cn, float[t, n, 5] y)
    { shape = Shape(x)
      zero = Constant<value_int = 0>()
      steps = Gather(shape, zero)
      hn, cn, y = Loop(steps, , h0, c0)
        <body = step (int64 k, bool go, float[n, 5] h, float[n, 5] c)
             => (bool on, float[n, 5] h1, float[n, 5] c1, float[n, 5] out)
         { on = Identity(go)
           xt = Gather(x, k)
           %s
           out = Identity(h1) }> }""" % CELL

LSTM_SCAN = """
    m (float[t, n, 6] x, float[n, 5] h0, float[n, 5] c0) => (float[n, 5] hn, float[n, 5] cn, float[t, n, 5] y)
    { hn, cn, y = Scan<num_scan_inputs = 1%s,
        body = step (float[n, 5] h, float[n, 5] c, float[n, 6] xt) => (float[n, 5] h1, float[n, 5] c1, float[n, 5] out)
         { %s
           out = Identity(h1) }>(h0, c0, x) }"""
BACKWARDS = ", scan_input_directions = [1], scan_output_directions = [1]"


def lstm(x, h, c, arrays, backwards=False):
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    out = np.zeros((*x.shape[:2], STATE))
    times = range(len(x))
    for t in reversed(times) if backwards else times:
        i, o, f, g = np.split(x[t] @ arrays["w"] + h @ arrays["r"] + arrays["b"], 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out[t] = h
    return h, c, out


@pytest.mark.parametrize("text, backwards", [(LSTM_LOOP, False), (LSTM_SCAN % ("", CELL), False), (LSTM_SCAN % (BACKWARDS, CELL), True)],
                         ids=["loop", "scan", "scan_backwards"])
def test_an_lstm_is_one_kernel(model, text, backwards):
    arrays = weights()
    proto = with_weights(model(text), arrays)
    fused = tw.emit(proto, "fused")
    assert "recurrence(" in fused and "loop(" not in fused
    module = tw.compile(proto)
    rng = np.random.default_rng(0)
    for times, batch in [(7, 3), (1, 1), (3, 1), (0, 2), (2, 0), (12, 9)]:
        x, h, c = (rng.standard_normal(s).astype(np.float32) for s in [(times, batch, INPUTS), (batch, STATE), (batch, STATE)])
        for got, right in zip(module.run([x, h, c]), lstm(x, h, c, arrays, backwards)):
            np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)


def test_products_of_inputs_are_made_for_all_times_at_once(model):
    text = tw.emit(with_weights(model(LSTM_LOOP), weights()), "te")
    before, _, step = text.partition("scan")
    assert "sum" in before and step.count("sum(") == 1


def test_carried_values_that_do_not_change_and_sums_of_the_past(model):
    """h is read as a whole, element by element, at another place, and beside what is handed on as it is."""
    module = tw.compile(model("""
        m (float[4] h0, float[4] k0, int64 steps) => (float[4] h, float[4] k, float[t, 4] y)
        { h, k, y = Loop(steps, , h0, k0)
            <body = step (int64 i, bool go, float[4] a, float[4] b) => (bool on, float[4] a1, float[4] b, float[4] out)
             { on = Identity(go)
               s = ReduceSum<keepdims = 1>(a)
               half = Constant<value_float = 0.25>()
               m = Mul(s, half)
               d = Sub(m, a)
               f = CastLike(i, a)
               g = Mul(b, f)
               a1 = Add(d, g)
               out = Neg(a) }> }"""))
    h, k = np.array([1, 2, 3, 5], np.float32), np.array([2, -1, 0.5, 3], np.float32)
    for steps in (-1, 0, 1, 6):
        want, past = h, []
        for i in range(steps):
            past.append(-want)
            want = want.sum() * 0.25 - want + k * i
        got = module.run([h, k, np.array(steps, np.int64)])
        np.testing.assert_allclose(got[0], want, rtol=1e-5)
        np.testing.assert_array_equal(got[1], k)
        np.testing.assert_allclose(got[2], np.array(past, np.float32).reshape(-1, 4), rtol=1e-5)


def test_more_iterations_than_there_are_inputs_are_an_error(model):
    text = LSTM_LOOP.replace("float[n, 5] c0)", "float[n, 5] c0, int64 more)", 1).replace("steps = Gather(shape, zero)",
                                                                                     "own = Gather(shape, zero)\n steps = Add(own, more)")
    text = text.replace("float[t, n, 5] y)", "float[u, n, 5] y)", 1)
    module = tw.compile(with_weights(model(text), weights()))
    x, state = np.zeros((3, 2, INPUTS), np.float32), np.zeros((2, STATE), np.float32)
    with pytest.raises((IndexError, ValueError)):
        module.run([x, state, state, np.array(1, np.int64)])
    assert module.run([x, state, state, np.array(-1, np.int64)])[2].shape == (2, 2, STATE)


@pytest.mark.parametrize("body", [
    "on = Less(s, limit)\n h1 = Add(h, x)",  # a condition of its own
    "on = Identity(go)\n h1 = Concat<axis = 0>(h, x)",  # a state that grows
])
def test_what_is_no_recurrence_stays_a_loop(model, body):
    text = """
        m (float[4] x, int64 steps) => (float[n] h)
        { h = Loop(steps, , x)
            <body = step (int64 i, bool go, float[k] h) => (bool on, float[l] h1)
             { limit = Constant<value_float = 20.0>()
               s = ReduceSum<keepdims = 0>(h)
               %s }> }""" % body
    assert "loop(" in tw.emit(model(text), "fused")
