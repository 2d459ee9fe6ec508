# SPDX-License-Identifier: Apache-2.0
"""Emitters of operators that move elements, and of computed shapes."""
import numpy as np

from graph import FLOATS, NUMPY, Value, data


def same(g, op, x, shape, extra=(), **attributes):
    """A node whose elements are those of x."""
    return g.add(op, [x, *extra], x.elem, shape, x.bound, x.exact, **attributes)


def transpose(g):
    x = g.pick(lambda v: v.rank >= 1)
    if x is not None:
        perm = g.rng.sample(range(x.rank), x.rank)
        same(g, "Transpose", x, [x.shape[p] for p in perm], perm=perm)


def factors(g, size):
    """A shape of `size` elements."""
    shape = []
    while size > 1 and len(shape) < 3:
        f = g.rng.choice([d for d in range(1, size + 1) if size % d == 0])
        shape.append(f)
        size //= f
    shape.append(size)
    return shape


def reshape(g):
    x = g.pick()
    if x is None:
        return
    shape = factors(g, x.size) if x.size else list(x.shape)
    target = list(shape)
    if x.size and g.rng.random() < 0.4:
        target[g.rng.randrange(len(target))] = -1
    same(g, "Reshape", x, shape, [g.ints(target)])


def flatten(g):
    x = g.pick(lambda v: v.rank >= 1)
    if x is not None:
        axis = g.rng.randint(0, x.rank)
        rows = int(np.prod(x.shape[:axis], dtype=np.int64))
        same(g, "Flatten", x, [rows, int(np.prod(x.shape[axis:], dtype=np.int64))], axis=axis)


def computed_reshape(g):
    """Shape → Gather → Concat → Reshape, as exporters write it: the first dimension stays, the rest is joined."""
    x = g.pick(lambda v: v.rank >= 2 and v.size > 0)
    if x is None:
        return
    shape, = g.node("Shape", [x])
    if g.rng.random() < 0.5:
        first, = g.node("Gather", [shape, g.constant(np.array(0, np.int64))])
        first, = g.node("Unsqueeze", [first, g.ints([0])])
    else:
        first, = g.node("Slice", [shape, g.ints([0]), g.ints([1])])
    target, = g.node("Concat", [first, g.ints([-1])], axis=0)
    same(g, "Reshape", x, [x.shape[0], x.size // x.shape[0]], [target])


def shape_as_value(g):
    x = g.pick(lambda v: v.rank >= 1)
    if x is not None:
        g.add("Shape", [x], "i64", [x.rank], max(x.shape, default=1) + 1, True)


def filled(g):
    """ConstantOfShape, Expand or Range with an extent that was computed."""
    x = g.pick(lambda v: v.rank >= 1 and v.size <= 500)
    if x is None:
        return
    shape, = g.node("Shape", [x])
    kind = g.rng.choice(["expand", "fill", "range"])
    if kind == "expand":
        g.add("Expand", [g.weight(x.elem, [1]), shape], x.elem, x.shape, 2, True)
    elif kind == "fill":
        from onnx import helper, TensorProto
        value = helper.make_tensor("value", TensorProto.FLOAT, [1], [0.5])
        g.add("ConstantOfShape", [shape], "f32", x.shape, 1, True, value=value)
    else:
        end, = g.node("Gather", [shape, g.constant(np.array(-1, np.int64))])
        zero, one = g.constant(np.array(0, np.int64)), g.constant(np.array(1, np.int64))
        g.add("Range", [zero, end, one], "i64", [x.shape[-1]], x.shape[-1] + 1, True)


def squeeze(g):
    x = g.pick(lambda v: 1 in v.shape)
    if x is None:
        return
    axis = g.rng.choice([i for i, e in enumerate(x.shape) if e == 1])
    same(g, "Squeeze", x, x.shape[:axis] + x.shape[axis + 1:], [g.ints([axis - (x.rank if g.rng.random() < 0.5 else 0)])])


def unsqueeze(g):
    x = g.pick(lambda v: v.rank <= 4)
    if x is not None:
        axis = g.rng.randint(0, x.rank)
        same(g, "Unsqueeze", x, x.shape[:axis] + (1,) + x.shape[axis:], [g.ints([axis])])


def expand(g):
    x = g.pick(lambda v: v.size <= 500)
    if x is not None:
        shape = [g.rng.choice([2, 3])] * g.rng.randint(0, 1) + [e if e != 1 else g.extent() for e in x.shape]
        same(g, "Expand", x, shape, [g.ints(shape)])


def slice_(g):
    x = g.pick(lambda v: v.rank >= 1)
    if x is None:
        return
    axes = g.rng.sample(range(x.rank), g.rng.randint(1, x.rank))
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for axis in axes:
        e, step = x.shape[axis], g.rng.choice([1, 1, 2, -1, -2, 3])
        start, end = g.rng.randint(-e - 1, e + 1), g.rng.choice([g.rng.randint(-e - 1, e + 1), 2 ** 40, -2 ** 40])
        shape[axis] = slice_extent(e, start, end, step)
        starts.append(start), ends.append(end), steps.append(step)
    same(g, "Slice", x, shape, [g.ints(starts), g.ints(ends), g.ints(axes), g.ints(steps)])


def slice_extent(extent, start, end, step):
    start, end = (v + extent if v < 0 else v for v in (start, end))
    if step > 0:
        start, end = min(max(start, 0), extent), min(max(end, 0), extent)
    else:
        start, end = min(max(start, 0), extent - 1), min(max(end, -1), extent - 1)
    return max(0, -((start - end) // step)) if extent else 0


def pad(g):
    x = g.pick(lambda v: v.rank >= 1 and v.elem in ("f32", "f64", "i32", "i64") and v.size <= 4000)
    if x is None:
        return
    mode = g.rng.choice(["constant", "constant", "reflect", "edge"])
    if mode != "constant" and 0 in x.shape:
        return
    def side(extent):
        return g.rng.randint(0, min(3, extent - 1) if mode == "reflect" else 3)
    before, after = [side(e) for e in x.shape], [side(e) for e in x.shape]
    if mode == "constant" and g.rng.random() < 0.2:
        axis = g.rng.randrange(x.rank)
        before[axis] = -min(1, x.shape[axis])
    extra = [g.ints(before + after)]
    if mode == "constant" and g.rng.random() < 0.6:
        extra.append(g.constant(np.array(2, NUMPY[x.elem])))
    same(g, "Pad", x, [b + e + a for b, e, a in zip(before, x.shape, after)], extra, mode=mode)


def concat(g):
    x = g.pick(lambda v: v.rank >= 1)
    if x is None:
        return
    axis = g.rng.randrange(x.rank)
    def fits(v):
        return v.elem == x.elem and v.rank == x.rank and all(i == axis or a == b for i, (a, b) in enumerate(zip(v.shape, x.shape)))
    parts = [x] + [g.pick(fits) for _ in range(g.rng.randint(0, 2))]
    shape = list(x.shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    g.add("Concat", parts, x.elem, shape, max(p.bound for p in parts), all(p.exact for p in parts),
          axis=axis - (x.rank if g.rng.random() < 0.3 else 0))


def split(g):
    x = g.pick(lambda v: v.rank >= 1)
    if x is None:
        return
    axis = g.rng.randrange(x.rank)
    cut = g.rng.randint(0, x.shape[axis])
    names = g.node("Split", [x, g.ints([cut, x.shape[axis] - cut])], 2, axis=axis)
    for name, extent in zip(names, [cut, x.shape[axis] - cut]):
        g.values.append(Value(name, x.elem, x.shape[:axis] + (extent,) + x.shape[axis + 1:], x.bound, x.exact))


def tile(g):
    x = g.pick(lambda v: v.rank >= 1 and v.size <= 500)
    if x is not None:
        repeats = [g.rng.choice([1, 1, 2, 3, 0 if g.rng.random() < 0.1 else 1]) for _ in x.shape]
        same(g, "Tile", x, [e * r for e, r in zip(x.shape, repeats)], [g.ints(repeats)])


def indices(g, shape, extent):
    count = int(np.prod(shape, dtype=np.int64))
    return g.constant(np.array([g.rng.randint(-extent, extent - 1) for _ in range(count)], np.int64).reshape(shape))


def gather(g):
    x = g.pick(lambda v: v.rank >= 1 and v.size > 0)
    if x is None:
        return
    axis = g.rng.randrange(x.rank)
    op = g.rng.choice(["Gather", "GatherElements", "GatherND"])
    if op == "Gather":
        shape = [g.extent() for _ in range(g.rng.randint(0, 2))]
        same(g, op, x, x.shape[:axis] + tuple(shape) + x.shape[axis + 1:], [indices(g, shape, x.shape[axis])], axis=axis)
    elif op == "GatherElements":
        shape = [g.rng.randint(1, e) if i != axis else g.extent() for i, e in enumerate(x.shape)]
        same(g, op, x, shape, [indices(g, shape, x.shape[axis])], axis=axis)
    else:
        depth, rows = g.rng.randint(1, x.rank), g.rng.randint(1, 4)
        numbers = [[g.rng.randint(-e, e - 1) for e in x.shape[:depth]] for _ in range(rows)]
        same(g, op, x, (rows,) + x.shape[depth:], [g.constant(np.array(numbers, np.int64))])


def scatter(g):
    x = g.pick(lambda v: v.rank >= 1 and v.size > 0 and v.elem in FLOATS + ("i32", "i64"))
    if x is None:
        return
    if g.rng.random() < 0.5:
        axis = g.rng.randrange(x.rank)
        shape = [g.rng.randint(1, e) for e in x.shape]
        rows = g.rng.sample(range(x.shape[axis]), shape[axis])  # no element twice
        index = np.broadcast_to(np.array(rows).reshape([-1 if i == axis else 1 for i in range(x.rank)]), shape)
        updates = g.constant(data(g.rng, x.elem, shape, 3))
        same(g, "ScatterElements", x, x.shape, [g.constant(np.array(index, np.int64)), updates], axis=axis)
    else:
        rows = g.rng.sample(range(x.shape[0]), g.rng.randint(1, x.shape[0]))
        updates = g.constant(data(g.rng, x.elem, (len(rows),) + x.shape[1:], 3))
        same(g, "ScatterND", x, x.shape, [g.constant(np.array(rows, np.int64).reshape(-1, 1)), updates])


def blocks(g):
    x = g.pick(lambda v: v.rank == 4 and v.elem in ("f32", "f64") and v.size > 0)
    if x is None:
        return
    n, c, h, w = x.shape
    if c % 4 == 0:
        same(g, "DepthToSpace", x, (n, c // 4, h * 2, w * 2), blocksize=2, mode=g.rng.choice(["DCR", "CRD"]))
    elif h % 2 == 0 and w % 2 == 0:
        same(g, "SpaceToDepth", x, (n, c * 4, h // 2, w // 2), blocksize=2)


def triangle(g):
    x = g.pick(lambda v: v.rank >= 2 and v.elem in ("f32", "f64", "i64") and v.size > 0)
    if x is not None and g.opset >= 14:
        same(g, "Trilu", x, x.shape, [g.constant(np.array(g.rng.randint(-2, 2), np.int64))], upper=g.rng.randint(0, 1))


def one_hot(g):
    x = g.pick(lambda v: v.elem == "i64" and v.rank <= 3 and v.size <= 300)
    if x is not None:
        depth = g.rng.randint(1, 6)
        g.add("OneHot", [x, g.constant(np.array(depth, np.int64)), g.constant(np.array([0, 1], np.float32))], "f32",
              x.shape + (depth,), 1, True, axis=-1)


def data_dependent(g):
    """NonZero, Compress, Unique: sizes that only a run can tell."""
    op = g.rng.choice(["NonZero", "Compress", "Unique"])
    x = g.pick(lambda v: v.exact and v.rank >= 1 and v.elem in ("f32", "i64", "bool"[: 4 if op == "NonZero" else 0]))
    if x is None:
        return
    if op == "NonZero":
        name, elem = g.node(op, [x])[0], "i64"
    elif op == "Unique":
        name, elem = g.node(op, [x])[0], x.elem
    else:
        axis = g.rng.randrange(x.rank)
        name, elem = g.node(op, [x, g.constant(data(g.rng, "bool", [x.shape[axis]]))], axis=axis)[0], x.elem
    g.leaves.append(Value(name, elem, ()))


EMITTERS = {transpose: 4, reshape: 3, flatten: 1, computed_reshape: 3, shape_as_value: 1, filled: 2, squeeze: 1, unsqueeze: 2,
            expand: 2, slice_: 4, pad: 3, concat: 3, split: 2, tile: 1, gather: 4, scatter: 2, blocks: 1, triangle: 1,
            one_hot: 1, data_dependent: 1}
