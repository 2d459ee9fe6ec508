# SPDX-License-Identifier: Apache-2.0
"""Means of many elements are as good as their type: what networks scale whole pictures by."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import tilewright as tw


@pytest.mark.parametrize("node", [helper.make_node("GlobalAveragePool", ["x"], ["y"]),
                                  helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3])], ids=["pool", "reduce"])
def test_mean_of_a_picture(node):
    shape = [1, 16, 300, 300]
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 1, 1])])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 15)])
    x = np.random.default_rng(1).uniform(0.1, 0.2, shape).astype(np.float32)
    wanted = x.mean(axis=(2, 3), keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(tw.compile(model)(x), wanted, rtol=1e-7)
