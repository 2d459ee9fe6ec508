# SPDX-License-Identifier: Apache-2.0
"""Products of narrower factors, and of quantised ones, against the interpreter at full precision."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

RANDOM = np.random.default_rng(3)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes, inputs, outputs, constants):
    def ports(shapes):
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
    graph = helper.make_graph(nodes, "g", ports(inputs), ports(outputs), constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def weights(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.fixture
def convolutions():
    """A residual block with padding, strides, few channels at the start, and a product with tails."""
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w1", "c1"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
             helper.make_node("Relu", ["c"], ["d"]),
             helper.make_node("Conv", ["d", "w2"], ["e"]),
             helper.make_node("Add", ["e", "d"], ["f"]),
             helper.make_node("ConvTranspose", ["f", "w3"], ["g"], strides=[2, 2]),
             helper.make_node("GlobalAveragePool", ["g"], ["h"]),
             helper.make_node("Flatten", ["h"], ["i"]),
             helper.make_node("Gemm", ["i", "w4", "c4"], ["y"])]
    return model(nodes, {"x": [1, 3, 14, 14]}, {"y": [1, 33]},
                 [constant("w0", weights(16, 3, 3, 3)), constant("w1", weights(32, 16, 3, 3)), constant("c1", weights(32)),
                  constant("w2", weights(32, 32, 1, 1)), constant("w3", weights(32, 24, 2, 2)),
                  constant("w4", weights(24, 33)), constant("c4", weights(33))])


@pytest.fixture
def depthwise():
    """What an inverted residual consists of, with a tail of columns and a stride."""
    nodes = [helper.make_node("Conv", ["x", "w0", "c0"], ["a"]), helper.make_node("Clip", ["a", "low", "high"], ["b"]),
             helper.make_node("Conv", ["b", "w1", "c1"], ["c"], pads=[1, 1, 1, 1], group=48),
             helper.make_node("Clip", ["c", "low", "high"], ["d"]), helper.make_node("Conv", ["d", "w2"], ["e"]),
             helper.make_node("Add", ["e", "x"], ["f"]), helper.make_node("Conv", ["f", "w0"], ["g"]),
             helper.make_node("Conv", ["g", "w3"], ["y"], pads=[2, 2, 2, 2], strides=[2, 2], group=48)]
    return model(nodes, {"x": [1, 16, 13, 13]}, {"y": [1, 48, 7, 7]},
                 [constant("w0", weights(48, 16, 1, 1)), constant("c0", weights(48)), constant("w1", weights(48, 1, 3, 3)),
                  constant("c1", weights(48)), constant("w2", weights(16, 48, 1, 1)), constant("w3", weights(48, 1, 5, 5)),
                  constant("low", np.float32(0)), constant("high", np.float32(6))])


@pytest.fixture
def recurrent():
    nodes = [helper.make_node("LSTM", ["x", "W", "R"], ["h", "", ""], hidden_size=20),
             helper.make_node("Reshape", ["h", "shape"], ["s"]),
             helper.make_node("MatMul", ["s", "v"], ["y"])]
    return model(nodes, {"x": [5, 1, 12]}, {"y": [5, 18]},
                 [constant("W", weights(1, 80, 12)), constant("R", weights(1, 80, 20)), constant("v", weights(20, 18)),
                  constant("shape", np.array([5, 20]))])


@pytest.mark.parametrize("name", ["convolutions", "depthwise", "recurrent"])
def test_bf16_is_close_and_not_f32(name, request):
    given = request.getfixturevalue(name)
    shape = [d.dim_value for d in given.graph.input[0].type.tensor_type.shape.dim]
    x = weights(*shape)
    want, = tw.reference(given, [x])
    full = tw.compile(given)(x)
    got = tw.compile(given, precision="bf16")(x)
    greatest = np.abs(want).max()
    assert np.abs(full - want).max() <= 1e-5 * greatest
    assert 1e-5 * greatest < np.abs(got - want).max() <= 2**-6 * greatest
    assert "_to_f32" in tw.emit(given, "fused", precision="bf16") or name == "recurrent"


def test_only_the_operand_of_a_product_is_rounded():
    """What others read of the same value is what full precision gives, to the bit."""
    nodes = [helper.make_node("Mul", ["x", "x"], ["y"]), helper.make_node("MatMul", ["y", "w"], ["p"]),
             helper.make_node("Transpose", ["y"], ["t"]), helper.make_node("Sub", ["y", "one"], ["s"])]
    given = model(nodes, {"x": [6, 8]}, {"p": [6, 8], "t": [8, 6], "s": [6, 8]},
                  [constant("w", np.eye(8, dtype=np.float32)), constant("one", np.float32(1))])
    x = weights(6, 8)
    p, t, s = tw.compile(given, precision="bf16").run([x])
    assert 0 < np.abs(p - x * x).max() <= 2**-8 * np.abs(p).max()
    assert np.array_equal(t, (x * x).T) and np.array_equal(s, x * x - 1)


def test_precisions_have_names(recurrent):
    with pytest.raises(tw.Error, match="there is no precision `f16`"):
        tw.compile(recurrent, precision="f16")


@pytest.mark.parametrize("signed", [False, True])
def test_quantised_products_are_exact(signed):
    """Between DequantizeLinear and QuantizeLinear the integers themselves are multiplied."""
    byte, low = (np.int8, -128) if signed else (np.uint8, 0)
    zero = np.array(low + 100, byte)
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["a"]),
             helper.make_node("DequantizeLinear", ["w", "t", "tz"], ["b"], axis=0),
             helper.make_node("DequantizeLinear", ["bias", "bs"], ["c"], axis=0),
             helper.make_node("Conv", ["a", "b", "c"], ["d"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["d"], ["e"]),
             helper.make_node("QuantizeLinear", ["e", "r", "z"], ["f"]),
             helper.make_node("DequantizeLinear", ["f", "r", "z"], ["y"])]
    scales = RANDOM.uniform(0.01, 0.02, 24).astype(np.float32)
    given = model(nodes, {"x": [1, 16, 9, 9]}, {"y": [1, 24, 9, 9]},
                  [constant("s", np.float32(0.02)), constant("z", zero), constant("r", np.float32(0.11)),
                   constant("w", RANDOM.integers(-127, 128, (24, 16, 3, 3)).astype(np.int8)), constant("t", scales),
                   constant("tz", np.zeros(24, np.int8)),
                   constant("bias", RANDOM.integers(-999, 999, 24).astype(np.int32)), constant("bs", scales * np.float32(0.02))])
    assert "conv_integer" in tw.emit(given, "fused")
    x = weights(1, 16, 9, 9)
    want, = tw.reference(given, [x])
    steps = np.rint(np.abs(tw.compile(given)(x) - want) / np.float32(0.11))
    assert steps.max() <= 1 and (steps == 0).mean() > 0.99
    for skipped in ["integer_products", "assign_layouts"]:
        other = np.rint(np.abs(tw.compile(given, skip=[skipped])(x) - want) / np.float32(0.11))
        assert other.max() <= 1


@pytest.mark.parametrize("width", [17, 31, 33])
def test_the_last_bytes_of_a_row_leave_the_next_row_alone(width):
    """One lane of the last vector is stored: LLVM would write four bytes."""
    nodes = [helper.make_node("QLinearConv", ["x", "s", "z", "w", "s", "wz", "ys", "z"], ["y"], pads=[1, 1, 1, 1])]
    w = RANDOM.integers(-99, 99, (2, 1, 3, 3)).astype(np.int8)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 1, 3, width])],
                              [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
                              [constant("s", np.float32(0.1)), constant("z", np.uint8(128)), constant("w", w),
                               constant("wz", np.int8(0)), constant("ys", np.float32(9))])
    given = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    x = RANDOM.integers(0, 99, (1, 1, 3, width)).astype(np.uint8)
    assert np.array_equal(tw.compile(given)(x), tw.reference(given, [x])[0])
