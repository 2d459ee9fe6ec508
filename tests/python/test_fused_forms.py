# SPDX-License-Identifier: Apache-2.0
"""Less common forms of fused operators of com.microsoft, and of Scan in opset 8, against ONNX Runtime."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import tilewright as tw

FLOAT = TensorProto.FLOAT


def f32(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def model(op, feeds, outputs, free=(), domain="com.microsoft", opset=17, **attributes):
    """One node; the dimensions of the inputs named in `free` are those of the run."""
    kinds = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32}
    ports = [helper.make_tensor_value_info(n, kinds[v.dtype], [f"{n}{d}" for d in range(v.ndim)] if n in free else v.shape)
             for n, v in feeds.items() if v is not None]
    node = helper.make_node(op, [n if v is not None else "" for n, v in feeds.items()], outputs, domain=domain, **attributes)
    graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info(n, FLOAT, None) for n in outputs if n])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])


def check(net, *runs):
    module = tw.compile(net)
    session = onnxruntime.InferenceSession(net.SerializeToString(), providers=["CPUExecutionProvider"])
    for feeds in runs:
        feeds = {n: v for n, v in feeds.items() if v is not None}
        for want, got in zip(session.run(None, feeds), module.run(feeds), strict=True):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("a, b, attributes", [
    ((4, 2, 5), (2, 5, 3), {"transBatchA": 1}),
    ((2, 4, 5), (5, 2, 3), {"transBatchB": 1}),
    ((5, 2, 3, 4), (2, 3, 5, 6), {"transBatchA": 1, "transA": 1, "alpha": 0.5}),
    ((4, 2, 5), (3, 2, 5), {"transBatchA": 1, "transBatchB": 1, "transB": 1}),
])
def test_fused_matmul_of_matrices_around_their_batch(a, b, attributes):
    feeds = {"a": f32(*a), "b": f32(*b)}
    check(model("FusedMatMul", feeds, ["y"], **attributes), feeds)


def test_simplified_layer_norm_gives_the_inverse_deviation():
    feeds = {"x": f32(2, 3, 8), "scale": f32(8)}
    check(model("SimplifiedLayerNormalization", feeds, ["y", "d"], domain="", axis=-1, epsilon=1e-3), feeds)


def test_skip_simplified_layer_norm_gives_its_statistics():
    """ONNX Runtime leaves them out."""
    x, skip, gamma = f32(2, 3, 8), f32(2, 3, 8)[::-1].copy(), f32(8)
    net = model("SkipSimplifiedLayerNormalization", {"x": x, "skip": skip, "gamma": gamma}, ["y", "mean", "d", "sum"], epsilon=1e-3)
    y, mean, deviation, total = tw.compile(net).run([x, skip, gamma])
    wanted = 1 / np.sqrt(((x + skip) ** 2).mean(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(total, x + skip, rtol=1e-6)
    np.testing.assert_allclose(mean, (x + skip).mean(-1, keepdims=True), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(deviation, wanted, rtol=1e-5)
    np.testing.assert_allclose(y, (x + skip) * wanted * gamma, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("hidden", [8, 16])
def test_heads_of_sizes_that_the_run_tells(hidden):
    feeds = {"q": f32(2, 3, hidden), "k": f32(2, 5, hidden), "v": f32(2, 5, hidden), "bias": f32(3 * hidden)}
    check(model("MultiHeadAttention", feeds, ["y"], free=feeds, num_heads=2), feeds)


def test_rotary_embedding_takes_the_size_of_a_head_from_the_cosines():
    feeds = {"x": f32(2, 3, 16), "at": np.array([1], np.int64), "cos": f32(10, 4), "sin": f32(10, 4)}
    check(model("RotaryEmbedding", feeds, ["y"], free=["x"]), feeds, feeds | {"x": f32(1, 5, 24)})


def scan(directions, lengths, free=False):
    body = helper.make_graph([helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Mul", ["t", "x"], ["p"])], "b",
                             [helper.make_tensor_value_info("s", FLOAT, [2]), helper.make_tensor_value_info("x", FLOAT, [2])],
                             [helper.make_tensor_value_info("t", FLOAT, [2]), helper.make_tensor_value_info("p", FLOAT, [2])])
    feeds = {"l": lengths, "s0": f32(3, 2), "xs": f32(3, 4, 2)}
    return model("Scan", feeds, ["s", "y"], domain="", opset=8, body=body, num_scan_inputs=1, directions=directions), feeds


@pytest.mark.parametrize("directions", [[0], [1]])
def test_scan_of_sequences_of_different_lengths(directions):
    net, feeds = scan(directions, np.array([2, 4, 1], np.int64))
    check(net, feeds, feeds | {"l": np.array([4, 4, 4], np.int64)}, feeds | {"l": np.array([1, 3, 2], np.int64)})
