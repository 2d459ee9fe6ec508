# SPDX-License-Identifier: Apache-2.0
"""Concat and Split whose parts lie in place: the numbers are those of copying."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

ort = pytest.importorskip("onnxruntime")


class Net:
    def __init__(self):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(1)

    def __call__(self, op, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, cin, cout, k=3):
        weight = f"w{len(self.weights)}"
        values = self.rng.standard_normal((cout, cin, k, k)) / np.sqrt(cin * k * k)
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), weight))
        return self("Relu", self("Conv", x, weight, pads=[k // 2] * 4))

    def model(self, shape, outputs):
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
        model.ir_version = 8
        return onnx.shape_inference.infer_shapes(model)


def check(model, *inputs, **options):
    peer = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    module = tw.compile(model, **options)
    for x in inputs * 2:  # what the first run left in memory must not matter
        for got, want in zip(module.run({"x": x}), peer.run(None, {"x": x})):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def c2f(net, x, channels, repeats):
    """Both halves of a map, and what is computed from the second one, joined."""
    a, b = net("Split", net.conv(x, 3, 2 * channels, 1), outputs=2, axis=1, num_outputs=2)
    parts = [a, b]
    for _ in range(repeats):
        parts.append(net("Add", parts[-1], net.conv(parts[-1], channels, channels)))
    return net("Concat", *parts, axis=1), (2 + repeats) * channels


@pytest.mark.parametrize("skip", [[], ["assign_layouts"], ["simplify_algebra"], ["fuse"]])
@pytest.mark.parametrize("batch, channels, size", [(1, 16, (12, 12)), (1, 32, (7, 9)), (2, 16, (8, 8)), (1, 12, (5, 5))])
def test_split_and_concat_of_a_map(batch, channels, size, skip):
    net = Net()
    joined, count = c2f(net, "x", channels, 2)
    y = net.conv(joined, count, 8, 1)
    check(net.model([batch, 3, *size], [y]), np.random.default_rng(2).standard_normal((batch, 3, *size), np.float32), skip=skip)


def test_maps_joined_at_every_depth():
    """Each layer reads all before it: a value is in several concats, of which one has it in place."""
    net = Net()
    maps = [net.conv("x", 3, 16)]
    for i in range(3):
        maps.append(net.conv(net("Concat", *maps, axis=1) if i else maps[0], 16 * (i + 1), 16))
    y = net.conv(net("Concat", *maps, axis=1), 64, 16, 1)
    check(net.model([1, 3, 10, 10], [y]), np.random.default_rng(3).standard_normal((1, 3, 10, 10), np.float32))


def test_a_concat_in_a_concat_and_one_that_is_given_out():
    net = Net()
    a, b, c = (net.conv("x", 3, 16) for _ in range(3))
    inner = net("Concat", a, b, axis=1)
    outer = net("Concat", c, inner, axis=1)
    other = net("Concat", b, c, axis=1)
    y, z = net.conv(outer, 48, 8, 1), net.conv(inner, 32, 8, 1)
    check(net.model([1, 3, 8, 8], [y, z, other]), np.random.default_rng(4).standard_normal((1, 3, 8, 8), np.float32))


@pytest.mark.parametrize("skip", [[], ["assign_layouts"], ["nest_concats"], ["memory_plan"]])
@pytest.mark.parametrize("channels, size", [(16, ("h", "w")), (12, ("h", "w")), (12, (5, 5)), (16, (4, "w"))])
def test_a_free_batch_lies_in_place_where_it_is_one(channels, size, skip):
    """Of the same module: in place, by kernels for a larger batch, and where a part has no address that kernels take."""
    net = Net()
    joined, count = c2f(net, "x", channels, 2)
    inner = net("Concat", net.conv(joined, count, 4, 1), net.conv(joined, count, channels, 1), axis=1)
    outer = net("Concat", net.conv(joined, count, channels), inner, axis=1)
    a, b = net("Split", outer, outputs=2, axis=1, num_outputs=2)
    outputs = [net.conv(outer, 2 * channels + 4, 8, 1), net("Mul", a, b), net.conv(inner, channels + 4, 8, 1)]
    rng = np.random.default_rng(7)
    shapes = [(n, 3, *(d if isinstance(d, int) else s for d, s in zip(size, (h, w))))
              for n, h, w in ((1, 8, 8), (3, 8, 8), (1, 5, 7), (0, 4, 4), (1, 1, 1), (2, 3, 5), (1, 16, 4))]
    check(net.model(["n", 3, *size], outputs), *(rng.standard_normal(shape, np.float32) for shape in shapes), skip=skip)


def test_a_split_of_a_part_of_an_input():
    """The part has no place of its own: what is split from it has one only for larger batches."""
    net = Net()
    first, second = net("Split", "x", outputs=2, axis=0, num_outputs=2)
    a, b = net("Split", first, outputs=2, axis=1, num_outputs=2)
    c = net("Relu", second)
    outputs = [net("MatMul", a, net("Transpose", b, perm=[0, 2, 1])), net("MatMul", c, net("Transpose", c, perm=[0, 2, 1]))]
    rng = np.random.default_rng(8)
    check(net.model(["n", 4, 16], outputs), *(rng.standard_normal((n, 4, 16), np.float32) for n in (2, 4, 2, 3)))


@pytest.mark.parametrize("height", [1, 6, 17])
def test_sizes_that_only_the_run_tells(height):
    net = Net()
    joined, count = c2f(net, "x", 16, 1)
    y = net.conv(joined, count, 8, 1)
    check(net.model([1, 3, "h", 8], [y]), np.random.default_rng(5).standard_normal((1, 3, height, 8), np.float32))


def test_rows_of_an_input():
    net = Net()
    a, b, c = net("Split", "x", outputs=3, axis=0, num_outputs=3)
    y = net("MatMul", a, net("Transpose", b, perm=[1, 0]))
    z = net("MatMul", y, net("Softmax", c))
    check(net.model([48, 16], [z]), np.random.default_rng(6).standard_normal((48, 16), np.float32))


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("first", [0, 7, 32])
def test_a_split_at_places_that_only_the_run_tells(first, joined):
    """Its parts lie in what is split, which has its place before the run begins."""
    net = Net()
    net.weights.append(numpy_helper.from_array(net.rng.standard_normal((16, 16)).astype(np.float32), "w"))
    y = net("MatMul", "x", "w")
    if joined:
        y = net("Concat", y, net("MatMul", y, "w"), axis=0)
    a, b = net("Split", y, "sizes", outputs=2, axis=0)
    outputs = [net("MatMul", a, "w"), net("MatMul", b, "w")]
    model = net.model([32, 16], outputs)
    model.graph.input.append(helper.make_tensor_value_info("sizes", TensorProto.INT64, [2]))
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    feeds = {"x": np.random.default_rng(7).standard_normal((32, 16), np.float32),
             "sizes": np.array([first, (64 if joined else 32) - first])}
    want = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    for g, w in zip(tw.compile(model).run(feeds), want):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-4)
