# SPDX-License-Identifier: Apache-2.0
"""Emitters of quantised operators: integers through products, and float operators between quantisers."""
import numpy as np

from graph import NUMPY, Value, data

SCALES = (0.25, 0.125, 0.5)


def number(g, value, elem="f32"):
    return g.constant(np.array(value, NUMPY[elem]))


def quantized(g, x, elem=None):
    """x in 8 bits: (value, scale, zero point)."""
    elem = elem or g.rng.choice(["u8", "i8"])
    scale = number(g, g.rng.choice(SCALES))
    zero = number(g, g.rng.randint(100, 140) if elem == "u8" else g.rng.randint(-20, 20), elem)
    return g.add("QuantizeLinear", [x, scale, zero], elem, x.shape, 255, True), scale, zero


def real(g, rank):
    return g.pick(lambda v: v.elem == "f32" and v.exact and v.rank >= rank and v.size > 0 and v.bound < 50)


def per_axis(g):
    """Quantisers with a scale for every row of an axis."""
    x = real(g, 1)
    if x is None:
        return
    axis = g.rng.randrange(x.rank)
    n = x.shape[axis]
    scales = g.constant(np.array([g.rng.choice(SCALES) for _ in range(n)], np.float32))
    elem = g.rng.choice(["u8", "i8"])
    zeros = g.constant(data(g.rng, elem, [n], 20))
    q = g.add("QuantizeLinear", [x, scales, zeros], elem, x.shape, 255, True, axis=axis)
    g.add("DequantizeLinear", [q, scales, zeros], "f32", x.shape, 140, True, axis=axis)


def matmul_integer(g):
    x = real(g, 2)
    if x is None:
        return
    q, _, zero = quantized(g, x, "u8")
    k, n = x.shape[-1], max(1, g.extent())
    weight = g.constant(data(g.rng, g.rng.choice(["u8", "i8"]), [k, n], 50))
    zeros = [zero] if g.rng.random() < 0.7 else []
    g.add("MatMulInteger", [q, weight, *zeros], "i32", x.shape[:-1] + (n,), 255 * 50 * k, True)


def qlinear_matmul(g):
    x = real(g, 2)
    if x is None:
        return
    q, scale, zero = quantized(g, x)
    k, n = x.shape[-1], max(1, g.extent())
    weight = g.constant(data(g.rng, "i8" if q.elem == "i8" else "u8", [k, n], 30))
    # Powers of two: the product is rounded from an exact number.
    y = g.add("QLinearMatMul", [q, scale, zero, weight, number(g, 0.125), number(g, 3, q.elem), number(g, 2.0), zero],
              q.elem, x.shape[:-1] + (n,), 255, True)
    g.add("DequantizeLinear", [y, number(g, 2.0), zero], "f32", y.shape, 600, True)


def between_quantizers(g):
    """DequantizeLinear → MatMul, Add, Relu, Concat… → QuantizeLinear, as quantisers of models write it."""
    x = real(g, 2)
    if x is None:
        return
    q, scale, zero = quantized(g, x)
    y = g.add("DequantizeLinear", [q, scale, zero], "f32", x.shape, 80, True)
    kind = g.rng.choice(["matmul", "relu", "add", "transpose"])
    if kind == "matmul":
        n = max(1, g.extent())
        weight = g.constant(data(g.rng, "i8", [x.shape[-1], n], 30))
        w, = g.node("DequantizeLinear", [weight, number(g, 0.125), number(g, 0, "i8")])
        y = g.add("MatMul", [y, w], "f32", x.shape[:-1] + (n,), 80 * 4 * x.shape[-1], True)
    elif kind == "relu":
        y = g.add("Relu", [y], "f32", y.shape, 80, True)
    elif kind == "add":
        y = g.add("Add", [y, y], "f32", y.shape, 160, True)
    else:
        y = g.add("Transpose", [y], "f32", y.shape[::-1], 80, True)
    quantized(g, y)


def conv_integer(g):
    x = g.pick(lambda v: v.elem == "f32" and v.exact and v.rank == 4 and v.size > 0 and min(v.shape[2:]) >= 2)
    if x is None:
        return
    q, _, zero = quantized(g, x, "u8")
    c, m = x.shape[1], g.rng.choice([1, 2, 5])
    weight = g.constant(data(g.rng, "u8", [m, c, 2, 2], 40))
    g.add("ConvInteger", [q, weight, zero], "i32", (x.shape[0], m, x.shape[2] - 1, x.shape[3] - 1), 1e6, True)


def qlinear_conv(g):
    """Maps of any width, as rows are cut into vectors, with padding, which is the zero point."""
    x = g.pick(lambda v: v.elem == "f32" and v.exact and v.rank == 4 and 0 < v.size <= 3000 and v.bound < 50)
    x = x or g.input("f32", [1, g.rng.choice([1, 3, 4]), g.rng.randint(1, 9), g.rng.choice([2, 5, 8, 15, 16, 17, 31, 33])])
    q, scale, zero = quantized(g, x)
    c, m, k = x.shape[1], g.rng.choice([1, 2, 5, 8, 17]), g.rng.choice([1, 3])
    weight = g.constant(data(g.rng, "i8" if q.elem == "i8" else g.rng.choice(["i8", "u8"]), [m, c, k, k], 30))
    none = number(g, 0, "i8" if g.initializers[-1].data_type == 3 else "u8")
    # Powers of two: the sum is rounded from an exact number.
    g.add("QLinearConv", [q, scale, zero, weight, number(g, 0.125), none, number(g, g.rng.choice([2.0, 8.0])), zero], q.elem,
          (x.shape[0], m, *x.shape[2:]), 255, True, pads=[k // 2] * 4)


def dynamic(g):
    x = real(g, 1)
    if x is not None:
        names = g.node("DynamicQuantizeLinear", [x], 3)
        g.leaves += [Value(names[1], "f32", ()), Value(names[2], "u8", ())]  # the bytes may round either way


EMITTERS = {per_axis: 1, matmul_integer: 1, qlinear_matmul: 1, between_quantizers: 2, conv_integer: 1, qlinear_conv: 1, dynamic: 0.5}
