# SPDX-License-Identifier: Apache-2.0
"""The checker of random graphs (tests/fuzz_graphs): what it takes for rounding, and what it must not."""
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "fuzz_graphs")]
pytest.importorskip("onnxruntime")
from check import HOW, Skipped, check, difference  # noqa: E402


def model(text):
    parsed = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> {text}')
    onnx.checker.check_model(parsed)
    return parsed


NORM = model("""agraph (float[2, 8] x) => (float[2, 8] y) <int64[1] last = {-1}, float eps = {0.00001}> {
    root = Sqrt (x)
    mean = ReduceMean (root, last)
    apart = Sub (root, mean)
    square = Mul (apart, apart)
    variance = ReduceMean (square, last)
    shifted = Add (variance, eps)
    deviation = Sqrt (shifted)
    y = Div (apart, deviation)
}""")
EQUAL_ROWS = {"x": np.full((2, 8), 3, np.float32)}


def off_by(result, size):
    changed = result.copy()
    changed[0, 0] += size
    return changed


def test_the_norm_of_equal_numbers_is_anything_near_zero():
    zero = np.zeros((2, 8), np.float32)
    assert difference(NORM, EQUAL_ROWS, [off_by(zero, 1e-5)], [zero]) == ""
    assert "differs" in difference(NORM, EQUAL_ROWS, [off_by(zero, 1e-3)], [zero])


def test_the_norm_of_other_numbers_is_not():
    x = np.arange(1, 17, dtype=np.float32).reshape(2, 8)
    root = np.sqrt(x.astype(np.float64))
    apart = root - root.mean(-1, keepdims=True)
    y = (apart / np.sqrt((apart**2).mean(-1, keepdims=True) + 1e-5)).astype(np.float32)
    assert difference(NORM, {"x": x}, [off_by(y, 1e-4)], [y]).startswith("wrong")


def test_steps_may_rely_on_exact_numbers():
    step = model("agraph (float[2, 8] x) => (float[2, 8] y) { y = Floor (x) }")
    y = np.full((2, 8), 3, np.float32)
    assert difference(step, EQUAL_ROWS, [off_by(y, -1)], [y]).startswith("wrong")


def test_a_gap_of_the_reference_is_filled_by_the_peer():
    crops = model("""agraph (float[2, 8] x) => (float[2, 8] y) <int64[4] pads = {0, -1, 0, 1}> {
        moved = Pad (x, pads)
        y = Sqrt (moved)
    }""")
    y = np.sqrt(np.array([[3] * 7 + [0]] * 2)).astype(np.float32)
    other = y.copy()
    other[0, 0] = y[0, 0] + 1e-3  # a peer that is wrong: ours is right
    assert difference(crops, EQUAL_ROWS, [y], [other]) == ""
    assert difference(crops, EQUAL_ROWS, [other], [y]).startswith("wrong")


def test_the_logarithm_of_a_sum_that_is_nearly_one():
    largest = model("""agraph (float[1, 2] x) => (float[1, 1] y) <int64[1] last = {-1}> {
        both = LogSoftmax <axis = 1> (x)
        y = ReduceMax (both, last)
    }""")
    feeds = {"x": np.array([[12.5, 0]], np.float32)}
    y = np.array([[-np.log1p(np.exp(-12.5))]]).astype(np.float32)  # -3.7e-6; the sum is rounded to 1.2e-7
    assert difference(largest, feeds, [off_by(y, 6e-8)], [y]) == ""
    assert difference(largest, feeds, [off_by(y, 1e-6)], [y]).startswith("wrong")


def test_a_loop_over_a_difference_of_near_numbers():
    loop = model("""agraph (float[2, 8] x) => (float[3, 2, 8] y) <int64 trips = {3}> {
        root = Sqrt (x)
        square = Mul (root, root)
        apart = Sub (square, x)
        last, y = Loop (trips, , apart) <body = body (int64 i, bool go, float[2, 8] a) => (bool same, float[2, 8] b, float[2, 8] c) {
            same = Identity (go)
            b = Add (a, a)
            c = Identity (b)
        }>
    }""")
    x = np.linspace(1, 4, 16, dtype=np.float32).reshape(2, 8)
    apart = np.sqrt(x) * np.sqrt(x) - x
    y = np.stack([2 * apart, 4 * apart, 8 * apart])
    assert difference(loop, {"x": x}, [off_by(y, 5e-7)], [y]) == ""
    assert difference(loop, {"x": x}, [off_by(y, 1e-4)], [y]).startswith("wrong")


def shared_operand():
    """A value that a product and a transpose read."""
    made = model("""agraph (float[4, 8] x, float[8, 8] w) => (float[4, 8] p, float[8, 4] t) {
        y = Mul (x, x)
        p = MatMul (y, w)
        t = Transpose (y)
    }""")
    onnx.helper.set_model_props(made, {HOW: "bf16"})
    x = np.linspace(1, 2, 32, dtype=np.float32).reshape(4, 8)
    return made, {"x": x, "w": np.eye(8, dtype=np.float32)}, x * x


def test_only_the_operand_of_a_product_may_be_bf16():
    made, feeds, y = shared_operand()
    rounded = y.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert difference(made, feeds, [rounded, y.T], [y, y.T]) == ""
    assert difference(made, feeds, [rounded, rounded.T], [y, y.T]).startswith("wrong: output t")
    assert difference(made, feeds, [y + np.float32(0.1), y.T], [y, y.T]).startswith("wrong: output p")


def test_products_of_f32_do_not_round_to_bf16():
    made, feeds, y = shared_operand()
    del made.metadata_props[:]
    rounded = y.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert difference(made, feeds, [rounded, y.T], [y, y.T]).startswith("wrong: output p")


def test_the_power_of_a_negative_number():
    made = model("""agraph (float[2, 8] x) => (float[2, 8] y) <float three = {3.0}> {
        root = Sqrt (x)
        negative = Neg (root)
        y = Pow (negative, three)
    }""")
    y = -(np.sqrt(EQUAL_ROWS["x"].astype(np.float64)) ** 3).astype(np.float32)
    assert difference(made, EQUAL_ROWS, [off_by(y, 4e-6)], [off_by(y, 4e-4)]) == ""


def test_resizing_is_as_the_peer_does_it():
    made = model("""agraph (float[1, 1, 1, 4] x) => (float[1, 1, 1, m] y) <float[4] scales = {1.0, 1.0, 1.0, 1.7}> {
        y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, , scales)
    }""")
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4)
    of_peer = np.linspace(0, 3, 6, dtype=np.float32).reshape(1, 1, 1, 6)
    of_reference = (np.arange(6) * 3 / 5.8).astype(np.float32).reshape(1, 1, 1, 6)
    assert difference(made, {"x": x}, [of_reference], [of_peer]).startswith("wrong")


def test_what_the_peer_refuses_must_be_refused():
    made = model("agraph (float[5] x, int64[2] i) => (float[2] y) { y = Gather (x, i) }")
    onnx.helper.set_model_props(made, {HOW: "refusal"})
    x = np.arange(5, dtype=np.float32)
    with pytest.raises(Skipped):
        check(made, {"x": x, "i": np.array([4, -5])})
    assert check(made, {"x": x, "i": np.array([4, 5])}) == ""
