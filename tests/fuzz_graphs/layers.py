# SPDX-License-Identifier: Apache-2.0
"""Emitters of larger operators: recurrent layers, transposed convolutions, group norms, attention, Fourier transforms."""
import numpy as np

from compute import image
from graph import Value


def recurrent(g):
    x = g.pick(lambda v: v.elem == "f32" and v.rank == 3 and 0 < v.size <= 1000 and v.bound < 50)
    if x is None:
        return
    op, gates = g.rng.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    steps, batch, width = x.shape
    hidden, way = g.rng.choice([1, 3, 4, 8]), g.rng.choice(["forward", "reverse", "bidirectional"])
    d = 2 if way == "bidirectional" else 1
    inputs = [x, g.weight("f32", [d, gates * hidden, width], 1), g.weight("f32", [d, gates * hidden, hidden], 1)]
    if g.rng.random() < 0.6:
        inputs.append(g.weight("f32", [d, 2 * gates * hidden], 1))
    attributes = {"linear_before_reset": g.rng.randint(0, 1)} if op == "GRU" else {}
    names = g.node(op, inputs, 2, hidden_size=hidden, direction=way, **attributes)
    g.values.append(Value(names[0], "f32", (steps, d, batch, hidden), 1))
    g.values.append(Value(names[1], "f32", (d, batch, hidden), 1))


def conv_transpose(g):
    x = image(g, lambda v: v.size <= 2000)
    if x is None:
        return
    c, m, n = x.shape[1], g.rng.choice([1, 2, 4]), x.rank - 2
    kernel = [g.rng.choice([1, 2, 3]) for _ in range(n)]
    strides = [g.rng.choice([1, 2]) for _ in range(n)]
    pads = [g.rng.randint(0, k - 1) for k in kernel] * 2
    out = [s * (e - 1) + k - 2 * p for e, k, s, p in zip(x.shape[2:], kernel, strides, pads)]
    bound = x.bound * c * int(np.prod(kernel)) + 2
    if min(out) <= 0 or bound > g.limit("f32"):
        return
    bias = [g.weight("f32", [m])] if g.rng.random() < 0.5 else []
    g.add("ConvTranspose", [x, g.weight("f32", [c, m, *kernel], 1), *bias], "f32", (x.shape[0], m, *out), bound,
          kernel_shape=kernel, strides=strides, pads=pads)


def group_norm(g):
    x = image(g, lambda v: v.shape[1] % 2 == 0 and v.bound < 100)
    if x is not None and g.opset >= 21:
        c = x.shape[1]
        g.add("GroupNormalization", [x, g.weight("f32", [c]), g.weight("f32", [c])], "f32", x.shape, 50, num_groups=2)


def local_norm(g):
    x = image(g)
    if x is not None and x.rank == 4:
        g.add("LRN", [x], "f32", x.shape, x.bound, size=g.rng.choice([1, 3, 5]))


def lp_pool(g):
    x = image(g, lambda v: min(v.shape[2:]) >= 2 and v.bound < 60)
    if x is not None:
        out = [e - 1 for e in x.shape[2:]]
        g.add("LpPool", [x], "f32", (*x.shape[:2], *out), 4 * x.bound, kernel_shape=[2] * len(out), p=g.rng.choice([1, 2]))


def attention(g):
    """softmax(q k' / sqrt(d)) v, as exporters write it."""
    x = g.pick(lambda v: v.elem == "f32" and v.rank in (3, 4) and 0 < v.size <= 2000 and v.bound < 20)
    if x is None:
        return
    d, perm = x.shape[-1], [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    q = g.add("MatMul", [x, g.weight("f32", [d, d], 1)], "f32", x.shape, x.bound * d)
    k = g.add("Transpose", [x], "f32", [x.shape[p] for p in perm], x.bound, perm=perm)
    scores = x.shape[:-1] + (x.shape[-2],)
    s = g.add("MatMul", [q, k], "f32", scores, x.bound ** 2 * d * d)
    s = g.add("Mul", [s, g.constant(np.array(1 / (16 * d), np.float32))], "f32", scores, x.bound ** 2 * d)
    p = g.add("Softmax", [s], "f32", scores, 1, axis=-1)
    g.add("MatMul", [p, x], "f32", x.shape, x.bound)


def contrib(g):
    x = g.pick(lambda v: v.elem == "f32" and v.rank >= 2 and v.size > 0 and v.bound < 50)
    if x is None:
        return
    n = x.shape[-1]
    op = g.rng.choice(["Gelu", "FastGelu", "QuickGelu", "BiasGelu", "FusedMatMul", "SkipLayerNormalization"])
    domain = "com.microsoft"
    if op in ("Gelu", "FastGelu", "QuickGelu"):
        g.add(op, [x], "f32", x.shape, x.bound, domain=domain)
    elif op == "BiasGelu":
        g.add(op, [x, g.weight("f32", [n])], "f32", x.shape, x.bound + 2, domain=domain)
    elif op == "FusedMatMul":
        m = max(1, g.extent())
        g.add(op, [x, g.weight("f32", [m, n])], "f32", x.shape[:-1] + (m,), x.bound * 2 * n, domain=domain, transB=1, alpha=0.5)
    elif x.rank == 3:
        g.add(op, [x, x, g.weight("f32", [n]), g.weight("f32", [n])], "f32", x.shape, 30, domain=domain)


def reverse(g):
    x = g.pick(lambda v: v.rank >= 2 and v.elem == "f32" and v.size > 0)
    if x is not None:
        lengths = g.ints([g.rng.randint(1, x.shape[0]) for _ in range(x.shape[1])])
        g.add("ReverseSequence", [x, lengths], x.elem, x.shape, x.bound, x.exact, time_axis=0, batch_axis=1)


def short_fourier(g):
    """STFT of a real signal: as the standard has it, or without its last dimension, as PyTorch's exporter writes it."""
    x = g.pick(lambda v: v.elem == "f32" and v.rank == 2 and v.shape[0] > 0 and v.shape[1] >= 2 and v.bound < 50)
    if x is None or g.opset < 17:
        return
    (batch, samples), signal = x.shape, x
    if g.rng.random() < 0.5:
        signal = g.add("Unsqueeze", [x, g.ints([2])], "f32", (batch, samples, 1), x.bound)
    length, step, onesided = g.rng.randint(2, min(samples, 8)), g.rng.randint(1, 3), g.rng.randint(0, 1)
    inputs = [signal, g.constant(np.array(step, np.int64)), g.weight("f32", [length], 1)]
    if g.rng.random() < 0.5:
        inputs.append(g.constant(np.array(length, np.int64)))
    shape = (batch, (samples - length) // step + 1, length // 2 + 1 if onesided else length, 2)
    g.add("STFT", inputs, "f32", shape, x.bound * length, onesided=onesided)


EMITTERS = {recurrent: 1, conv_transpose: 1, group_norm: 0.5, local_norm: 0.5, lp_pool: 0.5, attention: 1,
            contrib: 1, reverse: 0.5, short_fourier: 1}
