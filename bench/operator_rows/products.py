# SPDX-License-Identifier: Apache-2.0
"""Matrix products, recurrences, attention, transforms, and products of small integers."""
import numpy as np

from .row import Const, Row, between, node, noise


def matrices():
    yield Row("MatMul", "with a constant", lambda s: node("MatMul", noise(s.sides[:2]), Const(noise(s.sides[1:]))))
    yield Row("MatMul", "of two inputs", lambda s: node("MatMul", noise(s.sides[:2]), noise(s.sides[1:])))
    yield Row("MatMul", "vector and matrix", lambda s: node("MatMul", noise((1, s.table[0])), Const(noise(s.table))))
    yield Row("MatMul", "matrix and vector", lambda s: node("MatMul", Const(noise(s.table)), noise((s.table[1], 1))))
    yield Row("MatMul", "outer", lambda s: node("MatMul", noise((s.table[0], 1)), noise((1, s.table[1]))))
    yield Row("MatMul", "batch", lambda s: node("MatMul", noise(batch(s, 40)), noise(batch(s, 40)[:2] + (40, 45))))
    yield Row("MatMul", "f64", lambda s: node("MatMul", noise(s.sides[:2], np.float64), noise(s.sides[1:], np.float64)))
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        def gemm(s, a, b):
            m, k, n = s.sides
            return node("Gemm", noise((k, m) if a else (m, k)), Const(noise((n, k) if b else (k, n))), Const(noise(n)), transA=a, transB=b)
        yield Row("Gemm", f"transA {a}, transB {b}", lambda s, a=a, b=b: gemm(s, a, b))
    einsum = lambda equation, *operands: node("Einsum", *operands, equation=equation)
    yield Row("Einsum", "bij,bjk->bik", lambda s: einsum(
        "bij,bjk->bik", noise((s.pick(2, 20, 800), 42, 40)), noise((s.pick(2, 20, 800), 40, 45))))
    yield Row("Einsum", "bhid,bhjd->bhij", lambda s: einsum("bhid,bhjd->bhij", *(noise((*batch(s, 40)[:2], 45, 40)) for _ in range(2))))
    yield Row("Einsum", "ij->j", lambda s: einsum("ij->j", noise(s.table)))
    yield Row("Det", "", lambda s: node("Det", noise(s.pick((4, 5, 5), (300, 14, 14), (8000, 33, 33)))))


def batch(s, terms):
    return (*s.pick((1, 2), (2, 10), (20, 40)), 42, terms)


def integers():
    u8 = lambda *shape: between(0, 99, shape, np.uint8)
    i8 = lambda *shape: Const(between(-99, 99, shape, np.int8))
    one = lambda value, dtype=np.float32: Const(np.array(value, dtype))
    zero = one(7, np.uint8)
    yield Row("MatMulInteger", "u8, i8", lambda s: node("MatMulInteger", u8(*s.sides[:2]), i8(*s.sides[1:]), zero))
    yield Row("QLinearMatMul", "u8, i8", lambda s: node(
        "QLinearMatMul", u8(*s.sides[:2]), one(0.1), zero, i8(*s.sides[1:]), one(0.1), one(0, np.int8), one(50), zero))
    yield Row("QLinearConv", "3x3, u8, i8", lambda s: node(
        "QLinearConv", u8(*s.image), one(0.1), zero, i8(s.image[1], s.image[1], 3, 3), one(0.1), one(0, np.int8), one(9), zero, pads=[1] * 4))
    yield Row("QuantizeLinear", "u8", lambda s: node("QuantizeLinear", noise(s.cube), one(0.05), zero))
    yield Row("DequantizeLinear", "u8", lambda s: node("DequantizeLinear", u8(*s.cube), one(0.05), zero))
    for axis, place in enumerate(("first", "middle", "last")):
        scales = lambda s, a: (Const(between(0.05, 0.2, s.cube[a])), Const(between(0, 9, s.cube[a], np.uint8)))
        yield Row("QuantizeLinear", f"{place} axis", lambda s, a=axis: node("QuantizeLinear", noise(s.cube), *scales(s, a), axis=a))
        yield Row("DequantizeLinear", f"{place} axis", lambda s, a=axis: node("DequantizeLinear", u8(*s.cube), *scales(s, a), axis=a))
    yield Row("DynamicQuantizeLinear", "", lambda s: node("DynamicQuantizeLinear", noise(s.cube), outputs=3))


def recurrences():
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        def recurrent(s, op, gates, way="forward"):
            steps, width, hidden = s.pick((5, 12, 16), (20, 60, 64), (50, 1000, 1024))
            d = 2 if way == "bidirectional" else 1
            return node(op, noise((steps, 1, width)), Const(noise((d, gates * hidden, width)) * 0.05),
                        Const(noise((d, gates * hidden, hidden)) * 0.05), Const(noise((d, 2 * gates * hidden))),
                        hidden_size=hidden, direction=way, outputs=2)
        yield Row(op, "", lambda s, op=op, gates=gates: recurrent(s, op, gates))
        yield Row(op, "bidirectional", lambda s, op=op, gates=gates: recurrent(s, op, gates, "bidirectional"))


def attention():
    heads = lambda s: s.pick((1, 2, 9, 8), (1, 4, 80, 64), (2, 12, 1000, 64))
    for causal in (0, 1):
        yield Row("Attention", "causal" if causal else "", lambda s, c=causal: node(
            "Attention", *(noise(heads(s)) for _ in range(3)), version=24, is_causal=c))
    def rotary(s):
        b, h, t, d = s.pick((1, 2, 9, 12), (1, 10, 100, 64), (2, 32, 2000, 64))
        return node("RotaryEmbedding", noise((b, h, t, d)), *(Const(noise((t, d // 2))) for _ in range(2)),
                    np.tile(np.arange(t), (b, 1)), version=23)
    yield Row("RotaryEmbedding", "", rotary)
    yield Row("LinearAttention", "", lambda s: node(
        "LinearAttention", *(noise(s.pick((1, 9, 16), (1, 80, 256), (2, 1000, 768))) for _ in range(3)), outputs=2, version=27,
        update_rule="linear", q_num_heads=s.pick(2, 4, 12), kv_num_heads=s.pick(2, 4, 12)))


def transforms():
    for axis, place in ((0, "first"), (1, "middle"), (2, "last")):
        def dft(s, axis):
            shape = s.pick((6, 10, 17), (30, 35, 63), (120, 125, 140))
            return node("DFT", noise((*shape, 1)), None, Const(np.int64(axis)), version=20)
        yield Row("DFT", f"{place} axis", lambda s, a=axis: dft(s, a))
    yield Row("DFT", "1024 points", lambda s: node("DFT", noise((s.pick(1, 30, 1000), 1024, 1)), None, Const(np.int64(1)), version=20))
    yield Row("STFT", "256 points", lambda s: node("STFT", noise((1, s.pick(1000, 30000, 1_000_000), 1)), Const(np.int64(128)),
                                                   Const(np.ones(256, np.float32)), Const(np.int64(256)), version=17))
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        yield Row(op, "", lambda s, op=op: node(op, np.array(s.count), version=17))
    yield Row("MelWeightMatrix", "", lambda s: node(
        "MelWeightMatrix", *(np.array(v) for v in (s.pick(8, 80, 1000), s.pick(200, 1024, 8192), 16000)), np.float32(0), np.float32(8000),
        version=17))


def rows():
    for part in (matrices, integers, recurrences, attention, transforms):
        yield from part()
