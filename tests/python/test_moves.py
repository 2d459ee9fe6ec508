# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels of operators that move elements or search for them, with sizes that vectors do not divide."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

RNG = np.random.default_rng(3)
SHAPES = [(1, 1), (3, 7), (5, 33), (2, 130)]


def noise(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def compiled(nodes, inputs, constants=(), outputs=("y",), dims=None, names=None):
    """A module for these inputs; `names` gives dimensions that get their sizes in the run."""
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), (names or {}).get(k, v.shape))
             for k, v in inputs.items()]
    weights = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_empty_tensor_value_info(o) for o in outputs], weights)
    return tw.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), dims=dims)


def node(op, inputs, outputs=("y",), **attrs):
    return helper.make_node(op, inputs, outputs, **attrs)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("count", [2, 5, 70])
def test_concat_of_many(count, axis):
    inputs = {f"x{i}": noise(*((i % 4 + 1, 33) if axis == 0 else (9, i % 5 * 11 + 1))) for i in range(count)}
    nodes = [node("Neg" if i % 3 else "Abs", [x], [f"b{i}"]) for i, x in enumerate(inputs)]
    nodes += [node("Concat", [f"b{i}" for i in range(count)], ["c"], axis=axis), node("Relu", ["c"])]
    y, = compiled(nodes, inputs).run(inputs)
    expected = np.concatenate([-v if i % 3 else np.abs(v) for i, v in enumerate(inputs.values())], axis)
    np.testing.assert_array_equal(y, np.maximum(expected, 0))


@pytest.mark.parametrize("axis", [0, 1])
def test_concat_of_sizes_of_the_run(axis):
    names = {"a": ("n", "m"), "b": ("k", "m") if axis == 0 else ("n", "k"), "c": ("n", "m")}
    first = {"a": noise(2, 3), "b": noise(2, 3), "c": noise(2, 3)}
    module = compiled([node("Concat", ["a", "b", "c"], axis=axis)], first, names=names,
                      dims={"n": (1, 40), "m": (1, 40), "k": (1, 40)})
    for n, m, k in [(1, 1, 1), (4, 17, 9), (40, 40, 3)]:
        inputs = {"a": noise(n, m), "b": noise(*((k, m) if axis == 0 else (n, k))), "c": noise(n, m)}
        y, = module.run(inputs)
        np.testing.assert_array_equal(y, np.concatenate(list(inputs.values()), axis))


@pytest.mark.parametrize("op, numpy_op", [("ArgMax", np.argmax), ("ArgMin", np.argmin)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8])
@pytest.mark.parametrize("shape", [(1, 16), (5, 33), (3, 1000), (1, 70001)])
def test_arg(op, numpy_op, dtype, shape):
    x = RNG.integers(-50, 50, shape).astype(dtype)
    for attrs in ({"keepdims": 0}, {"keepdims": 1}):
        y, = compiled([node(op, ["x"], axis=1, **attrs)], {"x": x}).run({"x": x})
        np.testing.assert_array_equal(y.reshape(-1), numpy_op(x, 1))
    y, = compiled([node(op, ["x"], axis=1, keepdims=0, select_last_index=1)], {"x": x}).run({"x": x})
    np.testing.assert_array_equal(y, shape[1] - 1 - numpy_op(x[:, ::-1], 1))


def test_arg_of_sizes_of_the_run():
    module = compiled([node("Abs", ["x"], ["a"]), node("ArgMax", ["a"], axis=1, keepdims=0)], {"x": noise(1, 1)},
                      names={"x": ("n", "m")})
    for shape in SHAPES:
        x = noise(*shape)
        x[0, -1] = np.nan
        np.testing.assert_array_equal(module.run({"x": x})[0], np.argmax(np.abs(x), 1))


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap", "constant"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_pad(mode, symbolic):
    by = np.array([0, 2, 3, 0, 1, 4])
    constants = {"by": by}
    nodes = [node("Pad", ["x", "by"], ["p"], mode=mode), node("Neg", ["p"])]
    for h, w in [(4, 5), (9, 33), (17, 64)]:
        inputs = {"x": noise(2, h, w)}
        module = compiled(nodes, inputs, constants, names={"x": (2, "h", "w")} if symbolic else None,
                          dims={"h": (1, 64), "w": (1, 64)} if symbolic else None)
        y, = module.run(inputs)
        np.testing.assert_array_equal(y, -np.pad(inputs["x"], list(zip(by[:3], by[3:])), mode=mode))


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_tile(shape, symbolic):
    inputs = {"x": noise(*shape)}
    module = compiled([node("Tile", ["x", "times"], ["t"]), node("Neg", ["t"])], inputs, {"times": np.array([3, 4])},
                      names={"x": ("h", "w")} if symbolic else None)
    np.testing.assert_array_equal(module.run(inputs)[0], -np.tile(inputs["x"], (3, 4)))


@pytest.mark.parametrize("width", [1, 5, 64, 100])
@pytest.mark.parametrize("reduction", ["none", "add"])
def test_scatter_nd(width, reduction):
    x, u = noise(9, width), noise(6, width)
    places = np.array([[3], [-1], [3], [0], [7], [3]])
    y, = compiled([node("ScatterND", ["x", "i", "u"], reduction=reduction)], {"x": x, "i": places, "u": u}).run([x, places, u])
    expected = x.copy()
    for i, row in zip(places[:, 0], u):
        expected[i] = row if reduction == "none" else expected[i] + row
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("n, k", [(1, 1), (100, 3), (1000, 5), (1000, 200), (777, 777), (4096, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_top_k(n, k, axis, largest):
    x = RNG.integers(-100, 100, (3, n)).astype(np.float32)
    x[1, n // 2] = -0.0
    x = x if axis == 1 else np.ascontiguousarray(x.T)
    y, i = compiled([node("TopK", ["x", "k"], ["y", "i"], axis=axis, largest=largest)], {"x": x}, {"k": np.array([k])},
                    ("y", "i")).run([x])
    order = np.argsort(-x if largest else x, axis, kind="stable")
    np.testing.assert_array_equal(i, np.take(order, range(k), axis))
    np.testing.assert_array_equal(y, np.take_along_axis(x, np.asarray(i), axis))


@pytest.mark.parametrize("shape", [(3, 1000), (1, 70001)])
def test_arg_of_what_is_computed(shape):
    """What is computed twice may be rounded in two ways, so that nothing equals the extreme."""
    a, b, c = noise(*shape), noise(*shape), noise(*shape)
    nodes = [node("Mul", ["a", "b"], ["p"]), node("Add", ["p", "c"], ["s"]), node("Exp", ["s"], ["e"]), node("Mul", ["e", "a"], ["x"]),
             node("ArgMax", ["x"], ["i"], axis=1, keepdims=0), node("ArgMin", ["s"], ["j"], axis=1, keepdims=0)]
    i, j = compiled(nodes, {"a": a, "b": b, "c": c}, outputs=("i", "j")).run([a, b, c])
    np.testing.assert_array_equal(j, np.argmin(a * b + c, 1))
    np.testing.assert_array_equal(i, np.argmax(np.exp(a * b + c) * a, 1))
