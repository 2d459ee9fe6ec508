# SPDX-License-Identifier: Apache-2.0
"""Graphs of operators that take indices from a run, all of them in range or one of them out of it: then the run must fail."""
import numpy as np

from graph import NUMPY, Value, data

OPS = ["Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND"]


def beyond(rng, extent, elem):
    far = [2 ** 40, -2 ** 63, 2 ** 63 - 1] if elem == "i64" else [2 ** 31 - 1, -2 ** 31]
    return rng.choice([extent, extent + 1, -extent - 1, 3 * extent + 7, *far])


def drawn(g, shape, extents, elem, bad):
    """Indices along one axis, or tuples of them for several; `bad`: one is out of range."""
    count = int(np.prod(shape, dtype=np.int64))
    limits = [extents[i % len(extents)] for i in range(count)]
    numbers = [g.rng.randint(-e, e - 1) for e in limits]
    if bad:
        at = g.rng.randrange(count)
        numbers[at] = beyond(g.rng, limits[at], elem)
    return np.array(numbers, NUMPY[elem]).reshape(shape)


def given(g, array, elem):
    """An input with these numbers, through an operator that changes none now and then."""
    value = g.fixed_input(elem, array)
    kind = g.rng.choice(["", "", "Identity", "Reshape"])
    if kind == "Identity":
        return g.node("Identity", [value])[0]
    return g.node("Reshape", [value, g.ints(array.shape)])[0] if kind else value


def indexed(g, bad):
    """One operator with indices, between others that may fuse with it."""
    op = g.rng.choice(OPS)
    elem = "i64" if op.endswith("ND") else g.rng.choice(["i64", "i64", "i32"])
    shape = [g.rng.choice([1, 2, 3, 5, 8, 17]) for _ in range(g.rng.randint(1, 3))]
    rank = len(shape)
    if g.rng.random() < 0.3:
        x = Value(g.weight("f32", shape), "f32", tuple(shape))  # an embedding
    else:
        x = g.input("f32", shape)
        if g.rng.random() < 0.4:
            x = g.add(g.rng.choice(["Tanh", "Neg", "Exp"]), [x], "f32", shape, 60)
    axis, depth = g.rng.randrange(rank), g.rng.randint(1, rank)
    if op == "Gather":
        rows = [g.rng.choice([1, 2, 4, 9]) for _ in range(g.rng.randint(1, 2))]
        y, = g.node(op, [x, given(g, drawn(g, rows, [shape[axis]], elem, bad), elem)], axis=axis)
    elif op in ("GatherElements", "ScatterElements"):
        lines = [g.rng.randint(1, e) for e in shape]
        numbers = drawn(g, lines, [shape[axis]], elem, bad)
        updates = []
        if op == "ScatterElements" and not bad:  # no element twice: the order is not defined
            rows = np.array(g.rng.sample(range(shape[axis]), lines[axis]), NUMPY[elem])
            numbers = np.array(np.broadcast_to(rows.reshape([-1 if i == axis else 1 for i in range(rank)]), lines))
        if op == "ScatterElements":
            updates = [g.constant(data(g.rng, "f32", lines, 3))]
        y, = g.node(op, [x, given(g, numbers, elem), *updates], axis=axis)
    else:
        rows = g.rng.randint(1, 5)
        numbers = drawn(g, [rows, depth], shape[:depth], elem, bad)
        updates = []
        if op == "ScatterND":
            if not bad:
                rows = 1
                numbers = numbers[:1]
            updates = [g.constant(data(g.rng, "f32", [rows, *shape[depth:]], 3))]
        y, = g.node(op, [x, given(g, numbers, elem), *updates])
    if g.rng.random() < 0.5:
        y, = g.node(g.rng.choice(["Relu", "Sigmoid", "Neg"]), [y])
    g.leaves.append(Value(y, "f32", ()))
