# SPDX-License-Identifier: Apache-2.0
"""Indices that a run brings: in range, from the end, and out of range."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
from emitted import compile_model, run_c

X = np.arange(60, dtype=np.float32).reshape(5, 4, 3)


def model(node, indices, updates=None, constant=False):
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)]
    if not constant:
        ports.append(helper.make_tensor_value_info("i", TensorProto.INT64, indices.shape))
    if updates is not None:
        ports.append(helper.make_tensor_value_info("u", TensorProto.FLOAT, updates.shape))
    graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(indices, "i")] if constant else [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


# op, attributes, indices, updates, the index that becomes wrong, how many places its dimension has
CASES = [
    ("Gather", {"axis": 1}, [[0, -4, 3]], None, (0, 1), 4),
    ("GatherElements", {"axis": 2}, [[[0, 2, -3]]], None, (0, 0, 2), 3),
    ("GatherND", {}, [[0, 3], [-5, 0]], None, (1, 0), 5),
    ("GatherND", {}, [[0, 3], [-5, 0]], None, (0, 1), 4),
    ("GatherND", {"batch_dims": 1}, [[0], [1], [2], [3], [-4]], None, (4, 0), 4),
    ("ScatterElements", {"axis": 0}, [[[4, -5, 1]]], (1, 1, 3), (0, 0, 0), 5),
    ("ScatterND", {}, [[0, 3], [-5, 0]], (2, 3), (1, 1), 4),
]


@pytest.fixture(params=CASES, ids=lambda c: c[0])
def case(request):
    op, attributes, indices, updates, at, extent = request.param
    names = ["x", "i"] + (["u"] if updates else [])
    node = helper.make_node(op, names, ["y"], name="the node", **attributes)
    return node, np.array(indices), None if updates is None else np.ones(updates, np.float32), at, extent


def arguments(indices, updates):
    return [X, indices] + ([] if updates is None else [updates])


@pytest.mark.parametrize("beyond", [0, 1, 2**40])
@pytest.mark.parametrize("below", [False, True])
def test_an_index_out_of_range_is_an_error_that_names_the_node_and_the_index(case, beyond, below):
    node, indices, updates, at, extent = case
    given = model(node, indices, updates)
    module = tw.compile(given)
    right, = module.run(arguments(indices, updates))
    assert np.array_equal(right, tw.reference(given, arguments(indices, updates))[0])
    indices[at] = wrong = -extent - 1 - beyond if below else extent + beyond
    text = f"index {wrong} is out of range: the dimension has {extent} elements"
    with pytest.raises(Exception, match=f'{node.op_type} "the node".*{text}'):
        module.run(arguments(indices, updates))
    with pytest.raises(tw.Error, match=text):
        tw.reference(given, arguments(indices, updates))


def test_the_check_can_be_switched_off_by_name(case):
    node, indices, updates, at, extent = case
    module = tw.compile(model(node, indices, updates), skip=["check_indices"])
    indices[at] = extent
    y, = module.run(arguments(indices, updates))
    assert np.isin(y, np.append(X, 1)).all()  # whatever it reads lies in the tensor


def test_wrong_constants_are_refused_before_or_by_the_run(case):
    node, indices, updates, at, extent = case
    tw.compile(model(node, indices, updates, constant=True))
    indices[at] = extent
    with pytest.raises(Exception, match=f"index {extent}"):
        module = tw.compile(model(node, indices, updates, constant=True))
        module.run([X] if updates is None else [X, updates])


def test_a_symbolic_extent_is_compared_with():
    indices = np.array([[0, -4, 3]])
    given = model(helper.make_node("Gather", ["x", "i"], ["y"], axis=1), indices)
    given.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "n"
    module = tw.compile(given)
    assert module.run([X, indices])[0].shape == (5, 1, 3, 3)
    with pytest.raises(Exception, match="index 3 is out of range: the dimension has 3 elements"):
        module.run([X[:, :3], np.array([[0, 1, 3]])])


def branch(node, inputs, constants=()):
    """if c then `node`(inputs) else -1, with free sizes."""
    def out(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    yes = helper.make_graph([*constants, node], "yes", [], [out(node.output[0])])
    no = helper.make_graph([helper.make_node("Constant", [], ["n"], value=numpy_helper.from_array(np.float32([-1])))], "no", [], [out("n")])
    ports = [helper.make_tensor_value_info("c", TensorProto.BOOL, []), *inputs]
    graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)], "g", ports, [out("y")])
    return tw.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))


def vector(name, size):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [size])


def test_an_index_that_is_a_size_is_checked_where_the_node_runs():
    shape = helper.make_node("Shape", ["w"], ["s"])
    module = branch(helper.make_node("Gather", ["x", "s"], ["t"]), [vector("x", "n"), vector("w", "m")], [shape])
    x, yes, no = np.float32([5, 6, 7]), np.array(True), np.array(False)
    assert module.run([yes, x, np.zeros(2, np.float32)])[0] == [7]
    assert module.run([no, x, np.zeros(3, np.float32)])[0] == [-1]
    with pytest.raises(Exception, match="is out of range: the dimension has"):
        module.run([yes, x, np.zeros(3, np.float32)])


def test_an_index_that_is_always_wrong_harms_only_a_run_that_comes_there():
    sizes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Add", ["s", "s"], ["s2"])]
    module = branch(helper.make_node("Gather", ["x", "s2"], ["t"]), [vector("x", "n")], sizes)
    x = np.float32([5, 6, 7])
    assert module.run([np.array(False), x])[0] == [-1]
    with pytest.raises(Exception, match="is out of range: the dimension has"):
        module.run([np.array(True), x])


def test_sizes_that_must_agree_are_checked_in_branches():
    module = branch(helper.make_node("Add", ["x", "w"], ["t"]), [vector("x", "n"), vector("w", "m")])
    x, w = np.float32([1, 2, 3]), np.float32([4, 5])
    assert module.run([np.array(False), x, w])[0] == [-1]
    with pytest.raises(Exception, match="must be equal"):
        module.run([np.array(True), x, w])


def test_emitted_c_returns_the_number_of_the_node(tmp_path):
    node = helper.make_node("Gather", ["x", "i"], ["y"], name="a */ name")
    compile_model(model(node, np.array([0, 4])), tmp_path, "--emit-c", "m.c")
    assert '1  Gather "a  / name"' in (tmp_path / "m.h").read_text()
    right = X[[0, -1]]
    found, = run_c(tmp_path, "host", [X, np.array([0, -1])], [right])
    assert np.array_equal(found, right)
    with pytest.raises(AssertionError, match="^\\(6,"):
        run_c(tmp_path, "host", [X, np.array([0, 5])], [right])
