# SPDX-License-Identifier: Apache-2.0
"""Quantised models as exporters write them, against ONNX Runtime."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

ort = pytest.importorskip("onnxruntime")
KINDS = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8, np.float32: TensorProto.FLOAT}


class Net:
    """Nodes and constants as they come."""

    def __init__(self, seed=0):
        self.rng, self.nodes, self.constants = np.random.default_rng(seed), [], []

    def constant(self, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values), f"k{len(self.constants)}"))
        return self.constants[-1].name

    def __call__(self, op, *inputs, outputs=1, domain="", **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def bytes(self, kind, *shape):
        info = np.iinfo(kind)
        return self.constant(self.rng.integers(info.min, info.max + 1, shape).astype(kind))

    def quantised(self, x, scale, zero):
        steps = self.constant(np.float32(scale)), self.constant(zero)
        return self("DequantizeLinear", self("QuantizeLinear", x, *steps), *steps)

    def conv(self, x, cin, cout, k=3, kind=np.int8, zero=0, **attributes):
        """Weights with a scale and a zero point for each channel."""
        scale = self.constant(self.rng.uniform(0.001, 0.003, cout).astype(np.float32))
        weights = self("DequantizeLinear", self.bytes(kind, cout, cin // attributes.get("group", 1), k, k), scale,
                       self.constant(np.full(cout, zero, kind)), axis=0)
        bias = self.constant(self.rng.standard_normal(cout).astype(np.float32))
        return self("Conv", x, weights, bias, pads=[k // 2] * 4, **attributes)

    def model(self, inputs, outputs):
        """`inputs` are (name, kind, shape)."""
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info(n, KINDS[k], s) for n, k, s in inputs],
                                  [helper.make_empty_tensor_value_info(o) for o in outputs], self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def both(model, tmp_path, inputs):
    """Our results, and those of ONNX Runtime as the operators are written: its optimiser rounds elsewhere."""
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return tw.compile(path).run(inputs), session.run(None, inputs)


def expect_steps(ours, theirs, share=0.01):
    """Sums lie within a rounding of the middle between two steps now and then: that becomes the other step."""
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    apart = np.abs(ours.astype(np.int32) - theirs.astype(np.int32))
    assert apart.max(initial=0) <= 1
    assert np.mean(apart > 0) <= share


@pytest.mark.parametrize("kind, zero", [(np.int8, 0), (np.int8, 7), (np.uint8, 128), (np.uint8, 90)])
@pytest.mark.parametrize("channels", [3, 6, 16])
def test_convolutions_of_any_zero_point_and_channels(kind, zero, channels, tmp_path):
    for activation, middle in (np.uint8, 119), (np.int8, -5):
        net = Net()
        steps = net.constant(np.float32(0.02)), net.constant(activation(middle))
        y = net.conv(net("DequantizeLinear", "x", *steps), channels, 24, kind=kind, zero=zero, strides=[2, 1])
        out = net("QuantizeLinear", y, net.constant(np.float32(0.05)), steps[1])
        x = net.rng.integers(np.iinfo(activation).min, np.iinfo(activation).max + 1, (1, channels, 13, 11)).astype(activation)
        ours, theirs = both(net.model([("x", activation, x.shape)], [out]), tmp_path, {"x": x})
        expect_steps(ours[0], theirs[0])


@pytest.mark.parametrize("terms", [5, 8, 650])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_integer_products_are_exact(terms, kind, tmp_path):
    net = Net()
    zeros = net.constant(net.rng.integers(0, 100, 20).astype(kind))
    out = net("MatMulInteger", "a", net.bytes(kind, terms, 20), "z", zeros)
    a = net.rng.integers(0, 256, (7, terms)).astype(np.uint8)
    model = net.model([("a", np.uint8, ["rows", terms]), ("z", np.uint8, [])], [out])
    ours, theirs = both(model, tmp_path, {"a": a, "z": np.array(131, np.uint8)})
    np.testing.assert_array_equal(ours[0], theirs[0])


def test_one_operand_tells_the_number_of_terms_for_both(tmp_path):
    net = Net()
    out = net("MatMulInteger", "a", net.bytes(np.int8, 5, 20), "z")
    a = net.rng.integers(0, 256, (7, 5)).astype(np.uint8)
    model = net.model([("a", np.uint8, ["rows", "terms"]), ("z", np.uint8, [])], [out])
    ours, theirs = both(model, tmp_path, {"a": a, "z": np.array(131, np.uint8)})
    np.testing.assert_array_equal(ours[0], theirs[0])


@pytest.mark.parametrize("channels, group", [(3, 1), (16, 1), (16, 4), (6, 6)])
def test_integer_convolutions_are_exact(channels, group, tmp_path):
    net = Net()
    zero = net.constant(np.uint8(140))
    out = net("ConvInteger", "x", net.bytes(np.uint8, 12, channels // group, 3, 2), "z", zero, group=group, pads=[1, 0, 1, 1])
    x = net.rng.integers(0, 256, (2, channels, 9, 10)).astype(np.uint8)
    model = net.model([("x", np.uint8, [2, channels, 9, "width"]), ("z", np.uint8, [])], [out])
    ours, theirs = both(model, tmp_path, {"x": x, "z": np.array(77, np.uint8)})
    np.testing.assert_array_equal(ours[0], theirs[0])


def test_branches_stay_integers(tmp_path):
    """Branches of different steps, joined, pooled, resized and reshaped."""
    net = Net()
    x = net.quantised("x", 0.03, np.uint8(120))
    a = net.quantised(net("Relu", net.conv(x, 4, 16)), 0.02, np.uint8(0))
    b = net.quantised(net.conv(x, 4, 32, k=1), 0.015, np.uint8(100))
    whole = net.quantised(net("Concat", a, b, axis=1), 0.02, np.uint8(60))
    pooled = net.quantised(net("MaxPool", whole, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 0.02, np.uint8(60))
    large = net("Resize", pooled, "", net.constant(np.float32([1, 1, 2, 2])), mode="nearest")
    large = net.quantised(large, 0.02, np.uint8(60))
    flat = net("Reshape", large, net.constant(np.int64([1, 48, 64])))
    steps = net.constant(np.float32(0.02)), net.constant(np.uint8(60))
    out = net("QuantizeLinear", net("Transpose", flat, perm=[0, 2, 1]), *steps)
    x = net.rng.standard_normal((1, 4, 8, 8)).astype(np.float32)
    ours, theirs = both(net.model([("x", np.float32, x.shape)], [out]), tmp_path, {"x": x})
    expect_steps(ours[0], theirs[0])


def test_dynamic_quantisation_with_a_free_size(tmp_path):
    net = Net()
    q, scale, zero = net("DynamicQuantizeLinear", "x", outputs=3)
    y = net("MatMulInteger", q, net.bytes(np.uint8, 30, 48), zero, net.constant(np.uint8(117)))
    out = net("Mul", net("Cast", y, to=TensorProto.FLOAT), net("Mul", scale, net.constant(np.float32(0.01))))
    model = net.model([("x", np.float32, ["rows", 30])], [out])
    for rows in 1, 5, 33:
        x = net.rng.standard_normal((rows, 30)).astype(np.float32)
        ours, theirs = both(model, tmp_path, {"x": x})
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind, zero", [(np.int8, 0), (np.uint8, 131)])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_lstm_quantises_its_state_at_every_step(kind, zero, direction, tmp_path):
    for hidden, each_column in (16, False), (22, True):
        net, both_ways = Net(), 2 if direction == "bidirectional" else 1
        shape = (both_ways, 4 * hidden) if each_column else (both_ways,)
        inputs = ["x"]
        for rows in 12, hidden:
            inputs.append(net.bytes(kind, both_ways, rows, 4 * hidden))
        inputs += [net.constant(net.rng.standard_normal((both_ways, 8 * hidden)).astype(np.float32) * 0.1), "", "", "", ""]
        for _ in range(2):
            middle = 128 if kind == np.uint8 else 0
            inputs += [net.constant(net.rng.uniform(0.002, 0.004, shape).astype(np.float32)),
                       net.constant(np.full(shape, zero, kind))]
        out = net("DynamicQuantizeLSTM", *inputs, outputs=3, domain="com.microsoft", hidden_size=hidden, direction=direction)
        x = net.rng.standard_normal((9, 1, 12)).astype(np.float32)
        ours, theirs = both(net.model([("x", np.float32, x.shape)], out), tmp_path, {"x": x})
        for a, b in zip(ours, theirs):
            np.testing.assert_allclose(a, b, atol=1e-4)


def test_means_are_rounded_as_their_integers_are(tmp_path):
    """The mean of four steps lies in the middle of two often: it becomes the even one, whatever floats make of it."""
    net = Net()
    steps = net.constant(np.float32(0.07)), net.constant(np.uint8(30))
    out = net("QLinearAveragePool", "x", *steps, *steps, domain="com.microsoft", kernel_shape=[2, 2], strides=[2, 2])
    x = net.rng.integers(0, 256, (1, 5, 12, 12)).astype(np.uint8)
    ours, theirs = both(net.model([("x", np.uint8, x.shape)], [out]), tmp_path, {"x": x})
    sums = (x.astype(np.int64) - 30).reshape(1, 5, 6, 2, 6, 2).sum((3, 5))
    np.testing.assert_array_equal(ours[0], np.clip(np.rint(sums / 4) + 30, 0, 255))
    expect_steps(ours[0], theirs[0], share=0.25)


@pytest.mark.parametrize("domain_op", ["QLinearMatMul", "MatMulIntegerToFloat", "QLinearAdd", "QLinearConcat"])
def test_operators_on_quantised_tensors(domain_op, tmp_path):
    net = Net()
    a, b, y = ((net.constant(np.float32(s)), net.constant(np.uint8(z))) for s, z in ((0.02, 120), (0.03, 99), (0.1, 70)))
    inputs = [("p", np.uint8, ["rows", 10])]
    if domain_op == "QLinearMatMul":
        out = net(domain_op, "p", *a, net.bytes(np.uint8, 10, 24), *b, *y)
    elif domain_op == "MatMulIntegerToFloat":
        out = net(domain_op, "p", net.bytes(np.uint8, 10, 24), a[0], b[0], a[1], b[1], domain="com.microsoft")
    else:
        inputs.append(("q", np.uint8, ["rows", 10]))
        given = ["p", *a, "q", *b, *y] if domain_op == "QLinearAdd" else [*y, "p", *a, "q", *b]
        out = net(domain_op, *given, domain="com.microsoft", **({"axis": 1} if domain_op == "QLinearConcat" else {}))
    arrays = {n: net.rng.integers(0, 256, (7, 10)).astype(np.uint8) for n, _, _ in inputs}
    ours, theirs = both(net.model(inputs, [out]), tmp_path, arrays)
    if domain_op == "MatMulIntegerToFloat":
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-5)
    else:
        expect_steps(ours[0], theirs[0], share=0.05)


@pytest.mark.parametrize("stride, kernel, channels", [(1, 3, 16), (2, 3, 32), (2, 1, 16), (2, 3, 3)])
def test_convolutions_of_free_sizes(stride, kernel, channels, tmp_path):
    net = Net()
    x = net.quantised(net("Relu", net.conv(net.quantised("x", 0.03, np.uint8(120)), 3, channels)), 0.02, np.uint8(0))
    steps = net.constant(np.float32(0.05)), net.constant(np.uint8(100))
    y = net("QuantizeLinear", net.conv(x, channels, 32, k=kernel, strides=[stride, stride]), *steps)
    out = net("MaxPool", net("DequantizeLinear", y, *steps), kernel_shape=[2, 2])
    model = net.model([("x", np.float32, ["n", 3, "h", "w"])], [out])
    for n, h, w in (1, 9, 7), (2, 16, 33):
        x = net.rng.standard_normal((n, 3, h, w)).astype(np.float32)
        ours, theirs = both(model, tmp_path, {"x": x})
        assert np.abs(ours[0] - theirs[0]).max() <= 0.051
        assert np.mean(ours[0] != theirs[0]) <= 0.02
