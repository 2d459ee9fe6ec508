# SPDX-License-Identifier: Apache-2.0
"""Valid and invalid models that ask for much work by few bytes.

`MODELS` maps a name to a function of a count, which makes a model that grows with it; `model(name, size)` chooses the count.
"""
import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

MODELS = {}


def hostile(make):
    MODELS[make.__name__] = make
    return make


def info(name, shape=None, elem=T.FLOAT):
    return h.make_tensor_value_info(name, elem, shape)


def ints(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def make_model(nodes, inputs, outputs, initializers=(), functions=(), **more):
    outputs = [info(o) if isinstance(o, str) else o for o in outputs]
    graph = h.make_graph(list(nodes), "g", list(inputs), outputs, list(initializers), **more)
    domains = {n.domain for n in nodes} | {"", "my"}
    return h.make_model(graph, opset_imports=[h.make_opsetid(d, 3 if d == "ai.onnx.ml" else 1 if d else 21) for d in domains],
                        ir_version=10, functions=list(functions))


def model(name, size):
    """The bytes of a model of at most `size` bytes, and near that where the model grows at all."""
    make = lambda n: MODELS[name](n).SerializeToString()
    count, content = 50, make(50)
    if len(make(100)) == len(content):
        return content
    while len(content) < 0.8 * size:
        larger = max(count + 1, int(count * min(8, 0.95 * size / len(content))))
        more = make(larger)
        if len(more) > size:
            break
        count, content = larger, more
    return content


# Sizes computed from sizes.

def shape_arithmetic(op, other, dims=("a", "b")):
    """s0 = shape(x); si = op(s[i-1], s[other(i)]); y = reshape(x, the last)."""
    def make(n):
        nodes = [h.make_node("Shape", ["x"], ["s0"])]
        nodes += [h.make_node(op(i), [f"s{i - 1}", f"s{max(0, other(i))}"], [f"s{i}"]) for i in range(1, n)]
        nodes.append(h.make_node("Reshape", ["x", f"s{n - 1}"], ["y"]))
        return make_model(nodes, [info("x", dims)], ["y"])
    return make


ARITHMETIC = ["Div", "Mul", "Add", "Sub", "Max", "Min", "Mod"]
MODELS["powers"] = shape_arithmetic(lambda i: "Mul", lambda i: i - 1)
MODELS["doubles"] = shape_arithmetic(lambda i: "Add", lambda i: i - 1)
MODELS["fibonacci"] = shape_arithmetic(lambda i: "Add", lambda i: i - 2)
MODELS["arithmetic"] = shape_arithmetic(lambda i: ARITHMETIC[i % 7], lambda i: i - 2)
MODELS["arithmetic_of_16"] = shape_arithmetic(lambda i: ARITHMETIC[i % 4], lambda i: i - 2, [f"d{i}" for i in range(16)])


@hostile
def lists_of_sizes(n):
    """Arithmetic on lists of as many sizes as are followed."""
    dims = [f"d{i}" for i in range(16)]
    nodes = [h.make_node("Shape", ["x"], ["s"]), h.make_node("Concat", ["s"] * 16, ["l0"], axis=0)]
    nodes += [h.make_node(ARITHMETIC[1 + i % 3], [f"l{i - 1}", f"l{max(0, i - 2)}"], [f"l{i}"]) for i in range(1, n)]
    return make_model(nodes, [info("x", dims)], [info(f"l{n - 1}", None, T.INT64)])


@hostile
def shape_gather_concat_reshape(n):
    nodes, last = [], "x"
    for i in range(n):
        nodes += [h.make_node("Shape", [last], [f"s{i}"]), h.make_node("Gather", [f"s{i}", "zero"], [f"a{i}"]),
                  h.make_node("Gather", [f"s{i}", "one"], [f"b{i}"]), h.make_node("Mul", [f"a{i}", f"b{i}"], [f"m{i}"]),
                  h.make_node("Concat", [f"m{i}", f"a{i}", "minus"], [f"t{i}"], axis=0),
                  h.make_node("Reshape", [last, f"t{i}"], [f"r{i}"])]
        last = f"r{i}"
    return make_model(nodes, [info("x", ["a", "b", "c"])], [last],
                      [ints("zero", [0]), ints("one", [1]), ints("minus", [-1])])


@hostile
def shape_of_sum(n):
    """Each size is the sum of two before it, by way of a tensor that has it."""
    nodes, last = [], "x"
    for i in range(n):
        nodes.append(h.make_node("Concat", [last, last if i % 3 else "x"], [f"k{i}"], axis=0))
        nodes.append(h.make_node("Slice", [f"k{i}", "one", "minus"], [f"r{i}"]))
        last = f"r{i}"
    return make_model(nodes, [info("x", ["a", "b"])], [last], [ints("one", [1]), ints("minus", [-1])])


@hostile
def reshape_concat(n):
    nodes, last = [], "x"
    for i in range(n):
        nodes += [h.make_node("Reshape", [last, "t"], [f"r{i}"]), h.make_node("Concat", [f"r{i}", last], [f"k{i}"], axis=0)]
        last = f"k{i}"
    return make_model(nodes, [info("x", ["a", "b"]), info("t", [2], T.INT64)], [last])


@hostile
def expand_chain(n):
    nodes, last = [], "x"
    for i in range(n):
        nodes += [h.make_node("Shape", [last], [f"s{i}"]), h.make_node("Mul", [f"s{i}", "t"], [f"m{i}"]),
                  h.make_node("Expand", [last, f"m{i}"], [f"r{i}"])]
        last = f"r{i}"
    return make_model(nodes, [info("x", [f"d{j}" for j in range(8)]), info("t", [8], T.INT64)], [last])


@hostile
def tile_chain(n):
    nodes = [h.make_node("Tile", [f"x{i}", "t"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [info("x0", ["a", "b", "c", "d"]), info("t", [4], T.INT64)], [f"x{n}"])


@hostile
def pad_chain(n):
    nodes = [h.make_node("Pad", [f"x{i}", "p"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [info("x0", ["a", "b", "c", "d"]), info("p", [8], T.INT64)], [f"x{n}"])


@hostile
def resize_chain(n):
    nodes = [h.make_node("Resize", [f"x{i}", "", "s"], [f"x{i + 1}"]) for i in range(n)]
    scales = numpy_helper.from_array(np.array([1, 1, 1.7, 0.3], np.float32), "s")
    return make_model(nodes, [info("x0", ["a", "b", "c", "d"])], [f"x{n}"], [scales])


@hostile
def pool_chain(n):
    nodes = [h.make_node("MaxPool", [f"x{i}"], [f"x{i + 1}"], kernel_shape=[3, 2], strides=[2, 1], pads=[1] * 4)
             for i in range(n)]
    return make_model(nodes, [info("x0", ["n", "c", "h", "w"])], [f"x{n}"])


@hostile
def conv_transpose_chain(n):
    nodes = [h.make_node("ConvTranspose", [f"x{i}", "w"], [f"x{i + 1}"], strides=[2, 3], pads=[1, 0, 1, 1]) for i in range(n)]
    return make_model(nodes, [info("x0", ["n", "c", "h", "w"]), info("w", ["c", "c", "i", "j"])], [f"x{n}"])


@hostile
def slice_chain(n):
    nodes = [h.make_node("Slice", [f"x{i}", "st", "en", "ax", "sp"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [info("x0", ["n", "c", "h", "w"]), info("st", [4], T.INT64), info("en", [4], T.INT64)],
                      [f"x{n}"], [ints("ax", [0, 1, 2, 3]), ints("sp", [1, 2, -1, 3])])


@hostile
def slice_many(n):
    nodes = [h.make_node("Slice", [f"x{i}", f"st{i}", f"en{i}", "ax", "sp"], [f"x{i + 1}"]) for i in range(n)]
    places = [info(f"{which}{i}", [4], T.INT64) for i in range(n) for which in ("st", "en")]
    return make_model(nodes, [info("x0", ["n", "c", "h", "w"]), *places], [f"x{n}"],
                      [ints("ax", [0, 1, 2, 3]), ints("sp", [1, 2, -1, 3])])


@hostile
def reshape_rest(n):
    nodes = [h.make_node("Reshape", [f"x{i}", "t" if i % 2 else "u"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [info("x0", ["n", "c", "h", "w"])], [f"x{n}"],
                      [ints("t", [-1, 3, 7]), ints("u", [5, -1, 11, 13])])


@hostile
def flatten_many(n):
    """The products of many differently named sizes."""
    nodes = [h.make_node("Flatten", [f"x{i}"], [f"f{i}"], axis=4) for i in range(n)]
    nodes += [h.make_node("MatMul", [f"f{i}", f"f{i + 1}"], [f"m{i}"]) for i in range(n - 1)]
    return make_model(nodes, [info(f"x{i}", [f"a{i}_{j}" for j in range(8)]) for i in range(n)], [f"m{n - 2}"])


@hostile
def concat_grow(n):
    nodes = [h.make_node("Concat", [f"x{i}", "x0"], [f"x{i + 1}"], axis=0) for i in range(n)]
    return make_model(nodes, [info("x0", ["a", "b"])], [f"x{n}"])


def many_inputs(n, dims):
    return [info(f"x{i}", [f"a{i}_{j}" for j in range(dims)]) for i in range(n)]


@hostile
def broadcast_chain(n):
    nodes = [h.make_node("Add", [f"y{i - 1}" if i > 1 else "x0", f"x{i}"], [f"y{i}"]) for i in range(1, n)]
    return make_model(nodes, many_inputs(n, 2), [f"y{n - 1}"])


@hostile
def broadcast_chain_of_8(n):
    nodes = [h.make_node("Max", [f"y{i - 1}" if i > 1 else "x0", f"x{i}"], [f"y{i}"]) for i in range(1, n)]
    return make_model(nodes, many_inputs(n, 8), [f"y{n - 1}"])


@hostile
def sum_all(n):
    return make_model([h.make_node("Sum", [f"x{i}" for i in range(n)], ["y"])], many_inputs(n, 8), ["y"])


@hostile
def concat_all(n):
    return make_model([h.make_node("Concat", [f"x{i}" for i in range(n)], ["y"], axis=0)], many_inputs(n, 8), ["y"])


@hostile
def concat_same(n):
    return make_model([h.make_node("Concat", ["x"] * n, ["y"], axis=0)], [info("x", ["a", "b"])], ["y"])


@hostile
def sequence_of_many(n):
    nodes = [h.make_node("SequenceConstruct", [f"x{i}" for i in range(n)], ["s"]),
             h.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)]
    return make_model(nodes, many_inputs(n, 4), ["y"])


@hostile
def split_wide(n):
    nodes = [h.make_node("Split", ["x"], [f"y{i}" for i in range(n)], axis=0, num_outputs=n)]
    return make_model(nodes, [info("x", ["a", "b"])], [f"y{i}" for i in range(n)])


@hostile
def split_by_sizes(n):
    nodes = [h.make_node("Split", ["x", "s"], [f"y{i}" for i in range(n)], axis=0)]
    return make_model(nodes, [info("x", ["a", "b"]), info("s", [n], T.INT64)], [f"y{i}" for i in range(n)])


@hostile
def nonzero_many(n):
    nodes = []
    for i in range(n):
        nodes += [h.make_node("NonZero", ["x"], [f"k{i}"]), h.make_node("Transpose", [f"k{i}"], [f"z{i}"])]
    nodes.append(h.make_node("Concat", [f"z{i}" for i in range(n)], ["y"], axis=0))
    return make_model(nodes, [info("x", ["n", "c"])], [info("y", None, T.INT64)])


@hostile
def top_k_chain(n):
    nodes = [h.make_node("TopK", [f"x{i}", f"k{i}"], [f"x{i + 1}", f"at{i}"], axis=0) for i in range(n)]
    return make_model(nodes, [info("x0", ["n", "c"])] + [info(f"k{i}", [1], T.INT64) for i in range(n)], [f"x{n}"])


@hostile
def unsqueeze_chain(n):
    nodes = [h.make_node("Unsqueeze", [f"x{i}", "zero"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [info("x0", ["n"])], [f"x{n}"], [ints("zero", [0])])


@hostile
def rank(n):
    return make_model([h.make_node("Relu", ["x"], ["y"])], [info("x", [f"d{i}" for i in range(n)])], ["y"])


@hostile
def constant_rank(n):
    w = h.make_tensor("w", T.FLOAT, [1] * n, [1.0])
    return make_model([h.make_node("Relu", ["w"], ["y"])], [], ["y"], [w])


@hostile
def reshape_rank(n):
    return make_model([h.make_node("Reshape", ["x", "t"], ["y"])], [info("x", ["n"])], ["y"], [ints("t", [1] * n)])


@hostile
def einsum_wide(n):
    terms = ",".join("abcdefgh"[i % 7:i % 7 + 2] for i in range(n))
    return make_model([h.make_node("Einsum", [f"x{i}" for i in range(n)], ["y"], equation=f"{terms}->ab")],
                      many_inputs(n, 2), ["y"])


@hostile
def einsum_long(n):
    return make_model([h.make_node("Einsum", ["x"], ["y"], equation="i" * n + "->i")], [info("x", ["a"] * 8)], ["y"])


@hostile
def einsum_many(n):
    nodes = [h.make_node("Einsum", [f"x{i}", "w"], [f"x{i + 1}"], equation="abcd,cdef->abef") for i in range(n)]
    return make_model(nodes, [info("x0", ["a", "b", "c", "d"]), info("w", ["e", "f", "g", "h"])], [f"x{n}"])


# Control flow and functions.

def nested_if(depth, twice=False):
    def branch(d):
        nodes = [h.make_node("Neg", ["x"], [f"v{d}"])] if d == 0 else [if_node(d - 1, f"v{d}")]
        return h.make_graph(nodes, f"g{d}", [], [info(f"v{d}")])

    def if_node(d, out):
        other = branch(d) if twice else h.make_graph([h.make_node("Abs", ["x"], ["w"])], "e", [], [info("w")])
        return h.make_node("If", ["c"], [out], then_branch=branch(d), else_branch=other)
    return make_model([if_node(depth, "y")], [info("x", ["n"]), info("c", [], T.BOOL)], ["y"])


MODELS["if_nest"] = lambda n: nested_if(29)
MODELS["if_tree"] = lambda n: nested_if(10, True)


@hostile
def if_many(n):
    def branch(name, op):
        nodes = [h.make_node("NonZero", ["x"], ["z"]), h.make_node(op, ["z", "z"], ["v"])]
        return h.make_graph(nodes, name, [], [info("v", None, T.INT64)])
    nodes = [h.make_node("If", ["c"], [f"y{i}"], then_branch=branch("a", "Add"), else_branch=branch("b", "Mul"))
             for i in range(n)]
    return make_model(nodes, [info("x", ["n"]), info("c", [], T.BOOL)], [info(f"y{n - 1}", None, T.INT64)])


@hostile
def if_ranks(n):
    """Branches of different ranks, one after another."""
    nodes = []
    for i in range(n):
        one = h.make_graph([h.make_node("Identity", [f"x{i}"], ["v"])], "a", [], [info("v")])
        other = h.make_graph([h.make_node("Unsqueeze", [f"x{i}", "zero"], ["w"])], "b", [], [info("w")])
        nodes.append(h.make_node("If", ["c"], [f"x{i + 1}"], then_branch=one, else_branch=other))
    return make_model(nodes, [info("x0", ["n"]), info("c", [], T.BOOL)], [f"x{n}"], [ints("zero", [0])])


@hostile
def if_names(n):
    """Subgraphs that use each of many values around them."""
    nodes = [h.make_node("Neg", ["x"], [f"v{i}"]) for i in range(n)]
    body = h.make_graph([h.make_node("Sum", [f"v{i}" for i in range(n)], ["s"])], "b", [], [info("s")])
    nodes += [h.make_node("If", ["c"], [f"y{i}"], then_branch=body, else_branch=body) for i in range(3)]
    return make_model(nodes, [info("x", ["n"]), info("c", [], T.BOOL)], ["y2"])


def nested_loop(depth):
    def body(d):
        inner = [h.make_node("Identity", [f"c{d}"], [f"k{d}"])]
        inner.append(h.make_node("Concat", [f"v{d}", "x"], [f"o{d}"], axis=0) if d == 0 else
                     h.make_node("Loop", ["trips", "", f"v{d}"], [f"o{d}"], body=body(d - 1)))
        return h.make_graph(inner, f"g{d}", [info(f"i{d}", [], T.INT64), info(f"c{d}", [], T.BOOL), info(f"v{d}")],
                            [info(f"k{d}", [], T.BOOL), info(f"o{d}")])
    return make_model([h.make_node("Loop", ["trips", "", "x"], ["y"], body=body(depth))], [info("x", ["n"])], ["y"],
                      [ints("trips", 3)])


MODELS["loop_nest"] = lambda n: nested_loop(29)
MODELS["loop_nest_of_5"] = lambda n: nested_loop(5)


@hostile
def loop_shift(n):
    """Carried values of which each takes the type of the one before: one more grows each time the body is built."""
    inputs = [info("i", [], T.INT64), info("c", [], T.BOOL)] + [info(f"a{i}") for i in range(n)]
    nodes = [h.make_node("Identity", ["c"], ["k"]), h.make_node("Concat", ["a0", "x"], ["b0"], axis=0)]
    nodes += [h.make_node("Identity", [f"a{i - 1}"], [f"b{i}"]) for i in range(1, n)]
    body = h.make_graph(nodes, "b", inputs, [info("k", [], T.BOOL)] + [info(f"b{i}") for i in range(n)])
    return make_model([h.make_node("Loop", ["trips", ""] + ["x"] * n, [f"y{i}" for i in range(n)], body=body)],
                      [info("x", ["n"])], [f"y{n - 1}"], [ints("trips", 3)])


@hostile
def loop_endless(n):
    body = h.make_graph([h.make_node("Identity", ["c"], ["k"]), h.make_node("Add", ["v", "v"], ["o"])], "b",
                        [info("i", [], T.INT64), info("c", [], T.BOOL), info("v", [1])], [info("k", [], T.BOOL), info("o", [1])])
    return make_model([h.make_node("ConstantOfShape", ["one"], ["x"]),
                       h.make_node("Loop", ["trips", "", "x"], ["y"], body=body)], [], ["y"],
                      [ints("trips", 1 << 62), ints("one", [1])])


def laughs(nodes, opset, **more):
    """39 functions that call the one before twice."""
    functions = [h.make_function("my", "F0", ["a"], ["b"], nodes, [h.make_opsetid("", 21)])]
    functions += [h.make_function("my", f"F{i}", ["a"], ["b"], [h.make_node(f"F{i - 1}", ["a"], ["t"], domain="my"),
                                                                h.make_node(f"F{i - 1}", ["t"], ["b"], domain="my")],
                                  [h.make_opsetid("my", 1)]) for i in range(1, 40)]
    return make_model([h.make_node("F39", ["x"], ["y"], domain="my")], [info("x", ["n", "m"])], ["y"], functions=functions)


MODELS["laughs"] = lambda n: laughs([h.make_node("Neg", ["a"], ["b"])], 21)
MODELS["laughs_concat"] = lambda n: laughs([h.make_node("Concat", ["a", "a"], ["b"], axis=0)], 21)
MODELS["laughs_expand"] = lambda n: laughs([h.make_node("Shape", ["a"], ["s"]), h.make_node("Mul", ["s", "s"], ["q"]),
                                            h.make_node("Expand", ["a", "q"], ["b"])], 21)


@hostile
def function_of_tensor(n):
    """A function with a large constant, called often."""
    value = numpy_helper.from_array(np.zeros(100 * n, np.float32), "")
    f = h.make_function("my", "F", ["a"], ["b"], [h.make_node("Constant", [], ["k"], value=value),
                                                  h.make_node("Gather", ["k", "a"], ["b"])], [h.make_opsetid("", 21)])
    nodes = [h.make_node("F", ["x"], [f"y{i}"], domain="my") for i in range(4 * n)]
    return make_model(nodes, [info("x", ["n"], T.INT64)], [f"y{4 * n - 1}"], functions=[f])


@hostile
def functions_many(n):
    functions = [h.make_function("my", f"F{i}", ["a"], ["b"], [h.make_node("Neg", ["a"], ["b"])], [h.make_opsetid("", 21)])
                 for i in range(n)]
    nodes = [h.make_node(f"F{i}", [f"x{i}"], [f"x{i + 1}"], domain="my") for i in range(n)]
    return make_model(nodes, [info("x0", ["n"])], [f"x{n}"], functions=functions)


# Much of nothing.

@hostile
def initializers(n):
    weights = [h.make_tensor(f"w{i}", T.FLOAT, [], [1.0]) for i in range(n)]
    return make_model([h.make_node("Add", ["x", f"w{n - 1}"], ["y"])], [info("x", ["n"])], ["y"], weights)


@hostile
def initializers_used(n):
    weights = [h.make_tensor(f"w{i}", T.FLOAT, [], [1.0]) for i in range(n)]
    nodes = [h.make_node("Add", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [info("x0", ["n"])], [f"x{n}"], weights)


@hostile
def nodes_without_output(n):
    return make_model([h.make_node("Neg", ["x"], [""]) for _ in range(n)], [info("x", ["n"])], ["x"])


@hostile
def nodes_of_one_name(n):
    return make_model([h.make_node("Neg", ["x"], [f"y{i}"], name="z" * 50) for i in range(n)], [info("x", ["n"])],
                      [f"y{i}" for i in range(n // 4)])


@hostile
def outputs_many(n):
    return make_model([h.make_node("Neg", ["x"], ["y"])], [info("x", ["n"])], ["y"] * n)


@hostile
def inputs_many(n):
    return make_model([h.make_node("Neg", ["x0"], ["y"])], [info(f"x{i}", [1]) for i in range(n)], ["y"])


@hostile
def dims_many(n):
    return make_model([h.make_node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(n)], many_inputs(n, 16),
                      [f"y{i}" for i in range(n)])


@hostile
def dims_unnamed(n):
    return make_model([h.make_node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(n)],
                      [info(f"x{i}", [None] * 16) for i in range(n)], [f"y{i}" for i in range(n)])


@hostile
def long_name(n):
    name = "n" * 100 * n
    return make_model([h.make_node("Neg", ["x"], [name]), h.make_node("Shape", [name], ["s"]),
                       *[h.make_node("Reshape", ["x", "s"], [f"y{i}"]) for i in range(n)]], [info("x", [name, 2])], [f"y{n - 1}"])


@hostile
def long_op(n):
    return make_model([h.make_node("N" * 100 * n, ["x"], ["y"])], [info("x", ["n"])], ["y"])


@hostile
def unknown_ops(n):
    return make_model([h.make_node(f"Unknown{i}", ["x"], [f"y{i}"]) for i in range(n)], [info("x", ["n"])], ["y0"])


@hostile
def attributes_many(n):
    node = h.make_node("Neg", ["x"], ["y"])
    node.attribute.extend(h.make_attribute(f"a{i}", i) for i in range(n))
    return make_model([node], [info("x", ["n"])], ["y"])


@hostile
def type_nest(n):
    type_proto = h.make_tensor_type_proto(T.FLOAT, [1])
    for _ in range(30):
        type_proto = h.make_sequence_type_proto(type_proto)
    return make_model([h.make_node("Identity", ["x"], ["y"])], [h.make_value_info("x", type_proto)], ["y"])


@hostile
def cycle(n):
    nodes = [h.make_node("Neg", [f"x{i}"], [f"x{(i + 1) % n}"]) for i in range(n)]
    return make_model(nodes, [], ["x0"])


@hostile
def unknown_ranks(n):
    nodes = [h.make_node("Add", [f"x{i}", f"x{i}"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [info("x0")], [f"x{n}"])


@hostile
def reversed_nodes(n):
    nodes = [h.make_node("Neg", [f"x{i}"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes[::-1], [info("x0", ["n"])], [f"x{n}"])


# Constants that would be huge.

def huge(op, inputs, initializers=(), **attributes):
    return lambda n: make_model([h.make_node(op, inputs, ["y"], **attributes)], [], ["y"], list(initializers))


ONE = numpy_helper.from_array(np.ones(1, np.float32), "v")
MODELS["huge_constant_of_shape"] = huge("ConstantOfShape", ["s"], [ints("s", [1 << 30, 1 << 9])])
MODELS["huge_product"] = huge("ConstantOfShape", ["s"], [ints("s", [1 << 40, 1 << 40])])
MODELS["huge_range"] = huge("Range", ["a", "b", "d"], [ints("a", 0), ints("b", 1 << 60), ints("d", 1)])
MODELS["huge_tile"] = huge("Tile", ["v", "s"], [ONE, ints("s", [1 << 40])])
MODELS["huge_expand"] = huge("Expand", ["v", "s"], [ONE, ints("s", [1 << 20, 1 << 20])])
MODELS["huge_pad"] = huge("Pad", ["v", "s"], [ONE, ints("s", [1 << 40, 1 << 39])])
MODELS["huge_random"] = huge("RandomNormal", [], shape=[1 << 20, 1 << 20])
MODELS["huge_hann"] = huge("HannWindow", ["s"], [ints("s", 1 << 40)])
MODELS["huge_one_hot"] = huge("OneHot", ["i", "d", "v"], [ints("i", [0]), ints("d", 1 << 40),
                                                          numpy_helper.from_array(np.arange(2, dtype=np.float32), "v")])
MODELS["huge_resize"] = huge("Resize", ["v", "", "s"], [ONE, numpy_helper.from_array(np.array([1e12], np.float32), "s")])
MODELS["huge_kernel"] = lambda n: make_model([h.make_node("MaxPool", ["x"], ["y"], kernel_shape=[1 << 40], pads=[1 << 39] * 2)],
                                             [info("x", ["n", "c", "w"])], ["y"])
MODELS["huge_col2im"] = huge("Col2Im", ["v", "s", "k"], [numpy_helper.from_array(np.ones((1, 1, 1), np.float32), "v"),
                                                         ints("s", [1 << 20, 1 << 20]), ints("k", [1, 1])])
MODELS["huge_dft"] = huge("DFT", ["v", "s"], [numpy_helper.from_array(np.ones((1, 1, 1), np.float32), "v"), ints("s", 1 << 40)])


@hostile
def huge_sparse(n):
    sparse = h.make_sparse_tensor(numpy_helper.from_array(np.array([7], np.float32), "w"), ints("", [1]), [1 << 15, 1 << 15])
    return make_model([h.make_node("MatMul", ["x", "w"], ["y"])], [info("x", ["n", 1 << 15])], ["y"], sparse_initializer=[sparse])


@hostile
def sparse_many(n):
    sparse = [h.make_sparse_tensor(numpy_helper.from_array(np.array([7], np.float32), f"w{i}"), ints("", [1]), [1 << 24])
              for i in range(n)]
    nodes = [h.make_node("Add", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [info("x0", [1])], [f"x{n}"], sparse_initializer=sparse)


@hostile
def fold_chain(n):
    nodes = [h.make_node("ConstantOfShape", ["s"], ["x0"])] + [h.make_node("Exp", [f"x{i}"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [], [f"x{n}"], [ints("s", [256, 1024])])


@hostile
def fold_many(n):
    """Constants of a megabyte each."""
    nodes = [h.make_node("ConstantOfShape", ["s"], [f"k{i}"]) for i in range(n)]
    nodes += [h.make_node("Add", [f"x{i}", f"k{i}"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [info("x0", ["n", 1024])], [f"x{n}"], [ints("s", [256, 1024])])


@hostile
def fold_matmul(n):
    """Products of constants, which take a while."""
    nodes = [h.make_node("ConstantOfShape", ["s"], ["x0"])]
    nodes += [h.make_node("MatMul", [f"x{i}", "x0"], [f"x{i + 1}"]) for i in range(n)]
    return make_model(nodes, [], [f"x{n}"], [ints("s", [512, 512])])


@hostile
def fold_conv(n):
    """A constant convolution whose result is small and whose work is not."""
    nodes = [h.make_node("ConstantOfShape", ["s"], ["x"]), h.make_node("Conv", ["x", "x"], ["y"])]
    return make_model(nodes, [], ["y"], [ints("s", [64, 64, 8, 8])])


# Trees and text.

@hostile
def trees(n):
    values = dict(nodes_treeids=[0] * n, nodes_nodeids=list(range(n)), nodes_featureids=[0] * n, nodes_values=[0.5] * n,
                  nodes_modes=["BRANCH_LT"] * (n - 1) + ["LEAF"], nodes_truenodeids=[min(i + 1, n - 1) for i in range(n)],
                  nodes_falsenodeids=[n - 1] * n, target_treeids=[0], target_nodeids=[n - 1], target_ids=[0],
                  target_weights=[1.0], n_targets=1)
    return make_model([h.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **values)],
                      [info("x", ["n", 3])], ["y"])


@hostile
def targets(n):
    values = dict(nodes_treeids=[0], nodes_nodeids=[0], nodes_featureids=[0], nodes_values=[0.5], nodes_modes=["LEAF"],
                  nodes_truenodeids=[0], nodes_falsenodeids=[0], target_treeids=[0], target_nodeids=[0], target_ids=[0],
                  target_weights=[1.0], n_targets=1 << 40)
    return make_model([h.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **values)],
                      [info("x", ["n", 3])], ["y"])


@hostile
def labels(n):
    node = h.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_int64s=list(range(n)), values_floats=[1.0] * n)
    return make_model([node], [info("x", ["n"], T.INT64)], ["y"])


# More of sizes: chains of symbols that are formulas of symbols.

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
