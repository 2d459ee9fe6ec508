# SPDX-License-Identifier: Apache-2.0
"""Emitters of reductions, products, windows, and normalisations."""
import numpy as np

from graph import FLOATS, Value

REAL = ("f32", "f64")


def reduce(g):
    x = g.pick(lambda v: v.rank >= 1 and v.elem in FLOATS + ("i32", "i64"))
    if x is None:
        return
    op = g.rng.choice(["Sum", "Mean", "Max", "Min", "L1", "L2", "LogSumExp", "SumSquare", "Prod"])
    axes = sorted(g.rng.sample(range(x.rank), g.rng.randint(1, x.rank)))
    count = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    if x.elem in ("i32", "i64") and op not in ("Sum", "Max", "Min"):
        return
    bound = {"Sum": x.bound * count, "L1": x.bound * count, "L2": x.bound * count, "SumSquare": x.bound ** 2 * count,
             "LogSumExp": x.bound + 10, "Prod": max(1, x.bound) ** min(count, 50)}.get(op, x.bound)
    if bound > g.limit(x.elem) or (op == "LogSumExp" and x.bound > 20):
        return
    keep = g.rng.randint(0, 1)
    shape = [1 if i in axes else e for i, e in enumerate(x.shape) if keep or i not in axes]
    exact = x.elem in ("i32", "i64") or (x.exact and op in ("Max", "Min"))
    as_input = g.opset >= 18 or op == "Sum"
    if g.rng.random() < 0.3:
        axes = [a - x.rank for a in axes]
    if as_input:
        g.add(f"Reduce{op}", [x, g.ints(axes)], x.elem, shape, bound, exact, keepdims=keep)
    else:
        g.add(f"Reduce{op}", [x], x.elem, shape, bound, exact, axes=axes, keepdims=keep)


def arg_reduce(g):
    x = g.pick(lambda v: v.exact and v.rank >= 1 and v.elem in ("f32", "f64", "i32") and v.size > 0)
    if x is not None:
        axis, keep = g.rng.randrange(x.rank), g.rng.randint(0, 1)
        shape = [1 if i == axis else e for i, e in enumerate(x.shape) if keep or i != axis]
        g.add(g.rng.choice(["ArgMax", "ArgMin"]), [x], "i64", shape, x.shape[axis], True, axis=axis, keepdims=keep,
              select_last_index=g.rng.randint(0, 1))


def cumulative(g):
    x = g.pick(lambda v: v.rank >= 1 and v.elem in ("f32", "f64", "i32", "i64"))
    if x is None:
        return
    axis = g.rng.randrange(x.rank)
    bound = x.bound * max(1, x.shape[axis])
    if bound < g.limit(x.elem):
        g.add("CumSum", [x, g.constant(np.array(axis, np.int64))], x.elem, x.shape, bound, x.exact,
              exclusive=g.rng.randint(0, 1), reverse=g.rng.randint(0, 1))


def top_k(g):
    x = g.pick(lambda v: v.exact and v.rank >= 1 and v.elem in ("f32", "f64", "i64"))
    if x is None:
        return
    axis = g.rng.randrange(x.rank)
    k = g.rng.randint(0, x.shape[axis])
    names = g.node("TopK", [x, g.ints([k])], 2, axis=axis, largest=g.rng.randint(0, 1), sorted=1)
    shape = x.shape[:axis] + (k,) + x.shape[axis + 1:]
    g.values.append(Value(names[0], x.elem, shape, x.bound, True))
    g.values.append(Value(names[1], "i64", shape, x.shape[axis] + 1, True))


def softmax(g):
    x = g.pick(lambda v: v.rank >= 1 and v.elem in FLOATS and v.size > 0)
    if x is not None:
        op = g.rng.choice(["Softmax", "Softmax", "LogSoftmax"])
        g.add(op, [x], x.elem, x.shape, 1 if op == "Softmax" else 2 * x.bound + 10, axis=g.rng.randrange(x.rank))


def norm(g):
    x = g.pick(lambda v: v.rank >= 2 and v.elem == "f32" and v.size > 0 and v.bound < 100)
    if x is None:
        return
    op = g.rng.choice(["LayerNormalization", "BatchNormalization", "InstanceNormalization", "LpNormalization"])
    if op == "LayerNormalization" and g.opset >= 17:
        axis = g.rng.randint(1, x.rank - 1)
        g.add(op, [x, g.weight("f32", x.shape[axis:]), g.weight("f32", x.shape[axis:])], "f32", x.shape, 30, axis=axis - x.rank)
    elif op == "BatchNormalization":
        c = x.shape[1]
        var = g.constant(np.array([g.rng.randint(4, 12) / 4 for _ in range(c)], np.float32))
        g.add(op, [x, g.weight("f32", [c]), g.weight("f32", [c]), g.weight("f32", [c]), var], "f32", x.shape, 4 * x.bound + 10)
    elif op == "InstanceNormalization" and x.rank >= 3:
        g.add(op, [x, g.weight("f32", [x.shape[1]]), g.weight("f32", [x.shape[1]])], "f32", x.shape, 50)
    elif op == "LpNormalization" and x.exact:
        moved = g.add("Add", [x, g.constant(np.array(9, np.float32))], "f32", x.shape, x.bound + 9)  # no norm of 0
        g.add(op, [moved], "f32", x.shape, 1, axis=g.rng.randrange(x.rank), p=g.rng.choice([1, 2]))


def matmul(g):
    x = g.pick(lambda v: v.rank >= 1 and v.elem in REAL)
    if x is None:
        return
    k, n = x.shape[-1], g.extent()
    bound = x.bound * 2 * max(k, 1)
    if bound > g.limit(x.elem):
        return
    def fits(v):
        return v.elem == x.elem and v.rank == 2 and v.shape[0] == k and v.bound * x.bound * k < g.limit(x.elem)
    y = g.pick(fits) if g.rng.random() < 0.5 else None
    if y is not None:
        g.add("MatMul", [x, y], x.elem, x.shape[:-1] + (y.shape[1],), x.bound * y.bound * max(k, 1))
        return
    kind = g.rng.choice(["matrix", "batch", "vector", "gemm", "einsum"])
    if kind == "matrix" or (kind == "batch" and x.rank < 3):
        g.add("MatMul", [x, g.weight(x.elem, [k, n])], x.elem, x.shape[:-1] + (n,), bound)
    elif kind == "batch":
        batch = [e if g.rng.random() < 0.5 else 1 for e in x.shape[:-2]]
        g.add("MatMul", [x, g.weight(x.elem, batch + [k, n])], x.elem, x.shape[:-1] + (n,), bound)
    elif kind == "vector":
        g.add("MatMul", [x, g.weight(x.elem, [k])], x.elem, x.shape[:-1], bound)
    elif kind == "gemm" and x.rank == 2:
        swap = g.rng.randint(0, 1)
        extra = [g.weight(x.elem, g.rng.choice([[n], [1, n], [x.shape[0], 1], []]))] if g.rng.random() < 0.7 else []
        g.add("Gemm", [x, g.weight(x.elem, [n, k] if swap else [k, n]), *extra], x.elem, (x.shape[0], n), bound + 2,
              transB=swap, alpha=g.rng.choice([1.0, 0.5]), beta=g.rng.choice([1.0, 0.5]))
    elif kind == "einsum" and x.rank == 3 and not g.symbols:  # ONNX Runtime lets an extent of 1 stand for any
        g.add("Einsum", [x, g.weight(x.elem, [k, n])], x.elem, (x.shape[1], x.shape[0], n), bound, equation="bik,kn->ibn")


def image(g, want=lambda v: True):
    """A value of rank 3 or 4 in f32, without extent 0: an existing one or a reshaped one."""
    return g.pick(lambda v: v.elem == "f32" and v.rank in (3, 4) and v.size > 0 and v.bound < 200 and want(v))


def window(g, x):
    """Kernel, strides, dilations, pads and the result's extents."""
    kernel, strides, dilations, begins, ends, out = [], [], [], [], [], []
    for e in x.shape[2:]:
        k, s = g.rng.choice([1, 2, 3]), g.rng.choice([1, 1, 2])
        d = g.rng.choice([1, 1, 2]) if k > 1 else 1
        b, a = g.rng.randint(0, k - 1), g.rng.randint(0, k - 1)
        extent = (e + b + a - d * (k - 1) - 1) // s + 1
        if extent <= 0 or e + b + a < d * (k - 1) + 1:
            return None
        kernel.append(k), strides.append(s), dilations.append(d), begins.append(b), ends.append(a), out.append(extent)
    return dict(kernel_shape=kernel, strides=strides, dilations=dilations, pads=begins + ends), out


def conv(g):
    x = image(g)
    w = x and window(g, x)
    if not w:
        return
    attributes, out = w
    c = x.shape[1]
    group = c if g.rng.random() < 0.25 else 1
    m = group * g.rng.choice([1, 2]) if group > 1 else g.rng.choice([1, 3, 4, 8, 16])
    bound = x.bound * 2 * (c // group) * int(np.prod(attributes["kernel_shape"])) + 2
    if bound > g.limit("f32"):
        return
    bias = [g.weight("f32", [m])] if g.rng.random() < 0.6 else []
    g.add("Conv", [x, g.weight("f32", [m, c // group, *attributes["kernel_shape"]], 1), *bias], "f32", (x.shape[0], m, *out),
          bound, group=group, **attributes)


def pool(g):
    x = image(g)
    w = x and window(g, x)
    if not w:
        return
    attributes, out = w
    if g.rng.random() < 0.3:
        op = g.rng.choice(["GlobalAveragePool", "GlobalMaxPool"])
        g.add(op, [x], "f32", x.shape[:2] + (1,) * (x.rank - 2), x.bound, x.exact and op == "GlobalMaxPool")
    elif g.rng.random() < 0.5:
        g.add("MaxPool", [x], "f32", (*x.shape[:2], *out), x.bound, x.exact, **attributes)
    else:
        if g.opset < 19:
            if any(d != 1 for d in attributes.pop("dilations")):
                return
        g.add("AveragePool", [x], "f32", (*x.shape[:2], *out), x.bound, count_include_pad=g.rng.randint(0, 1), **attributes)


EMITTERS = {reduce: 6, arg_reduce: 2, cumulative: 2, top_k: 2, softmax: 2, norm: 3, matmul: 5, conv: 4, pool: 3}
