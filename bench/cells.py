# SPDX-License-Identifier: Apache-2.0
"""Small graphs in which fusion decides, of simple operators only: the layers and cells of the TVM paper's figure 4 at its
sizes, softmax and layer norm."""
import numpy as np
import onnx
from onnx import parser

CELLS = {
    "conv_bn_relu": ("""(float[1, 128, 28, 28] x, float[256, 128, 1, 1] w, float[256] s, float[256] b, float[256] m, float[256] v) => (y)
        { t = Conv(x, w)  u = BatchNormalization(t, s, b, m, v)  y = Relu(u) }""", "x"),
    "depthwise_bn_relu": ("""(float[1, 512, 14, 14] x, float[512, 1, 3, 3] w, float[512] s, float[512] b, float[512] m, float[512] v) => (y)
        { t = Conv<group = 512, pads = [1, 1, 1, 1]>(x, w)  u = BatchNormalization(t, s, b, m, v)  y = Relu(u) }""", "x"),
    "rnn_cell": ("""(float[1, 128] x, float[1, 128] h, float[128, 128] w, float[128, 128] u, float[128] b) => (y)
        { p = MatMul(x, w)  q = MatMul(h, u)  s = Add(p, q)  t = Add(s, b)  y = Tanh(t) }""", "x h"),
    "lstm_cell": ("""(float[1, 128] x, float[1, 128] h, float[1, 128] c, float[128, 512] w, float[128, 512] u, float[512] b) => (d, y)
        { p = MatMul(x, w)  q = MatMul(h, u)  s = Add(p, q)  t = Add(s, b)
          i0, o0, f0, g0 = Split<axis = 1, num_outputs = 4>(t)
          i = Sigmoid(i0)  o = Sigmoid(o0)  f = Sigmoid(f0)  g = Tanh(g0)
          fc = Mul(f, c)  ig = Mul(i, g)  d = Add(fc, ig)  e = Tanh(d)  y = Mul(o, e) }""", "x h c"),
    "softmax": ("""(float[12, 128, 128] x) => (y)
        { axes = Constant<value_ints = [2]>()
          m = ReduceMax(x, axes)  d = Sub(x, m)  e = Exp(d)  s = ReduceSum(e, axes)  y = Div(e, s) }""", "x"),
    "layer_norm": ("""(float[128, 768] x, float[768] g, float[768] b) => (y)
        { axes = Constant<value_ints = [1]>()  two = Constant<value_float = 2.0>()  eps = Constant<value_float = 0.00001>()
          m = ReduceMean(x, axes)  d = Sub(x, m)  p = Pow(d, two)  v = ReduceMean(p, axes)  w = Add(v, eps)
          s = Sqrt(w)  n = Div(d, s)  t = Mul(n, g)  y = Add(t, b) }""", "x"),
}
# What puts several operators into one kernel, or makes one operator of them.
FUSING = ["fuse", "recover_softmax", "recover_norms", "recover_activations", "recover_attention", "fold_batch_norm", "fold_scales",
          "merge_products"]


def make(name, folder):
    """The cell as a model with seeded weights; its inputs beside it."""
    body, inputs = CELLS[name]
    model = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]>\n{name} {body}')
    rng = np.random.default_rng(0)
    given, keep = {}, []
    for info in model.graph.input:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        value = rng.standard_normal(shape, dtype=np.float32) / max(1, shape[0]) ** 0.5
        if info.name == "v":
            value = np.abs(value) + 0.5  # a variance
        if info.name in inputs.split():
            keep.append(info)
            given[info.name] = value
        else:
            model.graph.initializer.append(onnx.numpy_helper.from_array(value, info.name))
    del model.graph.input[:]
    model.graph.input.extend(keep)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.onnx"
    data = onnx.shape_inference.infer_shapes(model).SerializeToString()
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)
        np.savez(path.with_suffix(".npz"), **given)
    return path
