#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models that the fuzzer and the damage tests start from: tests/fuzz/corpus/onnx.

Needs the package onnx; each model is small and has another part of the format.
"""
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

OUT = Path(__file__).parent / "corpus" / "onnx"
X = h.make_tensor_value_info("x", T.FLOAT, ["n", 3])
Y = h.make_tensor_value_info("y", T.FLOAT, None)


def save(name, nodes, inputs=(X,), outputs=(Y,), initializers=(), functions=(), **more):
    graph = h.make_graph(list(nodes), name, list(inputs), list(outputs), list(initializers), **more)
    opsets = [h.make_opsetid("", 21)] + ([h.make_opsetid("my", 1)] if functions else [])
    model = h.make_model(graph, opset_imports=opsets, ir_version=10, functions=list(functions))
    (OUT / f"{name}.onnx").write_bytes(model.SerializeToString())


def tensor(name, values, dtype):
    return numpy_helper.from_array(np.array(values, dtype), name)


save("mlp", [h.make_node("Gemm", ["x", "w", "b"], ["h"], alpha=0.5, transB=1),
             h.make_node("Relu", ["h"], ["r"]), h.make_node("Softmax", ["r"], ["y"], axis=-1)],
     initializers=[tensor("w", [[1, 2, 3], [4, 5, 6]], np.float32),
                   h.make_tensor("b", T.FLOAT, [2], [0.5, -0.5])])
save("conv", [h.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
              h.make_node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2], strides=[2, 2])],
     inputs=[h.make_tensor_value_info("x", T.FLOAT, [1, 1, "h", "w"])],
     initializers=[tensor("w", np.ones((1, 1, 3, 3)), np.float32)])
save("shape_chain", [h.make_node("Shape", ["x"], ["s"]),
                     h.make_node("Gather", ["s", "zero"], ["first"], axis=0),
                     h.make_node("Concat", ["first", "rest"], ["t"], axis=0),
                     h.make_node("Reshape", ["x", "t"], ["y"])],
     initializers=[tensor("zero", [0], np.int64), tensor("rest", [-1], np.int64)])
branch = lambda name, op: h.make_graph([h.make_node(op, ["x"], ["v"])], name, [],
                                       [h.make_tensor_value_info("v", T.FLOAT, None)])
save("if", [h.make_node("If", ["c"], ["y"], then_branch=branch("a", "Neg"),
                        else_branch=branch("b", "Abs"))],
     inputs=[X, h.make_tensor_value_info("c", T.BOOL, [])])
body = h.make_graph([h.make_node("Identity", ["go"], ["go_on"]),
                     h.make_node("Add", ["carried", "one"], ["next"])], "body",
                    [h.make_tensor_value_info("i", T.INT64, []),
                     h.make_tensor_value_info("go", T.BOOL, []),
                     h.make_tensor_value_info("carried", T.FLOAT, ["n", 3])],
                    [h.make_tensor_value_info("go_on", T.BOOL, []),
                     h.make_tensor_value_info("next", T.FLOAT, ["n", 3])])
save("loop", [h.make_node("Loop", ["trips", "", "x"], ["y"], body=body)],
     initializers=[tensor("trips", 3, np.int64), tensor("one", 1, np.float32)])
swish = h.make_function("my", "Swish", ["v"], ["w"],
                        [h.make_node("Sigmoid", ["v"], ["s"]), h.make_node("Mul", ["v", "s"], ["m"]),
                         h.make_node("Softmax", ["m"], ["w"])], [h.make_opsetid("", 21)],
                        attributes=["along"])
axis = swish.node[2].attribute.add()
axis.name, axis.ref_attr_name, axis.type = "axis", "along", onnx.AttributeProto.INT
save("function", [h.make_node("Swish", ["x"], ["a"], domain="my", along=1),
                  h.make_node("Swish", ["a"], ["y"], domain="my")], functions=[swish])
save("quantised", [h.make_node("DequantizeLinear", ["q", "scale", "zero"], ["w"], axis=0),
                   h.make_node("MatMul", ["x", "w"], ["y"])],
     initializers=[h.make_tensor("q", T.INT4, [3, 3], [1, -2, 3, -4, 5, -6, 7, -8, 0]),
                   tensor("scale", [0.5, 1, 2], np.float32), h.make_tensor("zero", T.INT4, [3], [0, 1, 2])])
sparse = h.make_sparse_tensor(tensor("w", [7, 8], np.float32), tensor("", [1, 5], np.int64), [3, 2])
save("sparse", [h.make_node("MatMul", ["x", "w"], ["y"])], sparse_initializer=[sparse])
save("typed", [h.make_node("Constant", [], ["a"], value=h.make_tensor("", T.FLOAT16, [3], [1, 2, 3])),
               h.make_node("Cast", ["a"], ["b"], to=T.FLOAT),
               h.make_node("Cast", ["i"], ["c"], to=T.FLOAT), h.make_node("Sum", ["x", "b", "c"], ["y"])],
     initializers=[h.make_tensor("i", T.UINT8, [3], [1, 2, 255])])
save("top_k", [h.make_node("TopK", ["x", "k"], ["y", "at"], axis=1),
               h.make_node("NonZero", ["y"], ["z"])],
     outputs=[Y, h.make_tensor_value_info("z", T.INT64, None)],
     initializers=[tensor("k", [2], np.int64)])
