# SPDX-License-Identifier: Apache-2.0
"""tw.register_op: operators that users add."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
from tilewright import te

X = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)


def model(nodes, inputs, outputs, **initializers):
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs.items()]
    graph = helper.make_graph(nodes, "g", info, [helper.make_empty_tensor_value_info(n) for n in outputs],
                              [numpy_helper.from_array(v, k) for k, v in initializers.items()])
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("my.ops", 1)])


def node(op, inputs, outputs=("y",), **attributes):
    return helper.make_node(op, list(inputs), list(outputs), domain="my.ops", name=f"the_{op}", **attributes)


def test_an_unknown_operator_names_the_remedy():
    with pytest.raises(tw.Error, match="NeverRegistered") as e:
        tw.compile(model([node("NeverRegistered", ["x"])], {"x": ("n", 4)}, ["y"]))
    assert "tw.register_op(domain, name, te=" in e.value.help


def test_inputs_attributes_and_symbolic_shapes():
    def scaled_relu(x, bias=None, *, alpha=1.0):
        y = te.max(x, 0.0) * alpha
        return y if bias is None else y + bias
    tw.register_op("my.ops", "ScaledRelu", te=scaled_relu)
    b = np.arange(4, dtype=np.float32)
    source = model([node("ScaledRelu", ["x"], ["h"], alpha=0.5), node("ScaledRelu", ["h", "b"])], {"x": ("n", 4)}, ["y"], b=b)
    module = tw.compile(source)
    assert module.outputs == [("y", "f32", ("n", 4))]
    for x in (X, X[:1], X[:0]):
        np.testing.assert_allclose(module(x), np.maximum(np.maximum(x, 0) * 0.5, 0) + b, rtol=1e-6)
    np.testing.assert_allclose(tw.reference(source, [X])[0], module(X), rtol=1e-6)


def test_shapes_follow_from_the_definition():
    def outer(x, y):
        return te.compute("outer", (x.shape[0] + 1, y.shape[0]),
                          lambda i, j: te.guard(i < x.shape[0], x[i], 0.0) * y[j])
    tw.register_op("my.ops", "Outer", te=outer)
    module = tw.compile(model([node("Outer", ["x", "w"])], {"x": ("n",), "w": ("m",)}, ["y"]))
    x, w = X[0], X[:, 0]
    got = module(x, w)
    assert got.shape == (5, 5)
    np.testing.assert_allclose(got, np.outer(np.append(x, 0), w), rtol=1e-6)
    assert module.outputs[0][2][1] == "m"


def test_several_results_and_a_left_out_input():
    def stats(x, unused, scale):
        assert unused is None
        k = te.reduce_axis(x.shape[1], "k")
        total = te.compute("total", (x.shape[0],), lambda i: te.sum(x[i, k] * scale[()], k))
        return total, te.compute("top", (x.shape[0],), lambda i: te.argmax(x[i, k], k)[0])
    tw.register_op("my.ops", "Stats", te=stats)
    total, top = tw.compile(model([node("Stats", ["x", "", "s"], ["a", "b"])], {"x": ("n", 4), "s": ()}, ["a", "b"])).run(
        [X, np.array(2, np.float32)])
    np.testing.assert_allclose(total, X.sum(1) * 2, rtol=1e-5)
    np.testing.assert_array_equal(top, X.argmax(1))


def test_every_kind_of_attribute():
    seen = {}

    def probe(x, **attributes):
        seen.update(attributes)
        return x * 1.0
    tw.register_op("my.ops", "Probe", te=probe)
    tensor = np.array([[1, 2], [3, 4]], np.int16)
    attributes = {"i": 3, "f": 0.5, "s": "word", "ints": [1, 2], "floats": [0.5, 1.5], "strings": ["a", "b"], "t": numpy_helper.from_array(tensor)}
    np.testing.assert_array_equal(tw.compile(model([node("Probe", ["x"], **attributes)], {"x": (5, 4)}, ["y"]))(X), X)
    np.testing.assert_array_equal(seen.pop("t"), tensor)
    assert seen == {k: v for k, v in attributes.items() if k != "t"}


def test_two_operators_with_equal_nodes_stay_apart():
    tw.register_op("my.ops", "Plus", te=lambda x, *, by: x + by)
    tw.register_op("my.ops", "Times", te=lambda x, *, by: x * by)
    nodes = [node("Plus", ["x"], ["a"], by=3.0), node("Times", ["x"], ["b"], by=3.0), node("Times", ["x"], ["c"], by=4.0)]
    a, b, c = tw.compile(model(nodes, {"x": (5, 4)}, ["a", "b", "c"])).run([X])
    np.testing.assert_array_equal(a, X + 3)
    np.testing.assert_array_equal(b, X * 3)
    np.testing.assert_array_equal(c, X * 4)


def test_a_new_definition_replaces_the_old_one():
    source = model([node("Changing", ["x"])], {"x": (5, 4)}, ["y"])
    tw.register_op("my.ops", "Changing", te=lambda x: x + 1.0)
    first = tw.compile(source)
    tw.register_op("my.ops", "Changing", te=lambda x: x + 2.0)
    np.testing.assert_array_equal(tw.compile(source)(X), X + 2)
    np.testing.assert_array_equal(first(X), X + 1)


def test_injective_operators_join_their_neighbours():
    tw.register_op("my.ops", "Swish", te=lambda x: x / (te.exp(-x) + 1.0), injective=True)
    nodes = [helper.make_node("Mul", ["x", "x"], ["h"]), node("Swish", ["h"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    source = model(nodes, {"x": ("n", 4)}, ["y"])
    h = X * X
    np.testing.assert_allclose(tw.compile(source)(X), h / (1 + np.exp(-h)), rtol=1e-5)
    assert tw.emit(source, "loops").count("loops k") == 1
    tw.register_op("my.ops", "FalseSwish", te=lambda x: te.sum(x, 1), injective=True)
    with pytest.raises(tw.Error, match="injective"):
        tw.compile(model([node("FalseSwish", ["x"])], {"x": ("n", 4)}, ["y"]))


def dot(x, w):
    k = te.reduce_axis(x.shape[1], "k")
    return te.compute("dot", (x.shape[0], w.shape[1]), lambda i, j: te.sum(x[i, k] * w[k, j], k))


def test_reads_outside_are_caught():
    tw.register_op("my.ops", "Dot", te=dot)
    with pytest.raises(tw.Error, match="reads 4 elements of `in1` along dimension 0, which has 3"):
        tw.compile(model([node("Dot", ["x", "w"])], {"x": (5, 4), "w": (3, 2)}, ["y"]))
    module = tw.compile(model([node("Dot", ["x", "w"])], {"x": (5, "k"), "w": ("l", 2)}, ["y"]))
    np.testing.assert_allclose(module(X, X[:4, :2]), X @ X[:4, :2], rtol=1e-5)
    with pytest.raises(ValueError, match="`dot` reads"):
        module(X, X[:3, :2])


def test_mistakes_of_a_definition_name_operator_and_node():
    def broken(x):
        return 1 / 0
    tw.register_op("my.ops", "Broken", te=broken)
    with pytest.raises(tw.Error, match="my.ops::Broken.*ZeroDivisionError") as e:
        tw.compile(model([node("Broken", ["x"])], {"x": (5, 4)}, ["y"]))
    assert isinstance(e.value.__cause__, ZeroDivisionError)
    assert "the_Broken" in e.value.notes[0] and e.value.code == "ops.custom.definition"
    tw.register_op("my.ops", "Number", te=lambda x: 3)
    with pytest.raises(tw.Error, match="gave a int"):
        tw.compile(model([node("Number", ["x"])], {"x": (5, 4)}, ["y"]))
    tw.register_op("my.ops", "NoAttributes", te=lambda x: x)
    with pytest.raises(tw.Error, match="unexpected keyword argument 'alpha'"):
        tw.compile(model([node("NoAttributes", ["x"], alpha=1.0)], {"x": (5, 4)}, ["y"]))


def test_own_operators_cannot_be_replaced():
    with pytest.raises(tw.Error, match="domain of your own"):
        tw.register_op("", "Conv", te=lambda x, w: x)


def test_the_text_names_the_operator():
    tw.register_op("my.ops", "Plus", te=lambda x, *, by: x + by)
    text = tw.emit(model([node("Plus", ["x"], by=3.0)], {"x": (5, 4)}, ["y"]), "graph")
    assert 'operator = "my.ops::Plus", by = 3' in text
