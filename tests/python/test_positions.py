# SPDX-License-Identifier: Apache-2.0
"""Resize and GridSample at positions where the standard's text, PyTorch and ONNX Runtime may differ (docs/operators.md)."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

RANDOM = np.random.default_rng(11)


def resize(x, scales=None, sizes=None, opset=18, **attributes):
    shape = [1, 1, *np.shape(x)] if np.ndim(x) == 2 else [1, 1, 1, len(x)]
    given = numpy_helper.from_array(np.array([1, 1, *scales], np.float32) if scales else np.array([1, 1, *sizes]), "s")
    node = helper.make_node("Resize", ["x", "", "s"] if scales else ["x", "", "", "s"], ["y"], **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [given])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return tw.compile(model)(np.reshape(np.array(x, np.float32), shape)).reshape(-1)


def test_the_nearest_element_is_found_in_f32():
    found = resize(range(9), [1, 0.6], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    assert found.tolist() == [0, 1, 3, 5, 6]  # 3 / 0.6 is 5


@pytest.mark.parametrize("mode, wanted", [("round_prefer_floor", 14), ("round_prefer_ceil", 15)])
def test_a_middle_need_not_be_exact(mode, wanted):
    assert resize(range(32), [1, 1.3], nearest_mode=mode)[19] == wanted  # 19.5 / 1.3 - 0.5 is 14.5


@pytest.mark.parametrize("opset", [11, 18, 19])
def test_aligned_corners_are_those_of_the_whole_result(opset):
    found = resize([0, 1, 2, 3], [1, 1.7], opset=opset, mode="linear", coordinate_transformation_mode="align_corners")
    np.testing.assert_allclose(found, np.arange(6) * 3 / 5, atol=1e-6)


@pytest.mark.parametrize("opset, attributes, last", [(18, {}, 3), (19, {"nearest_mode": "floor"}, 3), (19, {}, 3 / 1.4)])
def test_shrinking_with_aligned_corners(opset, attributes, last):
    """ONNX's own cases of opset 19 divide by the length that was not rounded; exporters mean the other one."""
    found = resize([0, 1, 2, 3], [1, 0.6], opset=opset, mode="linear",
                   coordinate_transformation_mode="align_corners", **attributes)
    np.testing.assert_allclose(found, [0, last], atol=1e-6)


def test_one_element_of_pytorch_half_pixel_is_the_first():
    assert resize([[1, 2], [3, 4]], sizes=[1, 1], mode="cubic", coordinate_transformation_mode="pytorch_half_pixel") == [1]


def cubic_weights(t, a=-0.75):
    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.stack([far(t + 1), near(t), near(1 - t), far(2 - t)], -1)


@pytest.mark.parametrize("align", [False, True])
def test_cubic_samples_beyond_the_border_repeat_it(align):
    """The border's pixels stand for those outside, but the position stays where it is."""
    x = RANDOM.standard_normal((1, 1, 5, 7)).astype(np.float32)
    grid = RANDOM.uniform(-2, 2, (1, 4, 6, 2)).astype(np.float32)
    grid[0, 0, 0] = -1e30, 1e30
    node = helper.make_node("GridSample", ["x", "g"], ["y"], mode="bicubic", padding_mode="border", align_corners=int(align))
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape),
                                            helper.make_tensor_value_info("g", TensorProto.FLOAT, grid.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    found = tw.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)]))(x, grid)
    wanted = np.zeros((4, 6))
    for at in np.ndindex(4, 6):
        taps, weights = [], []
        for d, extent in ((1, 5), (0, 7)):
            c = float(grid[0][at][d])
            position = (c + 1) / 2 * (extent - 1) if align else ((c + 1) * extent - 1) / 2
            position = min(max(position, -10), extent + 10)
            low = np.floor(position)
            taps.append(np.clip(np.arange(low - 1, low + 3), 0, extent - 1).astype(int))
            weights.append(cubic_weights(position - low))
        wanted[at] = weights[0] @ x[0, 0][np.ix_(*taps)] @ weights[1]
    np.testing.assert_allclose(found[0, 0], wanted, atol=2e-5)


def test_a_slice_whose_start_is_a_slice():
    """What PyTorch exports of nn.EmbeddingBag: the list of starts is itself cut out at i … i + 1."""
    body = helper.make_graph(
        [helper.make_node("Unsqueeze", ["i", "zero"], ["i1"]), helper.make_node("Add", ["i1", "one"], ["i2"]),
         helper.make_node("Add", ["i2", "one"], ["i3"]), helper.make_node("Slice", ["offsets", "i1", "i2"], ["start"]),
         helper.make_node("Slice", ["offsets", "i2", "i3"], ["end"]), helper.make_node("Slice", ["x", "start", "end"], ["part"]),
         helper.make_node("ReduceSum", ["part"], ["sum"], keepdims=0), helper.make_node("Identity", ["go"], ["on"])],
        "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("sum", TensorProto.FLOAT, [])])
    graph = helper.make_graph(
        [helper.make_node("Loop", ["trips", ""], ["y"], body=body)], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [10]), helper.make_tensor_value_info("offsets", TensorProto.INT64, [4]),
         helper.make_tensor_value_info("trips", TensorProto.INT64, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array([v]), n) for n, v in (("zero", 0), ("one", 1))])
    module = tw.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
    x, offsets = np.arange(10, dtype=np.float32), np.array([0, 3, 7, 10])
    np.testing.assert_allclose(module.run([x, offsets, np.array(3)])[0], [3, 18, 24])
    with pytest.raises(Exception, match="input 2 of Slice must have 1 element"):
        module.run([x, offsets, np.array(4)])  # the last slice would have no end
