# SPDX-License-Identifier: Apache-2.0
"""Graphs for products of bf16: their operands are values that others read, too, whom no product may cost a bit."""
import numpy as np

import compute
import elementwise
import movement
import patterns
from graph import Value, data

MOVES = [movement.transpose, movement.reshape, movement.computed_reshape, movement.slice_, movement.concat, movement.split, movement.expand]
OTHERS = {**elementwise.EMITTERS, **{move: 3 for move in MOVES}, compute.reduce: 6, compute.softmax: 2, compute.norm: 3, compute.matmul: 3,
          compute.conv: 2, compute.pool: 2, patterns.activation: 1, patterns.attention: 1}


def fine_weight(g, shape, terms):
    """No multiples of 1/8: bf16 does not hold them. Sometimes so small that the product hardly counts beside what it is added to."""
    scale = g.rng.choice([1, 1, 1e-3]) / (1.7 * max(terms, 1))
    return g.constant((data(g.rng, "f32", shape, 2) * scale).astype(np.float32))


def made(g, x):
    """A value of the shape of x with more bits than bf16 has."""
    kind = g.rng.choice(["square", "Tanh", "Sigmoid", "scaled", "moved"])
    if kind == "square" and x.bound < 20:
        return g.add("Mul", [x, x], "f32", x.shape, x.bound ** 2)
    if kind in ("Tanh", "Sigmoid"):
        return g.add(kind, [x], "f32", x.shape, 1)
    if kind == "moved":
        return g.add("Add", [x, g.constant(np.array(0.3, np.float32))], "f32", x.shape, x.bound + 1)
    return g.add("Mul", [x, g.constant(np.array(1.00098, np.float32))], "f32", x.shape, 1.1 * x.bound)


def product(g, y):
    """Of y and a constant; its operand may be moved on the way."""
    if y.rank == 4 and y.shape[1] % 8 == 0:
        c, k = y.shape[1], g.rng.choice([1, 3])
        m = g.rng.choice([c, c, 8])
        return g.add("Conv", [y, fine_weight(g, [m, c, k, k], c * k * k)], "f32", [y.shape[0], m, *y.shape[2:]], 2 * y.bound, pads=[k // 2] * 4)
    operand, n = y, g.rng.choice([y.shape[-1], y.shape[-1], 5])
    if g.rng.random() < 0.25:
        perm = [*range(y.rank - 2), y.rank - 1, y.rank - 2]
        operand = g.add("Transpose", [y], "f32", [y.shape[p] for p in perm], y.bound, perm=perm)
        n = g.rng.choice([operand.shape[-1], 5])
    weight = fine_weight(g, [operand.shape[-1], n], operand.shape[-1])
    if operand.rank == 2 and g.rng.random() < 0.4:
        return g.add("Gemm", [operand, weight, g.weight("f32", [n])], "f32", (operand.shape[0], n), 2 * y.bound + 2)
    return g.add("MatMul", [operand, weight], "f32", operand.shape[:-1] + (n,), 2 * y.bound)


def reader(g, y, x):
    """Another one that reads y."""
    kind = g.rng.choice(["Transpose", "Sub", "output", "difference", "Concat", "Slice", "ReduceMax"])
    if kind == "Transpose":
        perm = g.rng.sample(range(y.rank), y.rank)
        g.add(kind, [y], "f32", [y.shape[p] for p in perm], y.bound, perm=perm)
    elif kind == "Sub":
        g.add(kind, [y, g.constant(np.array(1, np.float32))], "f32", y.shape, y.bound + 1)
    elif kind == "output":
        g.leaves.append(Value(y.name, "f32", ()))
    elif kind == "difference":
        g.add("Sub", [x, y], "f32", y.shape, x.bound + y.bound)
    elif kind == "Concat":
        g.add(kind, [y, y], "f32", (2 * y.shape[0], *y.shape[1:]), y.bound, axis=0)
    elif kind == "Slice":
        g.add(kind, [y, g.ints([0]), g.ints([max(1, y.shape[-1] - 1)]), g.ints([y.rank - 1])], "f32",
              (*y.shape[:-1], max(1, y.shape[-1] - 1)), y.bound)
    else:
        g.add(kind, [y, g.ints([0])] if g.opset >= 18 else [y], "f32", (1, *y.shape[1:]), y.bound, **({} if g.opset >= 18 else {"axes": [0]}))


def shared(g):
    """A residual stream: y = f(x), p = y · w, then others of y, and y + p where they have one shape."""
    x = g.pick(lambda v: v.elem == "f32" and 2 <= v.rank <= 4 and v.size > 0 and v.bound < 200)
    if x is None:
        return
    for _ in range(g.rng.choice([1, 1, 2, 4])):
        y = made(g, x)
        p = product(g, y)
        if p.shape == y.shape and g.rng.random() < 0.7:
            x = g.add("Add", [y, p] if g.rng.random() < 0.5 else [p, y], "f32", y.shape, y.bound + p.bound)
        else:
            reader(g, y, x)
            x = p
        if x.bound > 200:
            return


def graph(g):
    rng = g.rng
    g.float = "f32"
    g.input("f32", [rng.choice([1, 3, 6, 16, 33]), rng.choice([4, 8, 17, 32])])
    if rng.random() < 0.5:
        g.input("f32", [rng.choice([1, 2]), rng.choice([8, 16]), rng.choice([3, 5, 8]), rng.choice([4, 7])])
    if rng.random() < 0.3:
        g.input("f32", [2, rng.choice([3, 8]), rng.choice([8, 16])])
    wanted = rng.randint(3, 20)
    emitters, weights = list(OTHERS), list(OTHERS.values())
    shared(g)
    for _ in range(6 * wanted):
        if len(g.nodes) >= wanted:
            break
        (shared if rng.random() < 0.3 else rng.choices(emitters, weights)[0])(g)
