# SPDX-License-Identifier: Apache-2.0
"""More hostile models: sizes that follow from sizes in long chains, in functions and bodies too. Importing it adds them."""
import numpy as np
from hostile_models import T, h, hostile, info, ints, make_model, numpy_helper


@hostile
def reshape_twice(n):
    """Each size is a formula of two before it that nothing simplifies."""
    nodes, last = [], "x"
    for i in range(n):
        nodes += [h.make_node("Reshape", [last, "t"], [f"r{i}"]), h.make_node("Concat", [f"r{i}", f"r{max(0, i - 1)}"], [f"k{i}"], axis=0)]
        last = f"k{i}"
    return make_model(nodes, [info("x", ["a", "b"])], [last], [ints("t", [-1, 3])])


@hostile
def size_of_chain(n):
    nodes, last = [], "x"
    for i in range(n):
        nodes += [h.make_node("Size", [last], [f"s{i}"]), h.make_node("Div", [f"s{i}", "k"], [f"q{i}"]),
                  h.make_node("Unsqueeze", [f"q{i}", "zero"], [f"u{i}"]), h.make_node("Concat", [f"u{i}", "k1"], [f"t{i}"], axis=0),
                  h.make_node("Expand", ["one", f"t{i}"], [f"r{i}"])]
        last = f"r{i}"
    return make_model(nodes, [info("x", ["a", "b"])], [last],
                      [ints("k", 3), ints("k1", [7]), ints("zero", [0]), numpy_helper.from_array(np.ones((1, 1), np.float32), "one")])


@hostile
def floats_of_sizes(n):
    """Sizes that go through floats, as of Resize in older opsets."""
    nodes, last = [], "x"
    for i in range(n):
        nodes += [h.make_node("Shape", [last], [f"s{i}"]), h.make_node("Cast", [f"s{i}"], [f"f{i}"], to=T.FLOAT),
                  h.make_node("Mul", [f"f{i}", "two"], [f"g{i}"]), h.make_node("Floor", [f"g{i}"], [f"l{i}"]),
                  h.make_node("Cast", [f"l{i}"], [f"t{i}"], to=T.INT64), h.make_node("Expand", [last, f"t{i}"], [f"r{i}"])]
        last = f"r{i}"
    return make_model(nodes, [info("x", ["a", 1])], [last], [numpy_helper.from_array(np.array([1, 2], np.float32), "two")])


@hostile
def split_concat_chain(n):
    nodes, last = [], "x"
    for i in range(n):
        nodes += [h.make_node("Split", [last], [f"a{i}", f"b{i}"], axis=0, num_outputs=2),
                  h.make_node("Concat", [f"a{i}", "x"], [f"k{i}"], axis=0)]
        last = f"k{i}"
    return make_model(nodes, [info("x", ["a", "b"])], [last])


@hostile
def squeeze_by_value(n):
    """Axes that only the run tells."""
    nodes, last = [], "x"
    for i in range(n):
        nodes += [h.make_node("Unsqueeze", [last, "p"], [f"u{i}"]), h.make_node("Squeeze", [f"u{i}", "q"], [f"s{i}"])]
        last = f"s{i}"
    return make_model(nodes, [info("x", ["a", "b", "c"]), info("p", [1], T.INT64), info("q", [1], T.INT64)], [last])


@hostile
def where_sizes(n):
    nodes = [h.make_node("Shape", ["x"], ["s0"]), h.make_node("Shape", ["z"], ["z0"])]
    for i in range(n):
        nodes += [h.make_node("Less", [f"s{i}", "z0"], [f"c{i}"]), h.make_node("Where", [f"c{i}", f"s{i}", "z0"], [f"w{i}"]),
                  h.make_node("Mul", [f"w{i}", f"s{i}"], [f"s{i + 1}"])]
    nodes.append(h.make_node("Expand", ["x", f"s{n}"], ["y"]))
    return make_model(nodes, [info("x", ["a", "b"]), info("z", ["c", "d"])], ["y"])


@hostile
def nested_functions_of_sizes(n):
    """A function of sizes, called in a chain."""
    body = [h.make_node("Shape", ["a"], ["s"]), h.make_node("Constant", [], ["m"], value_ints=[-1, 5]),
            h.make_node("Reshape", ["a", "m"], ["r"]), h.make_node("Shape", ["r"], ["t"]), h.make_node("Max", ["s", "t"], ["u"]),
            h.make_node("Expand", ["r", "u"], ["b"])]
    f = h.make_function("my", "F", ["a"], ["b"], body, [h.make_opsetid("", 21)])
    nodes = [h.make_node("F", [f"x{i}"], [f"x{i + 1}"], domain="my") for i in range(n)]
    return make_model(nodes, [info("x0", ["p", "q"])], [f"x{n}"], functions=[f])


@hostile
def loops_of_sizes(n):
    """Loops one after another, each with a chain of sizes in it."""
    nodes = []
    for i in range(n):
        inner = [h.make_node("Identity", ["c"], ["k"]), h.make_node("Reshape", ["v", "t"], ["r"]),
                 h.make_node("Concat", ["r", "r"], ["o"], axis=0)]
        body = h.make_graph(inner, "b", [info("i", [], T.INT64), info("c", [], T.BOOL), info("v")],
                            [info("k", [], T.BOOL), info("o")])
        nodes.append(h.make_node("Loop", ["trips", "", f"x{i}"], [f"x{i + 1}"], body=body))
    return make_model(nodes, [info("x0", ["n", "m"])], [f"x{n}"], [ints("trips", 3), ints("t", [-1, 3])])


@hostile
def ifs_of_sizes(n):
    """Branches that use a size which is a formula of all before."""
    nodes, last = [], "x"
    for i in range(n):
        branches = [h.make_graph([h.make_node(op, [last], ["v"])], "b", [], [info("v")]) for op in ("Neg", "Abs")]
        nodes += [h.make_node("If", ["c"], [f"y{i}"], then_branch=branches[0], else_branch=branches[1]),
                  h.make_node("Reshape", [f"y{i}", "t"], [f"r{i}"]), h.make_node("Concat", [f"r{i}", f"r{i}"], [f"k{i}"], axis=0)]
        last = f"k{i}"
    return make_model(nodes, [info("x", ["n", "m"]), info("c", [], T.BOOL)], [last], [ints("t", [-1, 3])])


@hostile
def ints_attribute(n):
    return make_model([h.make_node("Transpose", ["x"], ["y"], perm=list(range(n)))], [info("x", ["n", "m"])], ["y"])


@hostile
def pads_attribute(n):
    return make_model([h.make_node("MaxPool", ["x"], ["y"], kernel_shape=[1] * n, pads=[1] * 2 * n)], [info("x", ["n", "c", "w"])], ["y"])


@hostile
def gather_of_list(n):
    """Elements of a long list of constants, one by one."""
    nodes = [h.make_node("Gather", ["l", f"i{k}"], [f"g{k}"]) for k in range(n)]
    nodes += [h.make_node("Concat", [f"g{k}" for k in range(n)], ["t"], axis=0), h.make_node("Reshape", ["x", "t"], ["y"])]
    return make_model(nodes, [info("x", ["n"])], ["y"], [ints("l", [1] * 256)] + [ints(f"i{k}", [k % 256]) for k in range(n)])
