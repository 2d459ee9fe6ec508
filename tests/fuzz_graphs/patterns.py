# SPDX-License-Identifier: Apache-2.0
"""Patterns as exporters write them out, which passes recover or fuse as a whole."""
import math

import numpy as np


def number(g, value):
    return g.constant(np.array(value, np.float32))


def activation(g):
    """Sums and products in any order."""
    x = g.pick(lambda v: v.elem == "f32" and v.bound < 100)
    if x is None:
        return
    def product(a, b):
        return g.node("Mul", [a, b] if g.rng.random() < 0.5 else [b, a])[0]
    kind = g.rng.choice(["erf", "tanh", "sigmoid", "clip"])
    if kind == "erf":
        scaled, = g.node("Div", [x, number(g, math.sqrt(2))])
    elif kind == "tanh":
        cube = product(x, product(x, x))
        inner, = g.node("Add", [x, product(cube, number(g, 0.044715))])
        scaled = product(inner, number(g, math.sqrt(2 / math.pi)))
    elif kind == "clip":
        scaled, = g.node("Add", [x, number(g, 3)])
    else:
        scaled = product(x, number(g, g.rng.choice([1, 1.702])))
    more = [number(g, 0), number(g, 6)] if kind == "clip" and g.opset >= 11 else []
    if kind == "clip" and not more:
        return
    t, = g.node(kind.capitalize(), [scaled, *more])
    factor = x
    if kind in ("erf", "tanh"):
        t, = g.node("Add", [t, number(g, 1)])
        factor = product(x, number(g, 0.5))
    if kind == "clip":
        t = product(t, number(g, 1 / 6))
    g.add("Mul", [factor, t], "f32", x.shape, 2 * x.bound)


def reduced(g, op, x):
    if g.opset >= 18 or (op == "ReduceSum" and g.opset >= 13):
        return g.node(op, [x, g.ints([-1])], keepdims=1)[0]
    return g.node(op, [x], keepdims=1, axes=[-1])[0]


def written_norm(g):
    x = g.pick(lambda v: v.elem == "f32" and v.rank >= 2 and v.size > 0 and v.bound < 100)
    if x is None:
        return
    d = x
    if g.rng.random() < 0.5:
        d, = g.node("Sub", [x, reduced(g, "ReduceMean", x)])
    square, = g.node("Mul", [d, d])
    sum_, = g.node("Add", [reduced(g, "ReduceMean", square), number(g, 0.1)])
    root, = g.node("Sqrt", [sum_])
    n, = g.node("Div", [d, root])
    g.add("Mul", [n, g.weight("f32", x.shape[-1:])], "f32", x.shape, 30)


def attention(g):
    """Products with constants, heads, softmax of scaled and masked scores, heads back."""
    x = g.pick(lambda v: v.elem == "f32" and v.rank == 3 and v.size > 0 and v.bound * v.shape[2] < 300)
    if x is None:
        return
    b, t, c = x.shape
    heads, size = g.rng.choice([1, 2, 3]), g.rng.choice([2, 4, 8])
    rows = g.rng.choice([[0, 0], [b, t]])  # 0: whatever it is
    def part(order):
        y, = g.node("MatMul", [x, g.weight("f32", [c, heads * size], 0.5)])
        cut, = g.node("Reshape", [y, g.ints([*rows, heads, size])])
        return g.node("Transpose", [cut], perm=order)[0]
    scores, = g.node("MatMul", [part([0, 2, 1, 3]), part([0, 2, 3, 1])])
    scores, = g.node("Mul", [scores, number(g, 0.01)])
    if g.rng.random() < 0.7:
        scores, = g.node("Add", [scores, g.weight("f32", [t])])
    shares, = g.node("Softmax", [scores], axis=3)
    mixed, = g.node("MatMul", [shares, part([0, 2, 1, 3])])
    back, = g.node("Transpose", [mixed], perm=[0, 2, 1, 3])
    g.add("Reshape", [back, g.ints([*rows, heads * size])], "f32", (b, t, heads * size), x.bound * c)


EMITTERS = {activation: 2, written_norm: 2, attention: 3}
