# SPDX-License-Identifier: Apache-2.0
"""Operators along an axis: reductions, norms, scans, sorting."""
import numpy as np

from .row import Const, Row, between, ints, node, noise

REDUCTIONS = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]
PLACES = ("first", "middle", "last")


def reduce():
    for name in REDUCTIONS:
        op = f"Reduce{name}"
        for axes, what in (((0,), "first axis"), ((1,), "middle axis"), ((2,), "last axis"), ((0, 1, 2), "everything")):
            yield Row(op, what, lambda s, op=op, axes=axes: node(op, between(0.999, 1.001, s.cube), ints(*axes), keepdims=0))
    for op in ("ReduceSum", "ReduceMean", "ReduceMax"):
        yield Row(op, "of images' pixels", lambda s, op=op: node(op, noise(s.image), ints(2, 3)))
        yield Row(op, "of images' channels", lambda s, op=op: node(op, noise(s.image), ints(1)))
    for op in ("ReduceSum", "ReduceMax"):
        for axis, place in enumerate(PLACES):
            yield Row(op, f"i32, {place} axis", lambda s, op=op, a=axis: node(op, between(-99, 99, s.cube, np.int32), ints(a), keepdims=0))
    for op in ("ArgMax", "ArgMin"):
        for axis, place in enumerate(PLACES):
            yield Row(op, f"{place} axis", lambda s, op=op, a=axis: node(op, noise(s.cube), axis=a, keepdims=0))
        yield Row(op, "of one row", lambda s, op=op: node(op, noise((1, s.pick(1000, 50257, 8_000_000))), axis=1))


def norms():
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for axis, place in enumerate(PLACES):
            yield Row(op, f"{place} axis", lambda s, op=op, a=axis: node(op, noise(s.cube), axis=a))
    yield Row("Softmax", "rows of 1000", lambda s: node("Softmax", noise((s.pick(1, 65, 8000), 1000))))
    for p in (1, 2):
        for axis, place in enumerate(PLACES):
            yield Row("LpNormalization", f"{p}, {place} axis", lambda s, p=p, a=axis: node("LpNormalization", noise(s.cube), axis=a, p=p))
    weight = lambda *shape: Const(between(0.5, 2, shape))
    for axis, place in ((-1, "last axis"), (1, "last two axes"), (0, "everything")):
        def layer(s, op, axis, version, bias):
            shape = s.cube[axis:]
            return node(op, noise(s.cube), weight(*shape), *([weight(*shape)] if bias else []), version=version, axis=axis)
        yield Row("LayerNormalization", place, lambda s, a=axis: layer(s, "LayerNormalization", a, 17, True))
        yield Row("RMSNormalization", place, lambda s, a=axis: layer(s, "RMSNormalization", a, 23, False))
    yield Row("SimplifiedLayerNormalization", "last axis", lambda s: node(
        "SimplifiedLayerNormalization", noise(s.cube), weight(s.cube[2]), axis=-1))
    yield Row("BatchNormalization", "", lambda s: node("BatchNormalization", noise(s.image), *(weight(s.image[1]) for _ in range(4))))
    yield Row("InstanceNormalization", "", lambda s: node("InstanceNormalization", noise(s.image), weight(s.image[1]), weight(s.image[1])))
    yield Row("GroupNormalization", "2 groups", lambda s: node(
        "GroupNormalization", noise(s.image), weight(s.image[1]), weight(s.image[1]), num_groups=2))
    yield Row("MeanVarianceNormalization", "", lambda s: node("MeanVarianceNormalization", noise(s.image)))
    yield Row("LRN", "size 5", lambda s: node("LRN", noise(s.image), size=5))


def scans():
    for axis, place in enumerate(PLACES):
        yield Row("CumSum", f"{place} axis", lambda s, a=axis: node("CumSum", noise(s.cube), Const(np.int64(a))))
        yield Row("CumProd", f"{place} axis", lambda s, a=axis: node("CumProd", between(0.9, 1.1, s.cube), Const(np.int64(a)), version=26))
    yield Row("CumSum", "of one row", lambda s: node("CumSum", noise(s.count), Const(np.int64(0))))
    yield Row("CumSum", "i64, last axis", lambda s: node("CumSum", between(-9, 9, s.cube, np.int64), Const(np.int64(2))))


def sorting():
    for axis, place in enumerate(PLACES):
        yield Row("TopK", f"5, {place} axis", lambda s, a=axis: node("TopK", noise(s.cube), ints(5), outputs=2, axis=a))
        yield Row("TopK", f"half, {place} axis", lambda s, a=axis: node("TopK", noise(s.cube), ints(s.cube[a] // 2), outputs=2, axis=a))
        yield Row("TopK", f"all (sort), {place} axis", lambda s, a=axis: node("TopK", noise(s.cube), ints(s.cube[a]), outputs=2, axis=a))
    yield Row("TopK", "5 of long rows", lambda s: node("TopK", noise((s.pick(1, 2, 100), s.pick(1000, 33000, 50000))), ints(5), outputs=2))
    yield Row("TopK", "all (sort) of one row", lambda s: node("TopK", noise(s.pick(1000, 66000, 1_000_000)),
                                                              ints(s.pick(1000, 66000, 1_000_000)), outputs=2))


def losses():
    def loss(op, s):
        rows, classes = s.table
        return node(op, noise((rows, classes)), between(0, classes, rows, np.int64))
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        yield Row(op, "", lambda s, op=op: loss(op, s))


def rows():
    for part in (reduce, norms, scans, sorting, losses):
        yield from part()
