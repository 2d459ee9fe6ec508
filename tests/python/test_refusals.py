# SPDX-License-Identifier: Apache-2.0
"""What docs/refusals.md says that ONNX's own checker refuses: an example of each code."""
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tilewright as tw

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
PAGE = Path(__file__).resolve().parents[2] / "docs" / "refusals.md"


def info(name, elem=F, shape=(2, 3)):
    return helper.make_tensor_value_info(name, elem, shape)


def model(nodes, inputs=(), outputs=("y",), initializers=(), functions=(), opsets=None, elem=F):
    graph = helper.make_graph(list(nodes), "g", list(inputs), [info(o, elem, None) for o in outputs], list(initializers))
    return helper.make_model(graph, ir_version=9, functions=list(functions),
                             opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("f", 1)] if opsets is None else opsets)


def one(op, *inputs, given=None, elem=F, **attributes):
    """One node with inputs of these types."""
    ports = [info(f"i{k}", *t) for k, t in enumerate(inputs)]
    return model([helper.make_node(op, [p.name for p in ports] if given is None else given, ["y"], **attributes)], ports, elem=elem)


def function(name, nodes, inputs):
    return helper.make_function("f", name, inputs, ["o"], nodes, [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)])


def branch(name, elem=F, count=1):
    value = helper.make_tensor("v", elem, [1], [1])
    return helper.make_graph([helper.make_node("Constant", [], [f"{name}{k}"], value=value) for k in range(count)], name, [], [info(f"{name}{k}", elem, None) for k in range(count)])


def cut_off():
    tensor = helper.make_tensor("w", F, [2, 3], [0.0] * 6)
    del tensor.float_data[4:]
    return model([helper.make_node("Neg", ["w"], ["y"])], initializers=[tensor])


def sparse():
    out = model([helper.make_node("Neg", ["w"], ["y"])])
    out.graph.sparse_initializer.append(helper.make_sparse_tensor(helper.make_tensor("w", F, [1], [1.0]), helper.make_tensor("i", I, [1], [9]), [3]))
    return out


def reference():
    out = one("Softmax", (F,))
    out.graph.node[0].attribute.append(onnx.AttributeProto(name="axis", type=onnx.AttributeProto.INT, ref_attr_name="axis"))
    return out


NEG = helper.make_node("Neg", ["x"], ["o"])
MODELS = {
    "frontend.onnx.attribute_reference": reference(),
    "frontend.onnx.cycle": model([helper.make_node("Neg", ["y"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]),
    "frontend.onnx.dangling": model([helper.make_node("Neg", ["a"], ["y"])]),
    "frontend.onnx.name_twice": model([helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["y"])], [info("x")]),
    "frontend.onnx.function_inputs": model([helper.make_node("g", ["x", "x"], ["y"], domain="f")], [info("x")], functions=[function("g", [NEG], ["x"])]),
    "frontend.onnx.function_twice": model([helper.make_node("g", ["x"], ["y"], domain="f")], [info("x")], functions=[function("g", [NEG], ["x"])] * 2),
    "frontend.onnx.recursion": model([helper.make_node("g", ["x"], ["y"], domain="f")], [info("x")],
                                     functions=[function("g", [helper.make_node("g", ["x"], ["o"], domain="f")], ["x"])]),
    "frontend.onnx.opset": model([helper.make_node("Neg", ["x"], ["y"])], [info("x")], opsets=[]),
    "frontend.onnx.sparse": sparse(),
    "frontend.onnx.tensor_data": cut_off(),
    "graph.attribute.kind": one("Softmax", (F,), axis="last"),
    "graph.attribute.missing": one("DepthToSpace", (F, (1, 4, 2, 2))),
    "graph.axis.range": one("Concat", (F,), (F,), axis=5),
    "graph.input.missing": one("Add", (F,), given=["i0"]),
    "ops.activation.type": one("LeakyRelu", (I,), elem=I),
    "ops.binary.type": one("Add", (B,), (B,), elem=B),
    "ops.clip.type": one("Clip", (B,), elem=B),
    "ops.control.types": one("If", (B, []), then_branch=branch("t"), else_branch=branch("e", I)),
    "ops.constant.value": model([helper.make_node("Constant", [], ["y"])]),
    "ops.einsum.equation": one("Einsum", (F,), equation="ijk->i"),
    "ops.if.outputs": one("If", (B, []), then_branch=branch("t"), else_branch=branch("e", count=2)),
    "ops.input.mixed": one("Add", (F,), (I,)),
    "ops.input.rank": one("Conv", (F, (2, 3)), (F, (2, 3))),
    "ops.input.type": one("Softmax", (I,)),
    "ops.isinf.type": one("IsInf", (I,), elem=B),
    "ops.pow.type": one("Pow", (B,), (F,), elem=B),
    "ops.prelu.type": one("PRelu", (B,), (B,), elem=B),
    "ops.range.type": one("Range", (B, []), (B, []), (B, []), elem=B),
    "ops.transpose.order": one("Transpose", (F,), perm=[0, 0]),
    "ops.unary.type": one("Neg", (B,), elem=B),
    "ops.where.type": one("Where", (F,), (F,), (F,)),
}


def refused_by_the_checker(m):
    try:
        onnx.checker.check_model(m, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return True
    return False


@pytest.mark.parametrize("code", MODELS)
def test_both_refuse(code):
    assert refused_by_the_checker(MODELS[code])
    with pytest.raises(tw.Error) as error:
        tw.compile(MODELS[code].SerializeToString())
    assert error.value.code == code


def test_the_page_lists_these():
    assert set(re.findall(r"^\| `([^`]+)` \| checker \|", PAGE.read_text(), re.M)) == set(MODELS)
