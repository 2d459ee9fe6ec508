# SPDX-License-Identifier: Apache-2.0
"""Convolutions with elements moved between them: maps that may lie in blocks of channels, in whatever dimension those are."""
import numpy as np

from graph import data

EXTENTS = [4, 8, 8, 12, 16, 16, 24, 32, 5]
LARGEST = 20000  # elements of a map


def conv(g, maps, x):
    c, m, k = x.shape[1], g.rng.choice(EXTENTS), g.rng.choice([1, 3, 3, 5])
    each = g.rng.random() < 0.2
    m, depth = (c, 1) if each else (m, c)
    stride = [g.rng.choice([1, 1, 2, 3]), g.rng.choice([1, 1, 2])]
    weights = data(g.rng, "f32", [m, depth, k, k], 1) / np.float32(depth * k)
    out = [(e + 2 * (k // 2) - k) // s + 1 for e, s in zip(x.shape[2:], stride)]
    if min(out) < 1 or x.shape[0] * m * out[0] * out[1] > LARGEST:
        return None
    bias = [g.weight("f32", [m])] if g.rng.random() < 0.5 else []
    return g.add("Conv", [x, g.constant(weights), *bias], "f32", [x.shape[0], m, *out], x.bound * k + 2, strides=stride,
                 pads=[k // 2] * 4, group=c if each else 1)


def activation(g, maps, x):
    return g.add(g.rng.choice(["Relu", "Tanh", "Sigmoid"]), [x], "f32", x.shape, max(x.bound, 1))


def order(g, maps, x):
    perm = [0, *g.rng.sample([1, 2, 3], 3)]
    return g.add("Transpose", [x], "f32", [x.shape[p] for p in perm], x.bound, perm=perm)


def part(g, maps, x):
    axis = g.rng.randint(1, 3)
    first = g.rng.choice([0, 1, 4, 8])
    last = x.shape[axis] - g.rng.choice([0, 0, 1, 4])
    if last <= first:
        return None
    shape = [last - first if a == axis else e for a, e in enumerate(x.shape)]
    return g.add("Slice", [x, g.ints([first]), g.ints([last]), g.ints([axis])], "f32", shape, x.bound)


def larger(g, maps, x):
    before, after = ([0] + [g.rng.choice([0, 0, 1, 4, 8]) for _ in range(3)] for _ in range(2))
    shape = [b + e + a for b, e, a in zip(before, x.shape, after)]
    return g.add("Pad", [x, g.ints(before + after)], "f32", shape, x.bound) if np.prod(shape) < LARGEST else None


def joined(g, maps, x):
    axis = g.rng.randint(1, 3)
    fitting = [v for v in maps if v.shape[:axis] == x.shape[:axis] and v.shape[axis + 1:] == x.shape[axis + 1:]]
    parts = [g.rng.choice(fitting) for _ in range(g.rng.randint(1, 3))] + [x]
    shape = [sum(p.shape[axis] for p in parts) if a == axis else e for a, e in enumerate(x.shape)]
    if np.prod(shape) > LARGEST:
        return None
    return g.add("Concat", parts, "f32", shape, max(p.bound for p in parts), axis=axis)


def sum_(g, maps, x):
    y = g.rng.choice([v for v in maps if v.shape == x.shape])
    return g.add("Add", [x, y], "f32", x.shape, x.bound + y.bound)


def reshaped(g, maps, x):
    """Two dimensions exchange a factor."""
    a, b = g.rng.sample([1, 2, 3], 2)
    if x.shape[a] % 4:
        return None
    shape = list(x.shape)
    shape[a], shape[b] = shape[a] // 4, shape[b] * 4
    return g.add("Reshape", [x, g.ints(shape)], "f32", shape, x.bound)


def pooled(g, maps, x):
    if min(x.shape[2:]) < 2:
        return None
    op, out = g.rng.choice(["MaxPool", "AveragePool"]), [(e - 2) // 2 + 1 for e in x.shape[2:]]
    return g.add(op, [x], "f32", [*x.shape[:2], *out], x.bound, kernel_shape=[2, 2], strides=[2, 2])


def mean(g, maps, x):
    axis = g.rng.randint(1, 3)
    axes = dict(axes=[axis]) if g.opset < 18 else {}
    return g.add("ReduceMean", [x] + ([] if axes else [g.ints([axis])]), "f32",
                 [1 if a == axis else e for a, e in enumerate(x.shape)], x.bound, keepdims=1, **axes)


STEPS = {conv: 8, activation: 4, order: 5, part: 2, larger: 2, joined: 3, sum_: 2, reshaped: 2, pooled: 1, mean: 1}


def feature_maps(g):
    x = g.input("f32", [g.rng.choice([1, 1, 2]), *(g.rng.choice(EXTENTS) for _ in range(3))])
    maps = [x]
    for _ in range(g.rng.randint(4, 14)):
        step = g.rng.choices(list(STEPS), list(STEPS.values()))[0]
        made = step(g, maps, maps[-1] if g.rng.random() < 0.8 else g.rng.choice(maps))
        if made is not None and made.bound < g.limit("f32"):
            maps.append(made)
