# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's own operators (com.microsoft)."""
import numpy as np

from .row import Const, Row, between, ints, node, noise

u8 = lambda *shape: between(0, 99, shape, np.uint8)
i8 = lambda *shape: Const(between(-99, 99, shape, np.int8))
one = lambda number, dtype=np.float32: Const(np.array(number, dtype))
weight = lambda *shape: Const(between(0.5, 2, shape))
zero = one(7, np.uint8)


def contrib(op, *operands, **more):
    return node(op, *operands, domain="com.microsoft", **more)


def activations():
    for op in ("Gelu", "FastGelu", "QuickGelu"):
        yield Row(f"ms.{op}", "", lambda s, op=op: contrib(op, noise(s.cube)))
    yield Row("ms.BiasGelu", "", lambda s: contrib("BiasGelu", noise(s.cube), weight(s.cube[2])))
    yield Row("ms.BiasSplitGelu", "", lambda s: contrib("BiasSplitGelu", noise((*s.cube[:2], 2560)), weight(2560)), ("small",))
    for op, count in (("SkipLayerNormalization", 2), ("SkipSimplifiedLayerNormalization", 1)):
        yield Row(f"ms.{op}", "", lambda s, op=op, n=count: contrib(
            op, noise(s.cube), between(0, 1, s.cube), *(weight(s.cube[2]) for _ in range(n))))
    yield Row("ms.GroupNorm", "", lambda s: contrib("GroupNorm", noise((1, 8, 8, 64)), weight(64), weight(64), groups=32, activation=0), ("small",))

    def embedding(s):
        words, t, width = s.pick((30, 9, 12), (500, 100, 128), (30000, 4000, 768))
        ids = between(0, words, (2, t), np.int32)
        return contrib("EmbedLayerNormalization", ids, np.zeros((2, t), np.int32), Const(noise((words, width))), Const(noise((t, width))),
                       Const(noise((2, width))), weight(width), weight(width), outputs=2)
    yield Row("ms.EmbedLayerNormalization", "", embedding)


def moves():
    yield Row("ms.ExpandDims", "", lambda s: contrib("ExpandDims", noise(s.cube), one(1, np.int32)))
    yield Row("ms.GatherND", "rows", lambda s: contrib("GatherND", noise(s.cube), between(0, min(s.cube[:2]), (s.table[0], 2), np.int64)))
    yield Row("ms.Pad", "reflect", lambda s: contrib("Pad", noise(s.image), ints(0, 0, 2, 3, 0, 0, 2, 3), mode="reflect"))
    yield Row("ms.Range", "", lambda s: contrib("Range", np.float32(0), np.float32(s.count), np.float32(1)))
    yield Row("ms.Trilu", "", lambda s: contrib("Trilu", noise(s.cube)))
    yield Row("ms.Unique", "", lambda s: contrib("Unique", between(0, 100, s.pick(1000, 60000, 1_000_000)), outputs=3))
    yield Row("ms.GridSample", "", lambda s: contrib(
        "GridSample", noise(s.image), between(-1.1, 1.1, (s.image[0], s.image[2], s.image[3], 2)), mode="bilinear"))
    yield Row("ms.CDist", "euclidean", lambda s: contrib("CDist", noise((s.sides[0], 40)), between(0, 1, (s.sides[2], 40)), metric="euclidean"))
    yield Row("ms.Inverse", "", lambda s: contrib("Inverse", regular(s.pick((4, 5, 5), (300, 14, 14), (8000, 33, 33)))))


def regular(shape):
    """Matrices that are far from having no inverse."""
    return noise(shape) + 3 * shape[-1] * np.eye(shape[-1], dtype=np.float32)


def products():
    m, k, n = range(3)
    yield Row("ms.FusedMatMul", "transB", lambda s: contrib(
        "FusedMatMul", noise(s.sides[:2]), Const(noise((s.sides[n], s.sides[k]))), transB=1, alpha=0.5))
    yield Row("ms.TransposeMatMul", "transA", lambda s: contrib(
        "TransposeMatMul", noise((s.sides[k], s.sides[m])), noise(s.sides[1:]), transA=1))
    yield Row("ms.FusedGemm", "Relu", lambda s: contrib(
        "FusedGemm", noise(s.sides[:2]), Const(noise(s.sides[1:])), Const(noise(s.sides[n])), activation="Relu"))
    yield Row("ms.GemmFastGelu", "", lambda s: contrib(
        "GemmFastGelu", noise(s.sides[:2]), Const(noise(s.sides[1:])), Const(noise(s.sides[n]))))
    yield Row("ms.FusedConv", "Relu", lambda s: contrib(
        "FusedConv", noise(s.image), Const(noise((s.image[1], s.image[1], 3, 3))), Const(noise(s.image[1])), activation="Relu", pads=[1] * 4))
    for op in ("NhwcConv", "NhwcFusedConv"):
        yield Row(f"ms.{op}", "", lambda s, op=op: contrib(
            op, noise((s.image[0], *s.image[2:], s.image[1])), Const(noise((s.image[1], 3, 3, s.image[1]))), Const(noise(s.image[1])), pads=[1] * 4))


def quantised():
    yield Row("ms.QuantizeLinear", "", lambda s: contrib("QuantizeLinear", noise(s.cube), one(0.05), zero))
    yield Row("ms.DequantizeLinear", "", lambda s: contrib("DequantizeLinear", u8(*s.cube), one(0.05), zero))
    yield Row("ms.DynamicQuantizeMatMul", "", lambda s: contrib(
        "DynamicQuantizeMatMul", noise(s.sides[:2]), i8(*s.sides[1:]), one(0.1), one(0, np.int8)))
    yield Row("ms.MatMulIntegerToFloat", "", lambda s: contrib(
        "MatMulIntegerToFloat", u8(*s.sides[:2]), i8(*s.sides[1:]), one(0.1), one(0.1), zero, one(0, np.int8)))
    yield Row("ms.QGemm", "", lambda s: contrib(
        "QGemm", u8(*s.sides[:2]), one(0.1), zero, i8(*s.sides[1:]), one(0.1), one(0, np.int8), None, one(50), zero))
    yield Row("ms.MatMulNBits", "4 bits", four_bits)
    for op in ("QLinearAdd", "QLinearMul"):
        yield Row(f"ms.{op}", "", lambda s, op=op: contrib(op, u8(*s.cube), one(0.1), zero, u8(*s.cube), one(0.2), zero, one(0.3), zero))
    for op in ("QLinearLeakyRelu", "QLinearSigmoid"):
        yield Row(f"ms.{op}", "", lambda s, op=op: contrib(op, u8(*s.cube), one(0.1), zero, one(0.05), zero))
    yield Row("ms.QLinearSoftmax", "", lambda s: contrib(
        "QLinearSoftmax", u8(*s.cube), one(0.1), zero, one(1 / 256), one(0, np.uint8), axis=-1, opset=13))
    for axis, place in enumerate(("first", "middle", "last")):
        yield Row("ms.QLinearConcat", f"{place} axis", lambda s, a=axis: contrib(
            "QLinearConcat", one(0.1), zero, u8(*s.cube), one(0.1), zero, u8(*s.cube), one(0.2), zero, axis=a))
    yield Row("ms.QLinearAveragePool", "2x2", lambda s: contrib(
        "QLinearAveragePool", u8(*s.image), one(0.1), zero, one(0.1), zero, kernel_shape=[2, 2], strides=[2, 2]))
    yield Row("ms.QLinearGlobalAveragePool", "", lambda s: contrib("QLinearGlobalAveragePool", u8(*s.image), one(0.1), zero, one(0.1), zero))

    def lstm(s):
        steps, width, hidden = s.pick((5, 12, 16), (20, 60, 64), (50, 1000, 1024))
        scale, none = Const(np.full(1, 0.05 / hidden, np.float32)), Const(np.zeros(1, np.int8))
        return contrib("DynamicQuantizeLSTM", noise((steps, 1, width)), i8(1, width, 4 * hidden), i8(1, hidden, 4 * hidden),
                       Const(noise((1, 8 * hidden))), None, None, None, None, scale, none, scale, none, hidden_size=hidden, outputs=2)
    yield Row("ms.DynamicQuantizeLSTM", "", lstm)


def four_bits(s):
    m, k, n = s.pick((4, 64, 20), (16, 512, 500), (1, 4096, 11008))
    blocks = k // 32
    return contrib("MatMulNBits", noise((m, k)), Const(between(0, 255, (n, blocks, 16), np.uint8)), Const(between(0.01, 0.1, n * blocks)),
                   K=k, N=n, bits=4, block_size=32)


def attention():
    shape = lambda s: s.pick((1, 9, 16), (1, 80, 256), (2, 1000, 768))
    heads = lambda s: s.pick(2, 4, 12)
    yield Row("ms.Attention", "", lambda s: contrib(
        "Attention", noise(shape(s)), Const(noise((shape(s)[2], 3 * shape(s)[2])) * 0.05), Const(noise(3 * shape(s)[2])), num_heads=heads(s)))
    yield Row("ms.MultiHeadAttention", "", lambda s: contrib("MultiHeadAttention", *(noise(shape(s)) for _ in range(3)), num_heads=heads(s)))

    def grouped(s):
        b, t, width = shape(s)
        size = width // heads(s)
        past = noise((b, heads(s) // 2, 0, size))
        return contrib("GroupQueryAttention", noise((b, t, width)), noise((b, t, width // 2)), noise((b, t, width // 2)), past, past,
                       np.full(b, t - 1, np.int32), one(t, np.int32), num_heads=heads(s), kv_num_heads=heads(s) // 2, outputs=3)
    yield Row("ms.GroupQueryAttention", "first tokens", grouped)

    def rotary(s):
        b, h, t, d = s.pick((1, 2, 9, 16), (1, 10, 100, 64), (2, 32, 2000, 64))
        return contrib("RotaryEmbedding", noise((b, h, t, d)), np.tile(np.arange(t), (b, 1)), *(Const(noise((t, d // 2))) for _ in range(2)))
    yield Row("ms.RotaryEmbedding", "", rotary)


def rows():
    for part in (activations, moves, products, quantised, attention):
        yield from part()
