# SPDX-License-Identifier: Apache-2.0
"""tw.te: what expressions mean, by the interpreter against NumPy."""
import math

import numpy as np
import pytest

import tilewright as tw
from tilewright import te

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def run(inputs, outputs, *arrays, **symbols):
    return tw.Schedule(te.program("p", inputs, outputs)).interpret(*arrays, **symbols)


def elementwise(f, *arrays):
    """f of the elements, by the interpreter."""
    tensors = [te.placeholder(f"x{i}", a.dtype, a.shape) for i, a in enumerate(arrays)]
    return run(tensors, te.compute("y", arrays[0].shape, lambda i: f(*(t[i] for t in tensors))), *arrays)


def test_matmul_of_any_size():
    m, n, k = te.symbol("m"), te.symbol("n"), te.symbol("k")
    A, B = te.placeholder("A", "f32", (m, k)), te.placeholder("B", "f32", (k, n))
    kk = te.reduce_axis(k, "kk")
    C = te.compute("C", (m, n), lambda y, x: te.sum(A[y, kk] * B[kk, x], kk))
    for sizes in ((3, 4, 5), (1, 1, 1)):
        a, b = floats(sizes[0], sizes[2]), floats(sizes[2], sizes[1])
        np.testing.assert_allclose(run([A, B], C, a, b), a @ b, rtol=1e-5, atol=1e-6)


def test_axes_have_the_names_of_the_parameters():
    A = te.placeholder("A", "f32", (2, 3))
    text = str(te.program("p", [A], te.compute("B", (2, 3), lambda row, col: A[row, col] + 1)))
    assert "B[row in 2, col in 3]" in text
    text = str(te.program("p", [A], te.compute("B", (2, 3), lambda *at: A[at] + 1)))
    assert "B[i0 in 2, i1 in 3]" in text


def test_the_text_reads_back():
    A = te.placeholder("A", "f32", (te.symbol("n", max=64, divisor=4),))
    program = te.program("p", [A], te.compute("B", A.shape, lambda i: te.exp(A[i]) / 3))
    assert str(te.parse(str(program))) == str(program)
    assert "n in 1..64 div 4" in str(program)


def test_arithmetic_of_floats():
    x, y = floats(7), np.abs(floats(7)) + 1
    for f in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: 2 - a * 3 / b,
              lambda a, b: -a, lambda a, b: abs(a), lambda a, b: 1.5 / b):
        np.testing.assert_allclose(elementwise(f, x, y), f(x, y), rtol=1e-6)
    np.testing.assert_allclose(elementwise(lambda a, b: b ** a, x, y), y ** x, rtol=1e-5)
    np.testing.assert_allclose(elementwise(lambda a, b: 2 ** a, x, y), 2 ** x, rtol=1e-5)


def test_arithmetic_of_integers_rounds_down():
    x, y = np.array([-7, -7, 7, 7, 0, 9]), np.array([2, -2, 2, -2, 5, 4])
    for f in (lambda a, b: a // b, lambda a, b: a % b, lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b,
              lambda a, b: ~a, lambda a, b: a << 2, lambda a, b: a >> 1, lambda a, b: 20 // b, lambda a, b: 20 % b):
        np.testing.assert_array_equal(elementwise(f, x, y), f(x, y))


def test_conditions():
    x = np.arange(-4, 5)
    for f, expected in ((lambda a: (0 <= a) & (a < 3), (0 <= x) & (x < 3)), (lambda a: (a < -2) | (a == 4), (x < -2) | (x == 4)),
                        (lambda a: ~(a > 1), ~(x > 1)), (lambda a: a != 0, x != 0), (lambda a: a >= 2, x >= 2)):
        np.testing.assert_array_equal(elementwise(f, x), expected)
    np.testing.assert_array_equal(elementwise(lambda a: te.select(a > 0, a, 0), x), np.maximum(x, 0))


def test_an_expression_has_no_truth():
    n = te.symbol("n")
    with pytest.raises(TypeError, match=r"te\.select.*\(0 <= i\) & \(i < n\)"):
        0 <= n < 3
    with pytest.raises(TypeError, match="only when the program runs"):
        max(n, 3)
    A = te.placeholder("A", "f32", (3,))
    with pytest.raises(TypeError, match="only when the program runs"):
        bool(A == 0)


def test_the_wrong_division_is_refused():
    A, I = te.placeholder("A", "f32", (3,)), te.placeholder("I", "i32", (3,))
    with pytest.raises(TypeError, match="//"):
        I[0] / 2
    with pytest.raises(TypeError, match="te.floor"):
        A[0] // 2
    with pytest.raises(TypeError, match="te.fmod"):
        A[0] % 2


def test_types_do_not_mix():
    A, D = te.placeholder("A", "f32", (3,)), te.placeholder("D", np.float64, (3,))
    with pytest.raises(tw.Error, match="cast") as e:
        A[0] + D[0]
    assert e.value.code == "te.type.operands"
    assert (te.cast("f64", A[0]) + D[0]).dtype == "f64"


def test_dtypes_by_every_name():
    for dtype in ("i8", "int8", np.int8, np.dtype("int8")):
        assert te.placeholder("A", dtype, (1,)).dtype == "i8"
    with pytest.raises(TypeError, match="no element type 'f4'"):
        te.placeholder("A", "f4", (1,))


def test_functions():
    x = floats(9) * 0.9
    x = np.clip(x, -0.99, 0.99)
    for name in ("exp", "exp2", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh",
                 "floor", "ceil", "trunc", "log1p"):
        other = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "atanh": "arctanh"}.get(name, name)
        got = elementwise(getattr(te, name), x)
        np.testing.assert_allclose(got, getattr(np, other)(x), rtol=2e-6, atol=1e-7, err_msg=name)
    np.testing.assert_allclose(elementwise(lambda a: te.sqrt(abs(a)), x), np.sqrt(np.abs(x)), rtol=1e-6)
    np.testing.assert_allclose(elementwise(lambda a: te.max(a, 0.25), x), np.maximum(x, 0.25))
    np.testing.assert_allclose(elementwise(lambda a, b: te.atan2(a, b), x, x + 3), np.arctan2(x, x + 3), rtol=1e-6)


def test_padding_reads_inside_only():
    A = te.placeholder("A", "f32", (4,))
    B = te.compute("B", (6,), lambda i: te.guard((1 <= i) & (i < 5), A[i - 1], 0))
    a = floats(4)
    np.testing.assert_array_equal(run([A], B, a), np.pad(a, 1))


def test_gather_by_another_tensor():
    A, I = te.placeholder("A", "f32", (5, 2)), te.placeholder("I", "i32", (3,))
    B = te.compute("B", (3, 2), lambda i, j: A[te.cast("i64", I[i]), j])
    a, i = floats(5, 2), np.array([4, 0, 4], np.int32)
    np.testing.assert_array_equal(run([A, I], B, a, i), a[i])


def test_reductions():
    x = floats(4, 6)
    X = te.placeholder("X", "f32", (4, 6))
    k = te.reduce_axis(6, "k")
    for reduction, expected in ((te.sum, x.sum(1)), (te.prod, x.prod(1)), (te.max_over, x.max(1)), (te.min_over, x.min(1))):
        np.testing.assert_allclose(run([X], te.compute("R", (4,), lambda i: reduction(X[i, k], k)), x), expected, rtol=1e-5)
    np.testing.assert_array_equal(run([X], te.compute("R", (4,), lambda i: te.any(X[i, k] > 1, k)), x), (x > 1).any(1))
    np.testing.assert_array_equal(run([X], te.compute("R", (4,), lambda i: te.all(X[i, k] < 1, k)), x), (x < 1).all(1))
    j = te.reduce_axis(4, "j")
    np.testing.assert_allclose(run([X], te.compute("R", (), lambda: te.sum(X[j, k], [j, k])), x), x.sum(), rtol=1e-5)


def test_argmax_gives_index_and_value():
    x = floats(5, 7)
    X, k = te.placeholder("X", "f32", x.shape), te.reduce_axis(7)
    at, value = run([X], te.compute(["at", "value"], (5,), lambda i: te.argmax(X[i, k], k)), x)
    np.testing.assert_array_equal(at, x.argmax(1))
    np.testing.assert_array_equal(value, x.max(1))
    np.testing.assert_array_equal(run([X], te.compute("at", (5,), lambda i: te.argmin(X[i, k], k)[0]), x), x.argmin(1))


def test_reducers_of_ones_own():
    x = floats(3, 8)
    X, k = te.placeholder("X", "f32", x.shape), te.reduce_axis(8)
    logsumexp = te.reducer("logsumexp", ("f32", "f32"),
                           lambda a, b: (te.max(a[0], b[0]),
                                         a[1] * te.exp(a[0] - te.max(a[0], b[0])) + b[1] * te.exp(b[0] - te.max(a[0], b[0]))),
                           (-3e38, 0.0))
    top, total = run([X], te.compute(["top", "total"], (3,), lambda i: te.reduce(logsumexp, (X[i, k], 1.0), k)), x)
    np.testing.assert_allclose(top + np.log(total), np.log(np.exp(x).sum(1)), rtol=1e-5)
    largest = te.reducer("largest", "f32", lambda a, b: te.select(abs(a) > abs(b), a, b), 0.0)
    got = run([X], te.compute("L", (3,), lambda i: te.reduce(largest, X[i, k], k)), x)
    np.testing.assert_array_equal(np.abs(got), np.abs(x).max(1))


def test_scan():
    x, u = floats(5, 3), floats(3, 3)
    T = te.symbol("T")
    X, U, H0 = te.placeholder("X", "f32", (T, 3)), te.placeholder("U", "f32", (3, 3)), te.placeholder("H0", "f32", (3,))
    j = te.reduce_axis(3, "j")

    def step(t, prev):
        r = te.compute("r", (3,), lambda i: te.sum(U[i, j] * prev[j], j))
        return te.compute("next", (3,), lambda i: te.tanh(X[t, i] + r[i]))
    H = te.scan("H", T, H0, step)
    h, expected = np.zeros(3, np.float32), []
    for row in x:
        h = np.tanh(row + u @ h)
        expected.append(h)
    np.testing.assert_allclose(run([X, U, H0], H, x, u, np.zeros(3, np.float32)), expected, rtol=1e-4, atol=1e-5)


def test_scan_of_two_states():
    X = te.placeholder("X", "i64", (6,))
    Z = te.placeholder("Z", "i64", ())
    total, greatest = te.scan(["total", "greatest"], 6, (Z, Z), lambda t, prev: (
        te.compute("s", (), lambda: prev[0][()] + X[t]), te.compute("g", (), lambda: te.max(prev[1][()], X[t]))))
    x = np.array([3, 1, 4, 1, 5, 2])
    a, b = run([X, Z], [total, greatest], x, np.array(0))
    np.testing.assert_array_equal(a, np.cumsum(x))
    np.testing.assert_array_equal(b, np.maximum.accumulate(x))


def test_whole_tensors_broadcast():
    x = floats(4, 6)
    X, b = te.placeholder("X", "f32", (4, 6)), te.placeholder("b", "f32", (6,))
    e = te.exp(X - te.max_over(X, 1))
    got = run([X, b], e / te.sum(e, -1) + b * 2, x, np.ones(6, np.float32))
    expected = np.exp(x) / np.exp(x).sum(1, keepdims=True) + 2
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    with pytest.raises(tw.Error, match="shapes that do not fit"):
        X + te.placeholder("c", "f32", (5,))
    with pytest.raises(TypeError):
        iter(X)


def test_wrong_programs_are_named():
    A = te.placeholder("A", "f32", (3, 4))
    with pytest.raises(tw.Error, match="`A`"):
        A[0]
    with pytest.raises(tw.Error, match="`B` has 2 dimensions, its function takes 1"):
        te.compute("B", (3, 4), lambda i: A[i, 0])
    with pytest.raises(tw.Error, match="no input of `p`"):
        te.program("p", [], te.compute("B", (3,), lambda i: A[i, 0]))
    with pytest.raises(ZeroDivisionError):  # the user's own mistakes come through
        te.compute("B", (3,), lambda i: A[i, 1 // 0])


def test_symbols_that_no_input_has():
    n = te.symbol("n")
    program = te.program("iota", [], te.compute("I", (n,), lambda i: i), symbols=[n])
    np.testing.assert_array_equal(tw.Schedule(program).interpret(n=4), range(4))
    with pytest.raises(ValueError, match="give it by name, n="):
        tw.Schedule(program).interpret()


def test_infinities_and_rationals():
    x = floats(3)
    np.testing.assert_array_equal(elementwise(lambda a: te.max(a, -math.inf), x), x)
    np.testing.assert_allclose(elementwise(lambda a: a * te.rational(1, 6), x), x / 6, rtol=1e-6)


def test_a_wrong_kind_of_argument_is_named(tmp_path):
    i = te.reduce_axis(4, "i")
    A = te.placeholder("A", "f32", (4,))
    wrong = {
        "an extent of `B`": lambda: te.placeholder("B", "f32", ("a",)),
        "the shape of 'B' is 5": lambda: te.placeholder("B", "f32", 5),
        "an extent of the shape": lambda: te.compute("B", ("a", 4), lambda i, j: 1.0),
        "the shape of 'B' is 'ab'": lambda: te.compute("B", "ab", lambda i, j: 1.0),
        "the function of 'B' is 5": lambda: te.compute("B", (4,), 5),
        "te.placeholder was given int 5": lambda: te.placeholder(5, "f32", (4,)),
        "te.symbol was given": lambda: te.symbol(5),
        "te.reduce_axis was given str 'a'": lambda: te.reduce_axis("a"),
        "te.exp was given str 'x'": lambda: te.exp("x"),
        "te.sin was given list": lambda: te.compute("B", (4,), lambda i: te.sin([i])),
        "no element type 5": lambda: te.placeholder("B", 5, (4,)),
        "`inputs` is 5": lambda: te.program("p", 5, A),
        "te.program was given": lambda: te.program("p", [5], A),
        "what the function gives": lambda: te.compute("B", (4,), lambda i: "x"),
        "an index of `A`": lambda: A["x"],
        "what is reduced over": lambda: te.sum(A[i], 5),
        "a tensor": lambda: te.program("p", [A], "x"),
        "the program": lambda: tw.Schedule(5),
        "the meaning": lambda: tw.instruction(5),
    }
    for words, call in wrong.items():
        with pytest.raises(tw.Error, match=words) as e:
            call()
        assert isinstance(e.value, TypeError) and isinstance(e.value, tw.ArgumentError) and e.value.help, words
