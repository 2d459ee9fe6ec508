# SPDX-License-Identifier: Apache-2.0
"""Emitters of element-wise operators. An emitter adds a node to the graph, or nothing when no value fits."""
import numpy as np

from graph import ELEM, FLOATS, INTS, NUMPY, data

SMOOTH = {  # operator: (bound of the result for a bound of the input, largest bound taken, opset)
    "Neg": (lambda b: b, 1e9, 1), "Abs": (lambda b: b, 1e9, 1), "Exp": (np.exp, 5, 1), "Tanh": (lambda b: 1, 1e9, 1),
    "Sigmoid": (lambda b: 1, 1e9, 1), "Erf": (lambda b: 1, 1e9, 1), "Relu": (lambda b: b, 1e9, 1),
    "LeakyRelu": (lambda b: b, 1e9, 1), "Elu": (lambda b: max(b, 1), 1e9, 1), "Softplus": (lambda b: b + 1, 80, 1),
    "HardSigmoid": (lambda b: 1, 1e9, 1), "HardSwish": (lambda b: b, 1e9, 14), "Sin": (lambda b: 1, 50, 1),
    "Cos": (lambda b: 1, 50, 1), "Atan": (lambda b: 2, 1e9, 1), "Softsign": (lambda b: 1, 1e9, 1),
    "Selu": (lambda b: 2 * b, 1e9, 1), "Mish": (lambda b: b, 80, 18), "Gelu": (lambda b: b, 1e9, 20),
    "Identity": (lambda b: b, 1e9, 1), "Celu": (lambda b: max(b, 1), 1e9, 12), "Sinh": (np.sinh, 5, 9),
    "Asinh": (lambda b: b, 1e9, 9), "ThresholdedRelu": (lambda b: b, 1e9, 10)}
EXACT = ("Neg", "Abs", "Relu", "Identity")
COMPARE = ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")


def unary(g):
    x = g.pick(lambda v: v.is_float)
    op = g.rng.choice([op for op, (_, _, since) in SMOOTH.items() if since <= g.opset])
    grow, most, _ = SMOOTH[op]
    if x is None or x.bound > most or grow(x.bound) > g.limit(x.elem) or (op == "ThresholdedRelu" and not x.exact):
        return
    g.add(op, [x], x.elem, x.shape, grow(x.bound), x.exact and op in EXACT)


def positive(g):
    """Sqrt, Log and Reciprocal of a value that was moved away from 0."""
    x = g.pick(lambda v: v.is_float)
    if x is None:
        return
    half = g.constant(np.array(0.5, NUMPY[x.elem]))
    away = g.add("Add", [g.add("Abs", [x], x.elem, x.shape, x.bound), half], x.elem, x.shape, x.bound + 1)
    op = g.rng.choice(["Sqrt", "Log", "Reciprocal"])
    g.add(op, [away], x.elem, x.shape, max(2.0, x.bound))


def stepped(g):
    op = g.rng.choice(["Floor", "Ceil", "Round", "Sign"])
    x = g.pick(lambda v: v.is_float and v.exact)
    if x is not None:
        g.add(op, [x], x.elem, x.shape, x.bound + 1, True)


def integer_unary(g):
    x = g.pick(lambda v: v.elem in INTS)
    ops = ["Neg", "Abs", "Sign"] + (["BitwiseNot"] if g.opset >= 18 else [])
    if x is not None:
        g.add(g.rng.choice(ops), [x], x.elem, x.shape, x.bound + 1, True)


def other_operand(g, x, nonzero=False):
    """A value or constant that broadcasts with x."""
    def fits(v):
        return v.elem == x.elem and v is not x and all(a == b or a == 1 or b == 1 for a, b in zip(v.shape[::-1], x.shape[::-1]))
    y = None if nonzero else g.pick(fits)
    if y is not None and g.rng.random() < 0.6:
        return y, y.shape, y.bound, y.exact
    shape = [e if g.rng.random() < 0.6 else 1 for e in x.shape[g.rng.randint(0, x.rank):]]
    numbers = data(g.rng, x.elem, shape, 3)
    if nonzero:
        numbers = np.where(numbers == 0, np.array(2, numbers.dtype), numbers)
        if x.is_float:  # not near 0
            numbers = np.where(np.abs(numbers) < 0.5, np.array(1.5, numbers.dtype), numbers)
        numbers = numbers.astype(NUMPY[x.elem])
    return g.constant(numbers), tuple(shape), 3.0, True


def arithmetic(g):
    x = g.pick(lambda v: v.elem in FLOATS + INTS)
    if x is None:
        return
    op = g.rng.choice(["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Mod", "PRelu"])
    if op == "PRelu" and not x.is_float:
        return
    if op == "Mod" and not (x.elem in INTS or x.exact):
        return
    y, shape, bound, exact = other_operand(g, x, nonzero=op in ("Div", "Mod"))
    out = np.broadcast_shapes(shape, x.shape)
    if op == "PRelu" and out != x.shape:
        return
    if op == "Pow":
        y, shape = g.constant(np.array(g.rng.choice([1, 2, 3]), NUMPY[x.elem])), ()
        out, bound = x.shape, x.bound ** 3
    grown = {"Add": x.bound + bound, "Sub": x.bound + bound, "Mul": x.bound * bound, "Div": 2 * x.bound,
             "Pow": bound, "PRelu": x.bound * bound}.get(op, max(x.bound, bound))
    if grown > g.limit(x.elem):
        return
    exact = x.elem in INTS or (x.exact and exact and op in ("Add", "Sub", "Max", "Min") and grown < 200)
    inputs = [x, y] if op in ("Div", "Mod", "Pow", "PRelu") or g.rng.random() < 0.5 else [y, x]
    attributes = {"fmod": 1} if op == "Mod" and (x.is_float or g.rng.random() < 0.5) else {}
    g.add(op, inputs, x.elem, out, grown, exact, **attributes)


def compare(g):
    x = g.pick(lambda v: v.exact and v.elem in FLOATS + INTS)
    if x is None:
        return
    y, shape, _, exact = other_operand(g, x)
    if exact:
        g.add(g.rng.choice(COMPARE), [x, y], "bool", np.broadcast_shapes(x.shape, shape), 1, True)


def logic(g):
    x = g.pick(lambda v: v.elem == "bool")
    if x is None:
        return
    if g.rng.random() < 0.3:
        g.add("Not", [x], "bool", x.shape, 1, True)
        return
    y, shape, _, _ = other_operand(g, x)
    g.add(g.rng.choice(["And", "Or", "Xor"]), [x, y], "bool", np.broadcast_shapes(x.shape, shape), 1, True)


def bitwise(g):
    x = g.pick(lambda v: v.elem in INTS)
    if x is None or g.opset < 18:
        return
    y, shape, bound, _ = other_operand(g, x)
    g.add(g.rng.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]), [x, y], x.elem, np.broadcast_shapes(x.shape, shape),
          2 * max(x.bound, bound) + 1, True)


def where(g):
    c = g.pick(lambda v: v.elem == "bool")
    x = g.pick(lambda v: c is not None and v.elem != "bool" and broadcast(v.shape, c.shape))
    if x is None:
        return
    y, shape, bound, exact = other_operand(g, x)
    if not broadcast(np.broadcast_shapes(x.shape, c.shape), shape):
        return
    g.add("Where", [c, x, y], x.elem, np.broadcast_shapes(c.shape, x.shape, shape), max(bound, x.bound), exact and x.exact)


def broadcast(a, b):
    return all(x == y or x == 1 or y == 1 for x, y in zip(a[::-1], b[::-1]))


def clip(g):
    x = g.pick(lambda v: v.elem in FLOATS + INTS + ("i8", "u8"))
    if x is None:
        return
    low, high = g.constant(np.array(1 if x.elem == "u8" else -1, NUMPY[x.elem])), g.constant(np.array(3, NUMPY[x.elem]))
    inputs = g.rng.choice([[x, low, high], [x, low], [x, "", high]])
    g.add("Clip", inputs, x.elem, x.shape, max(x.bound, 3), x.exact)


def cast(g):
    x = g.pick(lambda v: not v.is_float or v.exact)
    if x is None:
        return
    to = g.rng.choice([e for e in ("f32", "f64", "f16", "i32", "i64", "i8", "u8", "bool") if e != x.elem])
    if x.bound > g.limit(to) or (to == "u8" and x.elem != "bool"):  # negative to unsigned is not defined
        return
    g.add("Cast", [x], to, x.shape, x.bound, True, to=ELEM[to])


def several(g):
    """Sum, Max, Mean… of three."""
    x = g.pick(lambda v: v.elem == "f32")
    if x is None:
        return
    y, s1, b1, _ = other_operand(g, x)
    z, s2, b2, _ = other_operand(g, x)
    if not broadcast(np.broadcast_shapes(x.shape, s1), s2) or x.bound + b1 + b2 > g.limit(x.elem):
        return
    g.add(g.rng.choice(["Sum", "Mean", "Max", "Min"]), [x, y, z], x.elem, np.broadcast_shapes(x.shape, s1, s2), x.bound + b1 + b2)


def quantize(g):
    x = g.pick(lambda v: v.elem == "f32" and v.exact)
    if x is None:
        return
    scale = g.constant(np.array(0.25, np.float32))
    zero = g.constant(np.array(g.rng.randint(0, 20), g.rng.choice([np.uint8, np.int8])))
    elem = "u8" if g.initializers[-1].data_type == 2 else "i8"
    q = g.add("QuantizeLinear", [x, scale, zero], elem, x.shape, 127, True)
    if g.rng.random() < 0.7:
        g.add("DequantizeLinear", [q, scale, zero], "f32", x.shape, 64, True)


EMITTERS = {unary: 10, positive: 2, stepped: 2, integer_unary: 1, arithmetic: 12, compare: 3, logic: 2, bitwise: 1, where: 3,
            clip: 2, cast: 3, several: 1, quantize: 1}
