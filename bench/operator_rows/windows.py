# SPDX-License-Identifier: Apache-2.0
"""Operators of feature maps: convolutions, pools, resizing, sampling, regions."""
import numpy as np

from .row import Const, Row, between, ints, node, noise


def signal(s):
    return s.pick((1, 8, 120), (1, 64, 1000), (8, 256, 4000))


def volume(s):
    return s.pick((1, 4, 5, 7, 7), (1, 8, 19, 21, 21), (2, 16, 61, 63, 67))


def conv(x, outputs, kernel, op="Conv", group=1, dtype=np.float32, **attributes):
    shape = (outputs, x.shape[1] // group, *kernel) if op != "ConvTranspose" else (x.shape[1], outputs // group, *kernel)
    operands = [x, Const(noise(shape))] if dtype == np.float32 else [x, Const(between(0, 9, shape, dtype))]
    bias = [Const(noise(outputs))] if op != "ConvInteger" else []
    return node(op, *operands, *bias, group=group, **attributes)


def convolutions():
    yield Row("Conv", "3x3", lambda s: conv(noise(s.image), s.image[1], (3, 3), pads=[1] * 4))
    yield Row("Conv", "3x3, stride 2", lambda s: conv(noise(s.image), s.image[1], (3, 3), pads=[1] * 4, strides=[2, 2]))
    yield Row("Conv", "3x3, dilation 2", lambda s: conv(noise(s.image), s.image[1], (3, 3), pads=[2] * 4, dilations=[2, 2]))
    yield Row("Conv", "1x1", lambda s: conv(noise(s.image), 2 * s.image[1], (1, 1)))
    yield Row("Conv", "7x7, stride 2, 3 channels", lambda s: conv(
        noise(s.pick((1, 3, 19, 19), (1, 3, 120, 121), (12, 3, 480, 484))), 16, (7, 7), pads=[3] * 4, strides=[2, 2]))
    yield Row("Conv", "depthwise 3x3", lambda s: conv(noise(s.image), s.image[1], (3, 3), group=s.image[1], pads=[1] * 4))
    yield Row("Conv", "4 groups", lambda s: conv(noise(s.image), s.image[1], (3, 3), group=4, pads=[1] * 4))
    yield Row("Conv", "of signals, 5", lambda s: conv(noise(signal(s)), signal(s)[1], (5,), pads=[2, 2]))
    yield Row("Conv", "of volumes, 3x3x3", lambda s: conv(noise(volume(s)), volume(s)[1], (3, 3, 3), pads=[1] * 6))
    yield Row("ConvTranspose", "2x2, stride 2", lambda s: conv(noise(s.image), s.image[1] // 2, (2, 2), "ConvTranspose", strides=[2, 2]))
    yield Row("ConvTranspose", "4x4, stride 2", lambda s: conv(
        noise(s.image), s.image[1] // 2, (4, 4), "ConvTranspose", strides=[2, 2], pads=[1] * 4))
    yield Row("ConvInteger", "3x3, u8", lambda s: conv(
        between(0, 99, s.image, np.uint8), s.image[1], (3, 3), "ConvInteger", dtype=np.uint8, pads=[1] * 4))
    yield Row("DeformConv", "3x3", deform_conv)
    yield Row("CausalConvWithState", "4", lambda s: node(
        "CausalConvWithState", noise(signal(s)), Const(noise((signal(s)[1], 1, 4))), Const(noise(signal(s)[1])), outputs=2, version=27))


def deform_conv(s):
    x = noise(s.pick((1, 2, 9, 9), (1, 8, 40, 41), (2, 16, 200, 201)))
    n, c, h, w = x.shape
    return node("DeformConv", x, Const(noise((c, c, 3, 3))), between(-1, 1, (n, 18, h, w)), kernel_shape=[3, 3], pads=[1] * 4)


def pools():
    for op in ("MaxPool", "AveragePool", "LpPool"):
        yield Row(op, "2x2, stride 2", lambda s, op=op: node(op, noise(s.image), kernel_shape=[2, 2], strides=[2, 2]))
        yield Row(op, "3x3", lambda s, op=op: node(op, noise(s.image), kernel_shape=[3, 3], pads=[1] * 4))
    yield Row("MaxPool", "3x3, stride 2", lambda s: node("MaxPool", noise(s.image), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))
    yield Row("MaxPool", "3x3 with indices", lambda s: node("MaxPool", noise(s.image), kernel_shape=[3, 3], outputs=2))
    yield Row("MaxPool", "3x3, u8", lambda s: node("MaxPool", between(0, 99, s.image, np.uint8), kernel_shape=[3, 3], pads=[1] * 4))
    yield Row("MaxPool", "of signals, 3", lambda s: node("MaxPool", noise(signal(s)), kernel_shape=[3]))
    yield Row("AveragePool", "of volumes, 2x2x2", lambda s: node("AveragePool", noise(volume(s)), kernel_shape=[2, 2, 2], strides=[2, 2, 2]))
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield Row(op, "", lambda s, op=op: node(op, noise(s.image)))
    yield Row("MaxUnpool", "2x2", max_unpool)


def max_unpool(s):
    n, c, h, w = s.image
    h, w = h // 2, w // 2
    y, x = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    plane = (2 * y) * (2 * w) + 2 * x
    indices = plane + np.arange(n * c).reshape(n, c, 1, 1) * (4 * h * w)
    return node("MaxUnpool", noise((n, c, h, w)), indices.astype(np.int64), kernel_shape=[2, 2], strides=[2, 2])


def halves(s):
    return s.pick((1, 4, 8, 9), (1, 16, 31, 33), (4, 32, 127, 129))


def resizes():
    def resize(x, scales, **attributes):
        return node("Resize", x, None, Const(np.array([1, 1, *scales], np.float32)), version=19, **attributes)
    floor = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    yield Row("Resize", "nearest, by 2", lambda s: resize(noise(halves(s)), (2, 2), **floor))
    yield Row("Resize", "nearest, by 0.5", lambda s: resize(noise(s.image), (0.5, 0.5), **floor))
    yield Row("Resize", "nearest, by 1.7", lambda s: resize(noise(halves(s)), (1.7, 1.7)))
    for mode in ("linear", "cubic"):
        yield Row("Resize", f"{mode}, by 2", lambda s, m=mode: resize(noise(halves(s)), (2, 2), mode=m))
        yield Row("Resize", f"{mode}, by 0.5", lambda s, m=mode: resize(noise(s.image), (0.5, 0.5), mode=m))
        yield Row("Resize", f"{mode}, by 1.7", lambda s, m=mode: resize(noise(halves(s)), (1.7, 1.7), mode=m))
    yield Row("Resize", "linear, antialias, by 0.5", lambda s: resize(noise(s.image), (0.5, 0.5), mode="linear", antialias=1))


def grid(s):
    n, _, h, w = s.image
    return between(-1.1, 1.1, (n, h, w, 2))


def sampling():
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            yield Row("GridSample", f"{mode}, {padding}", lambda s, m=mode, p=padding: node(
                "GridSample", noise(s.image), grid(s), mode=m, padding_mode=p))
    yield Row("AffineGrid", "", lambda s: node(
        "AffineGrid", noise((4, 2, 3)), Const(np.array([4, 1, *s.pick((10, 12), (120, 130), (1000, 1040))])), version=20))
    yield Row("Col2Im", "3x3", lambda s: node("Col2Im", noise((s.image[0], 9 * s.pick(1, 2, 12), s.image[2] * s.image[3])),
                                               ints(*s.image[2:]), ints(3, 3), pads=[1] * 4))
    def boxes(s, count):
        corners = between(0, 0.5, (count, 2)) * s.image[2]
        return np.concatenate([corners, corners + s.image[2] / 3], axis=1).astype(np.float32)
    for mode in ("avg", "max"):
        yield Row("RoiAlign", mode, lambda s, mode=mode: node(
            "RoiAlign", noise(s.image), boxes(s, s.pick(4, 40, 400)), np.zeros(s.pick(4, 40, 400), np.int64), mode=mode,
            output_height=7, output_width=7, sampling_ratio=2))
    yield Row("MaxRoiPool", "", lambda s: node(
        "MaxRoiPool", noise(s.image), np.concatenate([np.zeros((s.pick(4, 40, 400), 1), np.float32), boxes(s, s.pick(4, 40, 400))], axis=1),
        pooled_shape=[7, 7]))
    def suppression(s):
        count = s.pick(50, 2000, 20000)
        corners = between(0, 50, (1, count, 2))
        return node("NonMaxSuppression", np.concatenate([corners, corners + between(1, 9, (1, count, 2))], axis=2),
                    between(0, 1, (1, 1, count)), Const(np.int64(100)), Const(np.float32(0.5)), Const(np.float32(0.1)))
    yield Row("NonMaxSuppression", "", suppression)


def rows():
    for part in (convolutions, pools, resizes, sampling):
        yield from part()
