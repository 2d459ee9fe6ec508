# SPDX-License-Identifier: Apache-2.0
"""Ranks, shapes, axes and lengths of lists that only the run knows, each at several sizes."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import tilewright as tw

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
UNKNOWN = None


def f32(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


def graph(name, inputs, nodes, outputs, constants=()):
    """`inputs`: {name: (element type, shape)}; a node is (op, inputs, outputs[, attributes])."""
    return helper.make_graph([helper.make_node(op, given, made, **(attributes[0] if attributes else {})) for op, given, made, *attributes in nodes], name,
                             [helper.make_tensor_value_info(n, *t) for n, t in inputs.items()],
                             [helper.make_tensor_value_info(n, FLOAT, UNKNOWN) for n in outputs],
                             [numpy_helper.from_array(value, n) for n, value in dict(constants).items()])


def model(inputs, nodes, constants=(), outputs=("y",), opset=18):
    return helper.make_model(graph("g", inputs, nodes, outputs, constants), ir_version=9, opset_imports=[helper.make_opsetid("", opset)])


def check(onnx_model, *runs, **options):
    """One module for all runs, against the reference of ONNX."""
    module = tw.compile(onnx_model, **options)
    for feeds in runs:
        for want, got in zip(ReferenceEvaluator(onnx_model).run(None, feeds), module.run(feeds)):
            assert got.shape == np.shape(want), {name: v.shape for name, v in feeds.items()}
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    return module


# Squeeze without axes: what is 1 is known when the model runs.


@pytest.mark.parametrize("opset", [11, 18])
def test_squeeze_of_free_sizes(opset):
    net = model({"x": (FLOAT, ["a", "b", 1])}, [("Squeeze", ["x"], ["s"]), ("Relu", ["s"], ["y"])], opset=opset)
    check(net, *({"x": f32(*shape)} for shape in [(2, 3, 1), (1, 3, 1), (4, 1, 1), (1, 1, 1), (0, 3, 1), (1, 0, 1)]))


def test_what_follows_a_squeeze_is_made_for_each_rank_that_fits():
    net = model({"x": (FLOAT, ["n", 4, 1, 1])},
                [("Squeeze", ["x"], ["s"]), ("MatMul", ["s", "w"], ["m"]), ("Softmax", ["m"], ["y"], {"axis": -1})],
                {"w": f32(4, 5)})
    check(net, *({"x": f32(n, 4, 1, 1)} for n in (1, 2, 7)))


def test_a_rank_that_does_not_fit_is_refused_by_the_run():
    net = model({"x": (FLOAT, ["n", 4, 1])}, [("Squeeze", ["x"], ["s"]), ("Transpose", ["s"], ["y"], {"perm": [1, 0]})])
    module = check(net, {"x": f32(2, 4, 1)})
    with pytest.raises(ValueError, match="must be 2 here"):
        module.run({"x": f32(1, 4, 1)})
    assert "if(" not in tw.emit(net, "graph")


def test_indices_squeezed():
    net = model({"x": (FLOAT, ["n"])}, [("NonZero", ["x"], ["z"]), ("Transpose", ["z"], ["t"], {"perm": [1, 0]}), ("Squeeze", ["t"], ["s"]), ("Cast", ["s"], ["y"], {"to": FLOAT})])
    check(net, {"x": floats(1, 0, 2)}, {"x": floats(0, 3, 0)})


# If: branches of different ranks. What exporters make of x.squeeze(1).

SQUEEZE_IF_ONE = [("Shape", ["x"], ["shape"]), ("Gather", ["shape", "one"], ["d"]), ("Equal", ["d", "one"], ["is_one"]),
                  ("If", ["is_one"], ["r"], {"then_branch": graph("t", {}, [("Squeeze", ["x", "axis"], ["t"])], ["t"]),
                                             "else_branch": graph("e", {}, [("Identity", ["x"], ["e"])], ["e"])})]
CONSTANTS = {"one": np.int64(1) + np.zeros((), np.int64), "axis": ints(1)}


@pytest.mark.parametrize("nodes, constants", [
    ([("Relu", ["r"], ["y"])], {}),
    ([("Identity", ["r"], ["y"])], {}),
    ([("Add", ["r", "v"], ["y"])], {"v": floats(1, 2, 3)}),
    ([("Reshape", ["r", "s"], ["f"]), ("MatMul", ["f", "w"], ["y"])], {"s": ints(-1, 3), "w": f32(3, 2)}),
    ([("ReduceSum", ["r"], ["y"], {"keepdims": 0})], {}),
    ([("Relu", ["r"], ["a"]), ("Shape", ["a"], ["s"]), ("Neg", ["a"], ["b"]), ("Reshape", ["b", "flat"], ["c"]), ("Reshape", ["c", "s"], ["y"])], {"flat": ints(-1)}),
])
def test_branches_of_different_ranks(nodes, constants):
    net = model({"x": (FLOAT, ["a", "b", 3])}, SQUEEZE_IF_ONE + nodes, CONSTANTS | constants)
    check(net, *({"x": f32(*shape)} for shape in [(2, 1, 3), (2, 2, 3), (1, 1, 3)]))


def test_a_branch_that_fits_nowhere_is_refused_by_the_run():
    net = model({"x": (FLOAT, ["a", "b", 3])}, SQUEEZE_IF_ONE + [("Unsqueeze", ["r", "zero"], ["u"]), ("Conv", ["u", "k"], ["y"])],
                CONSTANTS | {"zero": ints(0), "k": np.ones((1, 2, 1), np.float32)})
    module = check(net, {"x": f32(2, 1, 3)})
    with pytest.raises(ValueError, match="condition is true"):
        module.run({"x": f32(2, 2, 3)})


def test_ways_end_where_the_ranks_are_the_same_again():
    """Twenty such Ifs one after another: each has two ways, not all of them together."""
    nodes, last = [], "x"
    for k in range(20):
        nodes += [("Shape", [last], [f"s{k}"]), ("Gather", [f"s{k}", "one"], [f"d{k}"]), ("Equal", [f"d{k}", "one"], [f"q{k}"]),
                  ("If", [f"q{k}"], [f"r{k}"], {"then_branch": graph("t", {}, [("Squeeze", [last, "axis"], ["t"])], ["t"]),
                                                "else_branch": graph("e", {}, [("Identity", [last], ["e"])], ["e"])}),
                  ("Relu", [f"r{k}"], [f"p{k}"]), ("Reshape", [f"p{k}", "shape"], [f"x{k}"])]
        last = f"x{k}"
    net = model({"x": (FLOAT, ["a", "b", 3])}, nodes + [("Neg", [last], ["y"])], CONSTANTS | {"shape": ints(2, -1, 3)})
    check(net, {"x": f32(2, 1, 3)}, {"x": f32(2, 2, 3)})


def test_a_branch_inside_of_a_branch():
    inner = graph("n", {}, SQUEEZE_IF_ONE + [("Neg", ["r"], ["u"])], ["u"])
    net = model({"x": (FLOAT, ["a", "b", 3]), "c": (BOOL, [])},
                [("If", ["c"], ["v"], {"then_branch": inner, "else_branch": graph("o", {}, [("Identity", ["x"], ["i"])], ["i"])}), ("Abs", ["v"], ["y"])], CONSTANTS)
    check(net, *({"x": f32(2, b, 3), "c": np.array(c)} for b in (1, 2) for c in (True, False)))


# Lists whose length only the run knows.

LIST = (INT, ["k"])
LISTS = {
    "reshape": (model({"x": (FLOAT, ["a", "b"]), "s": LIST}, [("Reshape", ["x", "s"], ["r"]), ("Relu", ["r"], ["y"])]),
                [{"x": f32(4, 6), "s": s} for s in (ints(2, 12), ints(2, -1, 4), ints(24), ints(0, 3, 2), ints(1, 2, 3, 1, 4))]),
    "expand": (model({"x": (FLOAT, ["a", 1]), "s": LIST}, [("Expand", ["x", "s"], ["r"]), ("Relu", ["r"], ["y"])]),
               [{"x": f32(a, 1), "s": s} for a, s in ((4, ints(4, 3)), (1, ints(2, 3, 4)), (2, ints(5)))]),
    "constant_of_shape": (model({"x": (FLOAT, []), "s": LIST}, [("ConstantOfShape", ["s"], ["r"]), ("Add", ["r", "x"], ["y"])]),
                          [{"x": f32(), "s": s} for s in (ints(4, 3), ints(2, 0, 4), ints(5))]),
    "tile": (model({"x": (FLOAT, ["a", "b"]), "s": LIST}, [("Tile", ["x", "s"], ["r"]), ("Relu", ["r"], ["y"])]),
             [{"x": f32(2, 3), "s": s} for s in (ints(1, 3), ints(2, 2), ints(0, 1))]),
    "slice": (model({"x": (FLOAT, ["a", "b", "c"])} | {n: LIST for n in "seat"}, [("Slice", ["x", "s", "e", "a", "t"], ["r"]), ("Relu", ["r"], ["y"])]),
              [{"x": f32(4, 5, 6), "s": ints(1, 2), "e": ints(3, 100), "a": ints(0, 2), "t": ints(1, 2)},
               {"x": f32(4, 5, 6), "s": ints(-1), "e": ints(-100), "a": ints(1), "t": ints(-2)},
               {"x": f32(4, 5, 6), "s": ints(1, 0, 1), "e": ints(9, 9, 9), "a": ints(2, 0, 1), "t": ints(1, 1, 3)}]),
    "slice_from_the_first_axis_on": (model({"x": (FLOAT, ["a", "b", "c"]), "s": LIST, "e": LIST}, [("Slice", ["x", "s", "e"], ["r"]), ("Relu", ["r"], ["y"])]),
                                     [{"x": f32(4, 5, 6), "s": ints(1, 2), "e": ints(3, 100)}, {"x": f32(4, 5, 6), "s": ints(-1), "e": ints(100)}]),
    "pad": (model({"x": (FLOAT, ["a", "b"]), "p": LIST}, [("Pad", ["x", "p"], ["y"])]),
            [{"x": f32(2, 3), "p": p} for p in (ints(1, 0, 0, 2), ints(0, 0, 0, 1))]),
    "pad_of_axes": (model({"x": (FLOAT, ["a", "b"]), "p": LIST, "a": (INT, ["l"])}, [("Pad", ["x", "p", "", "a"], ["y"])]),
                    [{"x": f32(2, 3), "p": ints(1, 2), "a": ints(1)}, {"x": f32(1, 3), "p": ints(0, 1, 2, 0), "a": ints(-1, 0)}]),
    "unsqueeze": (model({"x": (FLOAT, ["a", "b"]), "a": LIST}, [("Unsqueeze", ["x", "a"], ["r"]), ("Relu", ["r"], ["y"])]),
                  [{"x": f32(2, 3), "a": a} for a in (ints(0), ints(-1, 0), ints(1, 3, 4))]),
    "squeeze": (model({"x": (FLOAT, ["a", "b", "c"]), "a": LIST}, [("Squeeze", ["x", "a"], ["r"]), ("Relu", ["r"], ["y"])]),
                [{"x": f32(1, 3, 2), "a": ints(0)}, {"x": f32(1, 3, 1), "a": ints(-1, 0)}, {"x": f32(1, 1, 1), "a": ints(0, 1, 2)}]),
    "split": (model({"x": (FLOAT, ["a", "b"]), "s": LIST}, [("Split", ["x", "s"], ["y", "z"], {"axis": 1})], outputs=("y", "z")),
              [{"x": f32(2, 7), "s": s} for s in (ints(3, 4), ints(0, 7))]),
    "resize": (model({"x": (FLOAT, ["a", "b", "c", "d"]), "s": LIST}, [("Resize", ["x", "", "", "s"], ["y"], {"mode": "nearest"})]),
               [{"x": f32(1, 2, 3, 4), "s": s} for s in (ints(1, 2, 6, 8), ints(1, 2, 3, 9))]),
    "reduce_kept": (model({"x": (FLOAT, ["a", "b", "c"]), "a": LIST}, [("ReduceMean", ["x", "a"], ["y"], {"keepdims": 1})]),
                    [{"x": f32(2, 3, 4), "a": a} for a in (ints(0), ints(-1, 1), ints(0, 1, 2), ints())]),
    "reduce": (model({"x": (FLOAT, ["a", "b", "c"]), "a": LIST}, [("ReduceMax", ["x", "a"], ["y"], {"keepdims": 0})]),
               [{"x": f32(2, 3, 4), "a": a} for a in (ints(0), ints(-1, 1), ints(0, 1, 2), ints())]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_a_length_that_the_run_tells(name):
    net, runs = LISTS[name]
    check(net, *runs)


# Values that only the run knows, in lists of known length.

VALUES = {
    "unsqueeze": (model({"x": (FLOAT, ["a", "b"]), "a": (INT, [1])}, [("Unsqueeze", ["x", "a"], ["y"])]), [{"x": f32(2, 3), "a": ints(a)} for a in (0, 1, -1)]),
    "squeeze": (model({"x": (FLOAT, ["a", "b", "c"]), "a": (INT, [1])}, [("Squeeze", ["x", "a"], ["y"])]), [{"x": f32(1, 3, 1), "a": ints(a)} for a in (0, 2, -1)]),
    "cumsum": (model({"x": (FLOAT, ["a", "b", "c"]), "a": (INT, [])}, [("CumSum", ["x", "a"], ["y"])]), [{"x": f32(2, 3, 4), "a": np.array(a)} for a in (0, 1, -1)]),
    "range": (model({n: (INT, []) for n in "sed"}, [("Range", ["s", "e", "d"], ["r"]), ("Cast", ["r"], ["y"], {"to": FLOAT})]),
              [dict(zip("sed", map(np.array, v))) for v in ((0, 7, 2), (9, 1, -3), (9, 1, 3))]),
    "top_k": (model({"x": (FLOAT, ["a", "b"]), "k": (INT, [1])}, [("TopK", ["x", "k"], ["y", "i"])]), [{"x": f32(2, 7), "k": ints(k)} for k in (1, 3, 7)]),
    "one_hot": (model({"i": LIST, "d": (INT, []), "v": (FLOAT, [2])}, [("OneHot", ["i", "d", "v"], ["y"])]),
                [{"i": ints(0, 2), "d": np.array(3), "v": f32(2)}, {"i": ints(0, -1, 4), "d": np.array(5), "v": f32(2)}]),
    "resize_scales": (model({"x": (FLOAT, ["a", "b", "c", "d"]), "s": (FLOAT, [4])}, [("Resize", ["x", "", "s"], ["y"], {"mode": "linear"})]),
                      [{"x": f32(1, 2, 3, 4), "s": floats(1, 1, *s)} for s in ((2, 1.5), (.7, 1.5), (1, 1))]),
    "pad_axes": (model({"x": (FLOAT, ["a", "b"]), "p": (INT, [2]), "a": (INT, [1])}, [("Pad", ["x", "p", "", "a"], ["y"])]),
                 [{"x": f32(2, 3), "p": ints(1, 2), "a": ints(a)} for a in (0, 1, -2)]),
    "reduce_axes": (model({"x": (FLOAT, ["a", "b", "c"]), "a": (INT, [1])}, [("ReduceSum", ["x", "a"], ["y"], {"keepdims": 0})]),
                    [{"x": f32(2, 3, 4), "a": ints(a)} for a in (0, 1, -1)]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_that_the_run_tells(name):
    net, runs = VALUES[name]
    check(net, *runs)


# Inputs of unknown rank.

X = {"x": (FLOAT, UNKNOWN)}
SHAPES = [(2, 3), (3,), (2, 1, 3)]
RANKS = {
    "transpose": ([("Transpose", ["x"], ["r"]), ("Relu", ["r"], ["y"])], {}),
    "flatten": ([("Flatten", ["x"], ["y"], {"axis": 1})], {}),
    "matmul": ([("MatMul", ["x", "w"], ["r"]), ("Relu", ["r"], ["y"])], {"w": f32(3, 2)}),
    "layer_norm": ([("LayerNormalization", ["x", "w"], ["y"], {"axis": -1})], {"w": f32(3)}),
    "reduce": ([("ReduceMean", ["x"], ["y"], {"keepdims": 0})], {}),
    "gather": ([("Gather", ["x", "i"], ["r"], {"axis": -1}), ("Relu", ["r"], ["y"])], {"i": ints(2, 0)}),
    "concat": ([("Concat", ["x", "x"], ["y"], {"axis": 0})], {}),
    "shape": ([("Shape", ["x"], ["s"]), ("Cast", ["s"], ["y"], {"to": FLOAT})], {}),
    "there_and_back": ([("Shape", ["x"], ["s"]), ("Reshape", ["x", "flat"], ["f"]), ("Relu", ["f"], ["r"]), ("Reshape", ["r", "s"], ["y"])], {"flat": ints(-1)}),
    "sequence": ([("SplitToSequence", ["x"], ["s"], {"axis": 0, "keepdims": 0}), ("ConcatFromSequence", ["s"], ["y"], {"axis": 0, "new_axis": 1})], {}),
}


@pytest.mark.parametrize("name", RANKS)
def test_inputs_of_unknown_rank(name):
    nodes, constants = RANKS[name]
    shapes = [s for s in SHAPES if name != "flatten" or len(s) > 1]
    check(model(X, nodes, constants), *({"x": f32(*shape)} for shape in shapes))


def test_indices_of_unknown_rank():
    net = model({"x": (FLOAT, ["a", "b"]), "i": (INT, UNKNOWN)}, [("Gather", ["x", "i"], ["r"], {"axis": 1}), ("Relu", ["r"], ["y"])])
    check(net, *({"x": f32(2, 3), "i": i} for i in (ints(0, 2), np.array(1), np.array([[1, -1], [0, 0]]))))


def test_two_inputs_of_unknown_rank():
    net = model({"x": (FLOAT, UNKNOWN), "z": (FLOAT, UNKNOWN)}, [("Add", ["x", "z"], ["r"]), ("Relu", ["r"], ["y"])])
    check(net, {"x": f32(2, 3, 4), "z": f32(4)}, {"x": f32(2), "z": f32(3, 1)}, {"x": f32(), "z": f32(3)})


def test_more_ways_than_are_made_of_all_that_follows():
    """Seven values of two ranks each: for the last of them there is a choice at each node alone."""
    names = [f"x{k}" for k in range(7)]
    nodes = [("Squeeze", [x], [f"s{x}"]) for x in names] + [("Add", [f"a{k}" if k else "sx0", f"sx{k + 1}"], [f"a{k + 1}"]) for k in range(6)] + [("Relu", ["a6"], ["y"])]
    net = model({x: (FLOAT, [f"n{x}", 3]) for x in names}, nodes)
    check(net, *({x: f32(n, 3) + k for k, (x, n) in enumerate(zip(names, rows))} for rows in ((1,) * 7, (2,) * 7, (2, 1, 2, 1, 1, 2, 1), (1, 1, 1, 1, 1, 1, 4))))


def test_ways_share_one_choice():
    """Not a choice for each node."""
    names = [f"v{k}" for k in range(9)]
    net = model(X, [("Neg", ["x"], ["v0"])] + [("Sigmoid", [a], [b]) for a, b in zip(names, names[1:])] + [("Abs", ["v8"], ["y"])])
    assert tw.emit(net, "graph").count("= if(") == 6  # of seven ranks
    check(net, *({"x": f32(*shape)} for shape in SHAPES))


def test_what_does_not_depend_on_the_rank_is_made_once():
    net = model({"x": (FLOAT, UNKNOWN), "z": (FLOAT, ["n", 3])}, [("Relu", ["x"], ["r"]), ("Softmax", ["z"], ["s"]), ("Add", ["r", "s"], ["y"])])
    assert tw.emit(net, "graph").count("= softmax(") == 1
    check(net, *({"x": f32(*shape), "z": f32(2, 3)} for shape in SHAPES))


# Loops


def check_with_onnxruntime(onnx_model, *runs):
    module = tw.compile(onnx_model)
    session = onnxruntime.InferenceSession(onnx_model.SerializeToString(), providers=["CPUExecutionProvider"])
    for feeds in runs:
        for want, got in zip(session.run(None, feeds), module.run(feeds)):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-5)


def loop_body(nodes, carried=(), outputs=()):
    body = graph("b", {"i": (INT, []), "go": (BOOL, [])} | {n: (FLOAT, UNKNOWN) for n in carried}, [("Identity", ["go"], ["on"])] + nodes, ["on", *outputs])
    body.output[0].type.tensor_type.elem_type = BOOL
    return body


def test_a_carried_value_whose_rank_grows():
    body = loop_body([("Unsqueeze", ["v", "zero"], ["w"])], ["v"], ["w"])
    net = model({"x": (FLOAT, ["n"]), "m": (INT, [])}, [("Loop", ["m", "", "x"], ["z"], {"body": body}), ("Relu", ["z"], ["y"])], {"zero": ints(0)})
    module = tw.compile(net)
    for trips in (0, 1, 3):
        x = f32(3)
        np.testing.assert_array_equal(module.run({"x": x, "m": np.array(trips)})[0], np.maximum(x, 0).reshape([1] * trips + [3]))


def test_a_loop_over_something_of_unknown_rank():
    body = loop_body([("Cast", ["i"], ["f"], {"to": FLOAT}), ("Add", ["x", "f"], ["w"])], [], ["w"])
    net = model(X | {"m": (INT, [])}, [("Loop", ["m", ""], ["y"], {"body": body})])
    check_with_onnxruntime(net, *({"x": f32(*shape), "m": np.array(m)} for shape in SHAPES for m in (1, 3)))


def test_a_scan_over_something_of_unknown_rank():
    body = graph("b", {"s": (FLOAT, UNKNOWN), "p": (FLOAT, UNKNOWN)}, [("Add", ["s", "p"], ["t"]), ("Identity", ["t"], ["q"])], ["t", "q"])
    net = model({"s": (FLOAT, UNKNOWN), "x": (FLOAT, UNKNOWN)}, [("Scan", ["s", "x"], ["z", "y"], {"body": body, "num_scan_inputs": 1})], outputs=("z", "y"))
    check(net, {"s": f32(2), "x": f32(3, 2)}, {"s": f32(), "x": f32(3)})


# Tuples of indices whose length only the run knows: the rank of the result, or of the updates.


def test_gather_nd_of_tuples():
    net = model({"x": (FLOAT, ["a", "b", "c"]), "i": (INT, ["n", "k"])}, [("GatherND", ["x", "i"], ["r"]), ("Relu", ["r"], ["y"])])
    check(net, *({"x": f32(2, 3, 4), "i": np.array(i)} for i in ([[0], [1]], [[0, 1], [1, 2], [0, -1]], [[1, 2, 3]])))


def test_scatter_nd_of_tuples():
    net = model({"x": (FLOAT, ["a", "b", "c"]), "i": (INT, ["n", "k"]), "u": (FLOAT, UNKNOWN)}, [("ScatterND", ["x", "i", "u"], ["r"]), ("Relu", ["r"], ["y"])])
    check(net, {"x": f32(2, 3, 4), "i": np.array([[1]]), "u": f32(1, 3, 4)}, {"x": f32(2, 3, 4), "i": np.array([[0, 1], [1, 2]]), "u": f32(2, 4)},
          {"x": f32(2, 3, 4), "i": np.array([[1, 2, 3]]), "u": f32(1)})


def test_what_a_loop_stacks_may_have_a_rank_that_its_body_tells():
    body = loop_body([("Squeeze", ["x"], ["s"]), ("Cast", ["i"], ["f"], {"to": FLOAT}), ("Add", ["s", "f"], ["w"]), ("Add", ["v", "f"], ["u"])], ["v"], ["u", "w"])
    net = model({"x": (FLOAT, ["a", "b"]), "m": (INT, []), "v0": (FLOAT, [])}, [("Loop", ["m", "", "v0"], ["v", "z"], {"body": body}), ("Neg", ["z"], ["y"])], outputs=("v", "y"))
    check_with_onnxruntime(net, *({"x": f32(*shape), "m": np.array(m), "v0": f32()} for shape in [(3, 2), (1, 3), (4, 1), (1, 1)] for m in (1, 3)))


def test_items_of_ranks_that_the_run_tells_are_joined():
    net = model({"x": (FLOAT, ["a", 3]), "c": (BOOL, [])},
                [("If", ["c"], ["r"], {"then_branch": graph("t", {}, [("ReduceSum", ["x", "zero"], ["t"], {"keepdims": 0})], ["t"]),
                                       "else_branch": graph("e", {}, [("Neg", ["x"], ["e"])], ["e"])}),
                 ("SequenceConstruct", ["r", "r"], ["s"]), ("ConcatFromSequence", ["s"], ["j"], {"axis": -1}), ("Relu", ["j"], ["y"])], {"zero": ints(0)})
    check(net, *({"x": f32(2, 3), "c": np.array(c)} for c in (True, False)))


def test_a_sequence_of_several_ranks_in_a_loop():
    """Each iteration adds an item of another rank; one of them is taken."""
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Unsqueeze", ["v", "zero"], ["w"]), helper.make_node("SequenceInsert", ["l", "w"], ["k"])], "b",
                             [helper.make_tensor_value_info("i", INT, []), helper.make_tensor_value_info("go", BOOL, []), helper.make_tensor_value_info("v", FLOAT, None),
                              helper.make_tensor_sequence_value_info("l", FLOAT, None)],
                             [helper.make_tensor_value_info("on", BOOL, []), helper.make_tensor_value_info("w", FLOAT, None), helper.make_tensor_sequence_value_info("k", FLOAT, None)])
    net = model({"x": (FLOAT, ["n"]), "m": (INT, []), "at": (INT, [])},
                [("SequenceEmpty", [], ["e"]), ("Loop", ["m", "", "x", "e"], ["v", "s"], {"body": body}), ("SequenceAt", ["s", "at"], ["q"]), ("Neg", ["q"], ["y"])], {"zero": ints(0)})
    module = tw.compile(net)
    for at in (0, 2):
        x = f32(4)
        np.testing.assert_array_equal(module.run({"x": x, "m": np.array(3), "at": np.array(at)})[0], -x.reshape([1] * (at + 1) + [4]))


def test_ways_of_ways_end():
    """Each input has seven ranks."""
    count = 40
    net = model({f"x{k}": (FLOAT, UNKNOWN) for k in range(count + 1)},
                [("Add", [f"v{k}" if k else "x0", f"x{k + 1}"], [f"v{k + 1}" if k + 1 < count else "y"]) for k in range(count)])
    with pytest.raises(tw.Error) as error:
        tw.emit(net, "graph")
    assert error.value.code == "frontend.onnx.unknown_rank"


def test_a_signal_whose_last_dimension_the_run_tells():
    net = model({"x": (FLOAT, ["a", "b"]), "axis": (INT, [1])},
                [("Unsqueeze", ["x", "axis"], ["s"]), ("STFT", ["s", "step", "window"], ["y"], {"onesided": 1})],
                {"step": np.array(3), "window": floats(-0.875, 0.5, 0, -0.5, 0.75)}, opset=19)
    check(net, {"x": f32(2, 8), "axis": ints(2)}, {"x": f32(3, 5), "axis": ints(2)})


def test_a_reshape_to_nothing_by_a_shape_that_the_run_tells():
    net = model({"x": (FLOAT, ["a", "b"]), "shape": (INT, [2])}, [("Reshape", ["x", "shape"], ["r"]), ("Relu", ["r"], ["y"])])
    check(net, {"x": f32(3, 0), "shape": ints(3, 0)}, {"x": f32(3, 4), "shape": ints(-1, 6)}, {"x": f32(3, 4), "shape": ints(0, -1)})


def test_a_free_dimension_that_is_resized_to_one():
    net = model({"x": (FLOAT, ["n", "c", 9, 9])},
                [("Resize", ["x", "", "", "sizes"], ["y"], {"mode": "nearest", "coordinate_transformation_mode": "pytorch_half_pixel", "nearest_mode": "round_prefer_ceil"})],
                {"sizes": ints(2, 1, 5, 17)}, opset=19)
    session = onnxruntime.InferenceSession(net.SerializeToString(), providers=["CPUExecutionProvider"])
    module = tw.compile(net)
    for x in (f32(2, 1, 9, 9), f32(2, 4, 9, 9), f32(1, 3, 9, 9)):
        np.testing.assert_array_equal(module.run([x])[0], session.run(None, {"x": x})[0])


@pytest.mark.parametrize("rate", [8000, 16000])
def test_a_branch_that_has_no_meaning_for_the_sizes_of_the_model(rate):
    """The width is that of one rate; the branch for the other is refused when the model runs."""
    net = model({"x": (FLOAT, [2, "w"]), "rate": (INT, [])},
                [("Equal", ["rate", "high"], ["c"]),
                 ("If", ["c"], ["r"], {"then_branch": graph("t", {}, [("Reshape", ["x", "wide"], ["t"])], ["t"]),
                                       "else_branch": graph("e", {}, [("Reshape", ["x", "narrow"], ["e"])], ["e"])}), ("Neg", ["r"], ["y"])],
                {"high": np.array(16000), "wide": ints(2, 512), "narrow": ints(2, 256)})
    width = 512 if rate == 16000 else 256
    module = tw.compile(net, dims={"w": width})
    x = f32(2, width)
    np.testing.assert_array_equal(module.run({"x": x, "rate": np.array(rate)})[0], -x)
    with pytest.raises(tw.Error, match="its condition is .*cannot be reshaped"):
        module.run({"x": x, "rate": np.array(24000 - rate)})
    with pytest.raises(tw.Error, match="cannot be reshaped"):
        tw.compile(net, dims={"w": 300})


def test_a_resize_to_nothing_by_a_ratio_that_the_run_tells():
    """Of the third dimension nothing is left."""
    net = model({"x": (FLOAT, [1, 3, 1, 3, "n"])},
                [("Resize", ["x", "", "", "sizes"], ["y"], {"mode": "linear", "antialias": 1, "axes": [2, 3, 4], "keep_aspect_ratio_policy": "not_larger",
                                                            "coordinate_transformation_mode": "align_corners"})], {"sizes": ints(1, 5, 4)})
    session = onnxruntime.InferenceSession(net.SerializeToString(), providers=["CPUExecutionProvider"])
    module = tw.compile(net)
    for x in (f32(1, 3, 1, 3, 9), f32(1, 3, 1, 3, 4)):
        want = session.run(None, {"x": x})[0]
        assert module.run([x])[0].shape == want.shape
        np.testing.assert_allclose(module.run([x])[0], want, rtol=1e-5, atol=1e-5)
