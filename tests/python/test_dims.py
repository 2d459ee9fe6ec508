# SPDX-License-Identifier: Apache-2.0
"""One module for a range of sizes, with kernels of their own for chosen ones."""
import numpy as np
import onnxruntime
import pytest

import tilewright as tw

SIZES = (1, 2, 7, 8, 15, 16, 17, 31, 32)


def ort(model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


@pytest.fixture
def network(model):
    """Convolution, pooling, a view and a product, with a batch, a height and a width that the run tells."""
    rng = np.random.default_rng(3)
    text = lambda *shape: ", ".join(f"{v:.4f}" for v in rng.standard_normal(shape).ravel())
    return model(f"""
        net (float[batch, 3, h, w] x) => (float[batch, 10] y, float[batch, 8, h, w] r)
        <float[8, 3, 3, 3] k = {{{text(8, 3, 3, 3)}}}, float[8] b = {{{text(8)}}},
         float[8, 10] m = {{{text(8, 10)}}}>
        {{ c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, k, b)
           r = Relu(c)
           g = GlobalAveragePool(r)
           f = Flatten<axis = 1>(g)
           p = MatMul(f, m)
           y = Softmax<axis = -1>(p) }}""")


@pytest.mark.parametrize("points", [(), (1, 8)])
def test_every_size_of_a_range_is_right(network, points):
    module = tw.compile(network, dims={"batch": (1, 32, points), "h": (1, 40), "w": (1, 40)})
    rng = np.random.default_rng(5)
    for batch, h, w in [(n, 5, 6) for n in SIZES] + [(2, n, 3) for n in SIZES] + [(1, 3, n) for n in SIZES] + [(8, 40, 40)]:
        x = rng.standard_normal((batch, 3, h, w)).astype(np.float32)
        for want, got in zip(ort(network, {"x": x}), module.run({"x": x})):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=f"{batch} {h} {w}")


def test_sizes_outside_of_the_range_are_refused(network):
    module = tw.compile(network, dims={"batch": (2, 4), "h": 5, "w": 5})
    with pytest.raises(ValueError, match="compiled for 2 to 4"):
        module.run({"x": np.zeros((5, 3, 5, 5), np.float32)})


def test_points_lie_inside_of_the_range(network):
    with pytest.raises(tw.Error, match="the point 64"):
        tw.compile(network, dims={"batch": (1, 32, [64])})


def test_points_get_kernels_of_their_own(network):
    text = tw.emit(network, "loops", dims={"batch": (1, 32, [1, 8]), "h": 5, "w": 5})
    assert "batch=8" in text and "f32[8, 3, 5, 5]" in text
    assert "batch in 1..32" in text


def test_empty_batches(affine, affine_result):
    module = tw.compile(affine, dims={"batch": (0, 32, [0, 4])})
    b = np.ones(4, np.float32)
    for n in (0, 1, 4, 5):
        x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
        np.testing.assert_allclose(module.run({"x": x, "b": b})[0], affine_result(x, b), rtol=1e-6)


def test_a_byte_convolution_of_any_height(model):
    """What it reads of its input, less the zero, has rows that only the run tells."""
    net = model("""
        net (float[n, 8, h, 4] x) => (int32[n, 5, j, 7] y)
        <float s = {0.125}, uint8 z = {122},
         uint8[5, 2, 2, 2] w = {10, 34, 23, 32, 31, 14, 22, 0, 31, 13, 8, 6, 17, 15, 4, 17, 21, 17, 8, 17, 28, 38, 0, 6, 11,
                                26, 27, 13, 14, 27, 23, 22, 19, 35, 33, 30, 26, 22, 6, 4}>
        { d = DepthToSpace<blocksize = 2>(x)  q = QuantizeLinear(d, s, z)  y = ConvInteger(q, w, z) }""")
    x = np.random.default_rng(3).standard_normal((2, 8, 5, 4)).astype(np.float32)
    np.testing.assert_array_equal(tw.compile(net)(x), ort(net, {"x": x})[0])


def test_memory_is_kept_for_the_largest_run_and_given_back(model):
    module = tw.compile(model("net (float[n, m] x) => (float[n, m] y) { a = Softmax<axis = 0>(x)  y = Softmax<axis = 1>(a) }"), threads=1)
    x = np.ones((300, 1000), np.float32)
    expected = module(x).copy()
    assert module.held_bytes() >= x.nbytes
    module.trim()
    assert module.held_bytes() < 10000
    np.testing.assert_array_equal(module(x), expected)
