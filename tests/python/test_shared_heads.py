# SPDX-License-Identifier: Apache-2.0
"""Attention whose heads share keys and values, of free batches and lengths."""
import numpy as np
import onnxruntime
import pytest

import tilewright as tw

ATTENTION = """
    net (float[batch, {heads}, length, 16] q, float[batch, {keys}, total, 16] k, float[batch, {keys}, total, 16] v,
         float[batch, 1, length, total] mask) => (float[batch, {heads}, length, 16] y)
    <int64[1] two = {{2}}, int64[1] times = {{{times}}}, int64[4] heads = {{0, {heads}, -1, 16}}, float scale = {{0.25}}> {{
      shape = Shape(k)
      b = Slice(shape, zero, one)
      ones = Slice(shape, one, two)
      rest = Slice(shape, two, four)
      all = Concat <axis = 0> (b, ones, times, rest)
      k1 = Unsqueeze(k, two)
      v1 = Unsqueeze(v, two)
      k2 = Expand(k1, all)
      v2 = Expand(v1, all)
      k3 = Reshape(k2, heads)
      v3 = Reshape(v2, heads)
      kt = Transpose <perm = [0, 1, 3, 2]> (k3)
      s = MatMul(q, kt)
      scaled = Mul(s, scale)
      masked = Add(scaled, mask)
      p = Softmax <axis = -1> (masked)
      y = MatMul(p, v3) }}"""


@pytest.mark.parametrize("heads, keys", [(8, 2), (6, 1), (4, 4), (6, 2)])
def test_heads_that_share_keys(model, heads, keys):
    text = ATTENTION.format(heads=heads, keys=keys, times=heads // keys)
    text = text.replace("int64[1] two", "int64[1] zero = {0}, int64[1] one = {1}, int64[1] four = {4}, int64[1] two")
    onnx_model = model(text)
    session = onnxruntime.InferenceSession(onnx_model.SerializeToString(), providers=["CPUExecutionProvider"])
    module = tw.compile(onnx_model)
    rng = np.random.default_rng(1)
    for batch, length, total in [(1, 1, 1), (1, 1, 33), (2, 1, 128), (3, 5, 7), (1, 40, 40), (2, 17, 130)]:
        given = {"q": rng.standard_normal((batch, heads, length, 16)), "k": rng.standard_normal((batch, keys, total, 16)),
                 "v": rng.standard_normal((batch, keys, total, 16)), "mask": rng.standard_normal((batch, 1, length, total))}
        given = {name: a.astype(np.float32) for name, a in given.items()}
        np.testing.assert_allclose(module.run(given)[0], session.run(None, given)[0], rtol=1e-4, atol=1e-5,
                                   err_msg=f"{batch} {length} {total}")
    if heads > keys:
        assert "expand(" not in tw.emit(onnx_model, "fused")
