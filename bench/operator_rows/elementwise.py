# SPDX-License-Identifier: Apache-2.0
"""Operators that work on each element alone."""
import numpy as np
from onnx import TensorProto

from .row import Const, Row, between, bools, ints, node, noise

UNARY = ["Abs", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "Identity",
         "IsInf", "IsNaN", "LeakyRelu", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin",
         "Sinh", "Cosh", "Softplus", "Softsign", "Tan", "Tanh", "ThresholdedRelu"]
RANGES = {"Acos": (-0.9, 0.9), "Asin": (-0.9, 0.9), "Atanh": (-0.9, 0.9), "Acosh": (1.1, 9), "Log": (0.1, 9), "Sqrt": (0, 9)}
BINARY = ["Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu"]
COMPARE = ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]
CASTS = [("f32", np.float32, "i32", TensorProto.INT32), ("f32", np.float32, "i64", TensorProto.INT64),
         ("f32", np.float32, "f16", TensorProto.FLOAT16), ("f32", np.float32, "f64", TensorProto.DOUBLE),
         ("f32", np.float32, "u8", TensorProto.UINT8), ("f32", np.float32, "bool", TensorProto.BOOL),
         ("i64", np.int64, "f32", TensorProto.FLOAT), ("i64", np.int64, "i32", TensorProto.INT32),
         ("u8", np.uint8, "f32", TensorProto.FLOAT), ("f16", np.float16, "f32", TensorProto.FLOAT),
         ("bool", np.bool_, "f32", TensorProto.FLOAT)]


def along(shape, axis):
    """The shape of a vector that broadcasts along all axes but one."""
    return [e if a == axis else 1 for a, e in enumerate(shape)]


def unary():
    for op in UNARY:
        yield Row(op, "", lambda s, op=op: node(op, noise(s.cube)))
    for op, (low, high) in RANGES.items():
        yield Row(op, "", lambda s, op=op, low=low, high=high: node(op, between(low, high, s.cube)))
    yield Row("Gelu", "erf", lambda s: node("Gelu", noise(s.cube)))
    yield Row("Gelu", "tanh", lambda s: node("Gelu", noise(s.cube), approximate="tanh"))
    yield Row("Swish", "", lambda s: node("Swish", noise(s.cube), version=24))
    yield Row("SwiGLU", "", lambda s: node("SwiGLU", noise(s.cube), between(0, 1, s.cube), version=28))
    yield Row("Clip", "both bounds", lambda s: node("Clip", noise(s.cube), Const(np.float32(-1)), Const(np.float32(1))))
    yield Row("Clip", "i32", lambda s: node("Clip", between(-99, 99, s.cube, np.int32), Const(np.int32(-9)), Const(np.int32(9))))
    yield Row("Dropout", "inference", lambda s: node("Dropout", noise(s.cube)))
    yield Row("Not", "bool", lambda s: node("Not", bools(s.cube)))
    yield Row("BitwiseNot", "i32", lambda s: node("BitwiseNot", between(-99, 99, s.cube, np.int32)))
    for op in ("Abs", "Neg", "Sign"):
        yield Row(op, "i64", lambda s, op=op: node(op, between(-99, 99, s.cube, np.int64)))
    yield Row("BitCast", "f32 to i32", lambda s: node("BitCast", noise(s.cube), version=26, to=TensorProto.INT32))


def casts():
    for source, dtype, to, code in CASTS:
        def make(s, dtype=dtype, code=code):
            x = bools(s.cube) if dtype == np.bool_ else between(0, 99, s.cube, dtype)
            return node("Cast", x, to=code)
        yield Row("Cast", f"{source} to {to}", make)
    yield Row("CastLike", "f32 to i32", lambda s: node("CastLike", between(0, 99, s.cube), Const(np.zeros(1, np.int32))))


def binary():
    for op in BINARY:
        yield Row(op, "", lambda s, op=op: node(op, noise(s.cube), between(0.5, 2, s.cube)))
    for op in COMPARE:
        yield Row(op, "", lambda s, op=op: node(op, noise(s.cube), between(-1, 1, s.cube)))
    for op in ("Add", "Mul", "Div", "Max", "Less", "PRelu", "Pow"):
        for axis, place in enumerate(("first", "middle", "last")):
            yield Row(op, f"with a vector, {place} axis",
                      lambda s, op=op, axis=axis: node(op, between(0.1, 2, s.cube), between(0.5, 2, along(s.cube, axis))))
        yield Row(op, "with a number", lambda s, op=op: node(op, between(0.1, 2, s.cube), between(0.5, 2, [1])))
    yield Row("Add", "of two vectors to a matrix", lambda s: node("Add", noise((s.table[0], 1)), noise((1, s.table[1]))))
    yield Row("Pow", "", lambda s: node("Pow", between(0.1, 3, s.cube), between(0.5, 2, s.cube)))
    yield Row("Pow", "2", lambda s: node("Pow", noise(s.cube), Const(np.float32(2))))
    yield Row("Pow", "0.5", lambda s: node("Pow", between(0.1, 3, s.cube), Const(np.float32(0.5))))
    yield Row("Mod", "fmod", lambda s: node("Mod", noise(s.cube), between(0.5, 2, s.cube), fmod=1))
    for dtype, name in ((np.int32, "i32"), (np.int64, "i64")):
        yield Row("Mod", name, lambda s, d=dtype: node("Mod", between(-999, 999, s.cube, d), between(1, 20, s.cube, d)))
        for op in ("Add", "Mul", "Div", "Equal", "Less", "Max"):
            yield Row(op, name, lambda s, op=op, d=dtype: node(op, between(-999, 999, s.cube, d), between(1, 20, s.cube, d)))
    for op in ("Add", "Mul"):
        yield Row(op, "f64", lambda s, op=op: node(op, noise(s.cube, np.float64), between(0.5, 2, s.cube, np.float64)))
        yield Row(op, "f16", lambda s, op=op: node(op, noise(s.cube, np.float16), between(0.5, 2, s.cube, np.float16)))
    for op in ("And", "Or", "Xor", "Equal"):
        yield Row(op, "bool", lambda s, op=op: node(op, bools(s.cube), bools(s.cube, 4)))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        yield Row(op, "i32", lambda s, op=op: node(op, between(-999, 999, s.cube, np.int32), between(0, 99, s.cube, np.int32)))
    for way in ("LEFT", "RIGHT"):
        yield Row("BitShift", f"{way.lower()}, u32", lambda s, way=way: node(
            "BitShift", between(0, 999, s.cube, np.uint32), between(0, 9, s.cube, np.uint32), direction=way))


def several():
    for op in ("Sum", "Mean", "Max", "Min"):
        yield Row(op, "of three", lambda s, op=op: node(op, noise(s.cube), between(0, 1, s.cube), between(-1, 0, s.cube)))
    yield Row("Where", "", lambda s: node("Where", bools(s.cube), noise(s.cube), between(0, 1, s.cube)))
    yield Row("Where", "with a number", lambda s: node("Where", bools(s.cube), noise(s.cube), Const(np.float32(0))))
    for axis, place in enumerate(("first", "middle", "last")):
        yield Row("Where", f"condition along the {place} axis",
                  lambda s, axis=axis: node("Where", bools(along(s.cube, axis)), noise(s.cube), between(0, 1, s.cube)))
    yield Row("Expand", "of a number", lambda s: node("Expand", noise([1, 1, 1]), ints(*s.cube)))
    for axis, place in enumerate(("first", "middle", "last")):
        yield Row("Expand", f"of a vector along the {place} axis",
                  lambda s, axis=axis: node("Expand", noise(along(s.cube, axis)), ints(*s.cube)))


def rows():
    yield from unary()
    yield from casts()
    yield from binary()
    yield from several()
