# SPDX-License-Identifier: Apache-2.0
"""Networks of convolutions, whose feature maps lie in blocks of channels and whose sums may go by Winograd's way."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

ort = pytest.importorskip("onnxruntime")


def network(rng, batch, channels, size, pads, stride, kernel):
    """conv, relu, conv + shortcut, max pool, depthwise conv, conv without bias."""
    nodes, weights = [], []

    def weight(name, *shape):
        values = rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)
        weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def conv(name, x, cin, cout, k=3, p=(1, 1, 1, 1), s=1, group=1, bias=True):
        inputs = [x, weight(name + "_w", cout, cin // group, k, k)] + ([weight(name + "_b", cout)] if bias else [])
        nodes.append(helper.make_node("Conv", inputs, [name], pads=list(p), strides=[s, s], group=group))
        return name

    def node(op, inputs, name, **attributes):
        nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    a = node("Relu", [conv("c1", "x", 3, channels, p=pads)], "a")
    b = conv("c2", a, channels, channels)
    c = node("Relu", [node("Add", [b, a], "sum")], "c")
    d = conv("c3", c, channels, 2 * channels, k=kernel, p=(kernel // 2,) * 4, s=stride)
    e = node("MaxPool", [d], "e", kernel_shape=[2, 2], strides=[1, 1])
    f = conv("c4", e, 2 * channels, 2 * channels, group=2 * channels)
    g = conv("c5", node("Sigmoid", [f], "f"), 2 * channels, 24, bias=False)
    node("Concat", [g, conv("c6", f, 2 * channels, channels, k=1, p=(0,) * 4)], "y", axis=1)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, *size])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return onnx.shape_inference.infer_shapes(model)


@pytest.mark.parametrize("skip", [[], ["winograd"], ["winograd_2x2"], ["assign_layouts"]])
@pytest.mark.parametrize("batch, channels, size, pads, stride, kernel", [
    (1, 16, (16, 16), (1, 1, 1, 1), 1, 3),
    (2, 32, (13, 10), (0, 1, 2, 1), 2, 3),
    (1, 24, (9, 21), (1, 1, 1, 1), 1, 5),
    (3, 40, (6, 7), (2, 0, 0, 2), 1, 1),
    (1, 20, (8, 8), (1, 1, 1, 1), 1, 3),
    (1, 128, (7, 7), (1, 1, 1, 1), 1, 3),
])
def test_feature_maps(batch, channels, size, pads, stride, kernel, skip):
    rng = np.random.default_rng(channels)
    model = network(rng, batch, channels, size, pads, stride, kernel)
    x = rng.standard_normal((batch, 3, *size)).astype(np.float32)
    (want,) = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    got = tw.compile(model, skip=skip)(x)
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def test_what_is_left_out_must_be_there():
    model = network(np.random.default_rng(1), 1, 16, (8, 8), (1, 1, 1, 1), 1, 3)
    with pytest.raises(tw.Error, match="winogard"):
        tw.compile(model, skip=["winogard"])


def test_the_mean_of_a_window_without_elements_is_nothing():
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2], dilations=[2], pads=[1, 1], strides=[1])
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    model.ir_version = 8
    np.testing.assert_array_equal(tw.compile(model)(np.full((1, 1, 1), 3, np.float32)), np.zeros((1, 1, 1), np.float32))
