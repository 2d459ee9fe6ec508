# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, or choose some of them."""
import itertools

import numpy as np
from onnx import helper

from .row import Const, Model, Row, between, bools, ints, node, noise

PLACES = ("first", "middle", "last")


def with_extent(shape, axis, extent):
    return tuple(extent if a == axis else e for a, e in enumerate(shape))


def joins():
    for axis, place in enumerate(PLACES):
        yield Row("Concat", f"of 2, {place} axis", lambda s, a=axis: node("Concat", noise(s.cube), between(0, 1, s.cube), axis=a))
        yield Row("Concat", f"of 40, {place} axis", lambda s, a=axis: node(
            "Concat", *(between(0, 1, with_extent(s.cube, a, max(1, s.cube[a] // 40))) for _ in range(40)), axis=a))
        yield Row("Split", f"in 2, {place} axis", lambda s, a=axis: node(
            "Split", noise(with_extent(s.cube, a, s.cube[a] // 2 * 2)), outputs=2, axis=a, num_outputs=2))
        yield Row("Split", f"in 5, {place} axis", lambda s, a=axis: node(
            "Split", noise(with_extent(s.cube, a, max(1, s.cube[a] // 5) * 5)), outputs=5, axis=a, num_outputs=5))
        yield Row("Tile", f"4 times, {place} axis", lambda s, a=axis: node(
            "Tile", noise(with_extent(s.cube, a, max(1, s.cube[a] // 4))), ints(*with_extent((1, 1, 1), a, 4))))
    yield Row("Concat", "of 500 rows", lambda s: node("Concat", *(between(0, 1, (1, s.pick(4, 130, 16000))) for _ in range(500)), axis=0))
    yield Row("Tile", "10 by 10", lambda s: node("Tile", noise(s.pick((3, 4), (25, 27), (290, 290))), ints(10, 10)))


def slices():
    for axis, place in enumerate(PLACES):
        def cut(s, axis, first, last, step):
            e = s.cube[axis]
            return node("Slice", noise(s.cube), ints(first), ints(e - last if step > 0 else -2 ** 62), ints(axis), ints(step))
        yield Row("Slice", f"a part, {place} axis", lambda s, a=axis: cut(s, a, 1, 1, 1))
        yield Row("Slice", f"every second, {place} axis", lambda s, a=axis: cut(s, a, 0, 0, 2))
        yield Row("Slice", f"backwards, {place} axis", lambda s, a=axis: cut(s, a, -1, 0, -1))
    for mode in ("constant", "reflect", "edge", "wrap"):
        for axis, place in enumerate(PLACES):
            yield Row("Pad", f"{mode}, {place} axis", lambda s, a=axis, mode=mode: node(
                "Pad", noise(s.cube), ints(*with_extent((0, 0, 0), a, 3), *with_extent((0, 0, 0), a, 2)), mode=mode))
        yield Row("Pad", f"{mode}, of images", lambda s, mode=mode: node("Pad", noise(s.image), ints(0, 0, 2, 3, 0, 0, 2, 3), mode=mode))
    yield Row("CenterCropPad", "", lambda s: node("CenterCropPad", noise(s.cube), ints(s.cube[1] + 4, s.cube[2] - 4), axes=[1, 2]))


def orders():
    for perm in list(itertools.permutations(range(3)))[1:]:
        yield Row("Transpose", "".join(map(str, perm)), lambda s, perm=perm: node("Transpose", noise(s.cube), perm=perm))
    for perm in ((0, 2, 3, 1), (0, 3, 1, 2), (0, 2, 1, 3)):
        yield Row("Transpose", "".join(map(str, perm)), lambda s, perm=perm: node("Transpose", noise(s.image), perm=perm))
    yield Row("Transpose", "10", lambda s: node("Transpose", noise(s.table), perm=[1, 0]))
    yield Row("Transpose", "10, u8", lambda s: node("Transpose", between(0, 99, s.table, np.uint8), perm=[1, 0]))
    for mode in ("DCR", "CRD"):
        yield Row("DepthToSpace", mode, lambda s, mode=mode: node("DepthToSpace", noise(s.image), blocksize=2, mode=mode))
    yield Row("SpaceToDepth", "", lambda s: node("SpaceToDepth", noise((*s.image[:2], *(e // 2 * 2 for e in s.image[2:]))), blocksize=2))
    for time, batch in ((0, 1), (1, 0)):
        yield Row("ReverseSequence", f"time axis {time}", lambda s, t=time, b=batch: node(
            "ReverseSequence", noise(s.cube), between(1, s.cube[t] + 1, s.cube[b], np.int64), time_axis=t, batch_axis=b))


def views():
    yield Row("Reshape", "", lambda s: node("Reshape", noise(s.cube), ints(-1, s.cube[2])))
    yield Row("Flatten", "", lambda s: node("Flatten", noise(s.cube), axis=1))
    yield Row("Squeeze", "", lambda s: node("Squeeze", noise((1, *s.cube)), ints(0)))
    yield Row("Unsqueeze", "", lambda s: node("Unsqueeze", noise(s.cube), ints(1)))
    yield Row("Shape", "", lambda s: node("Shape", noise(s.cube)), ("small",))
    yield Row("Size", "", lambda s: node("Size", noise(s.cube)), ("small",))
    yield Row("Upsample", "by 2, nearest", lambda s: node(
        "Upsample", noise(s.pick((1, 4, 8, 8), (1, 16, 32, 31), (4, 32, 127, 129))), Const(np.array([1, 1, 2, 2], np.float32)), version=9))


def gathers():
    for axis, place in enumerate(PLACES):
        yield Row("Gather", f"{place} axis", lambda s, a=axis: node("Gather", noise(s.cube), between(0, s.cube[a], s.cube[a], np.int64), axis=a))
        yield Row("GatherElements", f"{place} axis", lambda s, a=axis: node(
            "GatherElements", noise(s.cube), between(0, s.cube[a], s.cube, np.int64), axis=a))
        yield Row("Compress", f"{place} axis", lambda s, a=axis: node("Compress", noise(s.cube), bools(s.cube[a]), axis=a))
    yield Row("Gather", "one, last axis", lambda s: node("Gather", noise(s.cube), np.array(1), axis=2))
    yield Row("Gather", "rows of an embedding", lambda s: node(
        "Gather", Const(noise((s.pick(40, 1000, 60000), s.pick(24, 64, 256)))), between(0, s.pick(40, 1000, 60000), s.pick(30, 1000, 16000), np.int64)))
    yield Row("Gather", "single elements", lambda s: node("Gather", noise(s.count), between(0, s.count, s.count, np.int64)))
    yield Row("GatherND", "elements", lambda s: node("GatherND", noise(s.cube), between(0, min(s.cube), (s.count // 4, 3), np.int64)))
    yield Row("GatherND", "rows", lambda s: node("GatherND", noise(s.cube), between(0, min(s.cube[:2]), (s.table[0], 2), np.int64)))
    yield Row("Compress", "of elements", lambda s: node("Compress", noise(s.cube), bools(s.count)))
    yield Row("NonZero", "f32, half of them", lambda s: node("NonZero", noise(s.cube) * bools(s.cube)))
    yield Row("NonZero", "bool, half of them", lambda s: node("NonZero", bools(s.cube)))
    yield Row("Unique", "of many values, sorted", lambda s: node("Unique", between(0, s.count // 2, s.pick(s.count, s.count, s.count // 8), np.int64)))
    yield Row("Unique", "of 100 values, sorted", lambda s: node("Unique", between(0, 100, s.pick(s.count, s.count, s.count // 8), np.int64)))
    yield Row("Unique", "of rows", lambda s: node("Unique", between(0, 3, s.pick((60, 4), (3000, 4), (60000, 4)), np.float32).round(), axis=0))


def permuted(shape, axis):
    """Each index along the axis once, in a random order for every line."""
    order = np.argsort(np.random.default_rng(5).random(shape, np.float32), axis=axis)
    return order.astype(np.int64)


def scatters():
    for axis, place in enumerate(PLACES):
        yield Row("ScatterElements", f"{place} axis", lambda s, a=axis: node(
            "ScatterElements", noise(s.cube), permuted(s.cube, a), between(0, 1, s.cube), axis=a))
        yield Row("ScatterElements", f"add, {place} axis", lambda s, a=axis: node(
            "ScatterElements", noise(s.cube), between(0, s.cube[a], s.cube, np.int64), between(0, 1, s.cube), axis=a, reduction="add"))
    yield Row("Scatter", "last axis", lambda s: node("Scatter", noise(s.cube), permuted(s.cube, 2), between(0, 1, s.cube), version=9, axis=2))
    for reduction in ("none", "add", "max"):
        yield Row("ScatterND", f"rows, {reduction}", lambda s, r=reduction: node(
            "ScatterND", noise(s.table), permuted((s.table[0] // 2, 1), 0), between(0, 1, (s.table[0] // 2, s.table[1])), reduction=r))
    yield Row("ScatterND", "elements", lambda s: node(
        "ScatterND", noise(s.count), permuted((s.count // 2, 1), 0), between(0, 1, s.count // 2)))
    yield Row("TensorScatter", "", lambda s: node(
        "TensorScatter", noise((2, *s.cube)[:4]), between(0, 1, (2, s.cube[0], 2, s.cube[2])), between(0, 3, 2, np.int64), version=24, axis=2))


def made():
    yield Row("Range", "i64", lambda s: node("Range", np.array(0), np.array(s.count), np.array(1)))
    yield Row("Range", "f32", lambda s: node("Range", np.float32(0), np.float32(s.count), np.float32(1)))
    yield Row("ConstantOfShape", "", lambda s: node("ConstantOfShape", np.array(s.cube), value=helper.make_tensor("value", 1, [1], [0.5])))
    yield Row("Constant", "", constant)
    yield Row("EyeLike", "", lambda s: node("EyeLike", noise(s.table)))
    for upper in (0, 1):
        yield Row("Trilu", "upper" if upper else "lower", lambda s, u=upper: node("Trilu", noise(s.cube), upper=u))
    for axis, place in ((0, "first"), (1, "middle"), (2, "last")):
        yield Row("OneHot", f"{place} axis", lambda s, a=axis: node(
            "OneHot", between(0, 50, s.pick((4, 5), (30, 44), (400, 420)), np.int64), Const(np.int64(50)), Const(np.array([0, 1], np.float32)), axis=a))


def constant(s):
    model = Model()
    x = model.input(noise([1]))
    model.outputs = [model.add("Identity", [x]), model.add("Constant", [], value=helper.make_tensor("value", 1, s.table, noise(s.table).tobytes(), raw=True))]
    return model


def rows():
    for part in (joins, slices, orders, views, gathers, scatters, made):
        yield from part()
