# SPDX-License-Identifier: Apache-2.0
"""Activations in compiled code, where their exact results are known."""
import numpy as np
from onnx import TensorProto, helper

import tilewright as tw


def test_hard_swish_is_exact_where_it_is_flat():
    graph = helper.make_graph([helper.make_node("HardSwish", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])])
    module = tw.compile(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 15)]))
    x = np.concatenate([np.linspace(-100, -3, 999), np.linspace(3, 100, 1000), [np.inf]]).astype(np.float32)
    np.testing.assert_array_equal(module(x), np.maximum(x, 0))
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    wanted = x.astype(np.float64) * (x.astype(np.float64) + 3) / 6
    np.testing.assert_allclose(module(x), wanted, rtol=2.5e-7, atol=1e-7)
