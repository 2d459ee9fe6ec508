# SPDX-License-Identifier: Apache-2.0
"""An operator of one's own in an ONNX model: `python examples/custom_op.py`.

A model from elsewhere holds `my.ops::RmsNorm`, which no opset has. A function says what it computes; its types, for every
batch, follow from that.
"""
import numpy as np
from onnx import parser

import tilewright as tw
from tilewright import te

MODEL = parser.parse_model("""
    <ir_version: 9, opset_import: ["" : 18, "my.ops" : 1]>
    net (float[batch, 64] x, float[64] scale, float[64, 8] w) => (float[batch, 8] y)
    { h = my.ops.RmsNorm <epsilon = 0.001> (x, scale)
      y = MatMul(h, w) }""")


def rms_norm(x, scale, *, epsilon=1e-5):
    k = te.reduce_axis(x.shape[1], "k")
    mean = te.compute("mean", (x.shape[0],), lambda i: te.sum(x[i, k] * x[i, k], k) / te.cast("f32", te.Expr(x.shape[1])))
    return te.compute("norm", x.shape, lambda i, j: x[i, j] * te.rsqrt(mean[i] + epsilon) * scale[j])


try:
    tw.compile(MODEL)
except tw.Error as e:
    print(e)

tw.register_op("my.ops", "RmsNorm", te=rms_norm)
module = tw.compile(MODEL)
rng = np.random.default_rng(0)
x, scale, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 64), (64,), (64, 8)))
expected = x / np.sqrt((x * x).mean(1, keepdims=True) + 0.001) * scale @ w
difference = np.abs(module(x, scale, w) - expected).max()
print(f"{module.outputs} differs from NumPy by {difference:.1e}")
raise SystemExit(int(difference > 1e-4))
