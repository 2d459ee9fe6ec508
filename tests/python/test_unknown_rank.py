# SPDX-License-Identifier: Apache-2.0
"""Tensors whose rank only the run tells."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import tilewright as tw


def unranked_model(nodes, names=("x",), initializers=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], list(initializers))
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3), (1, 0, 2, 2)])
def test_one_module_runs_every_rank(shape):
    module = unary()
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 2
    y = module(x)
    assert y.shape == shape
    np.testing.assert_array_equal(y, np.maximum(-x, 0))


def unary(made=[]):
    if not made:
        made.append(tw.compile(unranked_model([helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Relu", ["n"], ["y"])])))
    return made[0]


def test_ranks_that_the_operator_does_not_take_are_refused_by_the_run():
    w = helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 1], [2.0])
    module = tw.compile(unranked_model([helper.make_node("Conv", ["x", "w"], ["y"])], initializers=[w]))
    x = np.arange(3, dtype=np.float32).reshape(1, 1, 3)
    np.testing.assert_array_equal(module(x), 2 * x)
    with pytest.raises(ValueError, match="2 dimensions"):
        module(x[0])


def test_a_sequence_of_several_ranks():
    nodes = [helper.make_node("Unsqueeze", ["x", "zero"], ["u"]), helper.make_node("SequenceConstruct", ["x", "u"], ["s"]),
             helper.make_node("SequenceAt", ["s", "i"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"]),
                                           helper.make_tensor_value_info("i", TensorProto.INT64, [])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [helper.make_tensor("zero", TensorProto.INT64, [1], [0])])
    module = tw.compile(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)]))
    x = np.array([1, 2], np.float32)
    np.testing.assert_array_equal(module(x, np.int64(0)), -x)
    np.testing.assert_array_equal(module(x, np.int64(1)), -x[None])
