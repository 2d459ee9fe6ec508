# SPDX-License-Identifier: Apache-2.0
"""Emitters of control flow and sequences; bodies may hold control flow themselves."""
import numpy as np
from onnx import helper

from graph import ELEM, Value


def info(name, elem, shape=None):
    return helper.make_tensor_value_info(name, ELEM[elem], shape)


def condition(g):
    x = g.pick(lambda v: v.elem == "bool" and v.shape == ())
    return x or g.input("bool", [])


def branch(g, x, c, op, depth):
    """A graph without inputs whose only result has the shape of x."""
    name = g.name()
    if depth:
        node = helper.make_node("If", [c.name], [name], name=f"If_{name}", then_branch=branch(g, x, c, op, depth - 1),
                                else_branch=branch(g, x, c, "Abs", depth - 1))
    else:
        node = helper.make_node(op, [x.name] if op != "Add" else [x.name, x.name], [name], name=f"{op}_{name}")
    return helper.make_graph([node], f"branch_{name}", [], [info(name, x.elem)])


def if_(g):
    x = g.pick(lambda v: v.elem == "f32")
    if x is None:
        return
    c = condition(g)
    ops = g.rng.sample(["Neg", "Abs", "Relu", "Add", "Sigmoid"], 2)
    depth = g.rng.choice([0, 0, 1])
    g.add("If", [c], x.elem, x.shape, 2 * x.bound + 1, then_branch=branch(g, x, c, ops[0], depth),
          else_branch=branch(g, x, c, ops[1], 0))


def if_shapes(g):
    """Branches that give different extents: only the run can tell which."""
    x = g.pick(lambda v: v.elem == "f32" and v.rank >= 1)
    if x is None:
        return
    c = condition(g)
    a, b = g.name(), g.name()
    twice = helper.make_graph([helper.make_node("Concat", [x.name, x.name], [a], axis=0)], "twice", [], [info(a, "f32")])
    once = helper.make_graph([helper.make_node("Neg", [x.name], [b])], "once", [], [info(b, "f32")])
    name, = g.node("If", [c], then_branch=twice, else_branch=once)
    g.leaves.append(Value(name, "f32", ()))


def loop_body(g, x, depth):
    """y = 0.5 * y + x, inside of another loop where depth > 0, and each y stacked."""
    i, c, y, half, out, same, kept = (g.name() for _ in range(7))
    scale = g.constant(np.array(0.5, np.float32))
    nodes = [helper.make_node("Mul", [y, scale], [half])]
    if depth:
        inner = loop_body(g, x, depth - 1)
        trips, stacked = g.constant(np.array(g.rng.randint(0, 2), np.int64)), g.name()
        nodes.append(helper.make_node("Loop", [trips, "", half], [out, stacked], body=inner))
    else:
        nodes.append(helper.make_node("Add", [half, x.name], [out]))
    nodes += [helper.make_node("Identity", [c], [same]), helper.make_node("Identity", [out], [kept])]
    return helper.make_graph(nodes, f"body_{i}", [info(i, "i64", []), info(c, "bool", []), info(y, "f32")],
                             [info(same, "bool", []), info(out, "f32"), info(kept, "f32")])


def loop(g):
    x = g.pick(lambda v: v.elem == "f32" and v.size <= 500)
    if x is None:
        return
    trips = g.rng.randint(0, 4)
    body = loop_body(g, x, g.rng.choice([0, 0, 1]))
    names = g.node("Loop", [g.constant(np.array(trips, np.int64)), "", x], 2, body=body)
    g.values.append(Value(names[0], "f32", x.shape, 2 * x.bound))
    if trips:  # after no trip at all, ONNX Runtime gives the stacked results another shape than (0, …)
        g.values.append(Value(names[1], "f32", (trips,) + x.shape, 2 * x.bound))


def sliced_loop(g):
    """Trip i takes the rows from i to i + 1, or those between two offsets that it finds in this way: bags of embeddings."""
    x = g.pick(lambda v: v.elem == "f32" and 1 <= v.rank <= 3 and v.shape[0] > 0 and 0 < v.size <= 500)
    if x is None:
        return
    i, c, same, first, second, third, out, kept = (g.name() for _ in range(8))
    zero, one = g.ints([0]), g.ints([1])
    nodes = [helper.make_node("Unsqueeze", [i, zero], [first]), helper.make_node("Add", [first, one], [second])]
    if g.rng.random() < 0.5:
        trips, rows, shape = x.shape[0], [first, second], (x.shape[0], 1, *x.shape[1:])
    else:
        trips = g.rng.randint(1, x.shape[0])
        cuts = [0, *sorted(g.rng.sample(range(1, x.shape[0]), trips - 1)), x.shape[0]]
        offsets, start, end = g.ints(cuts), g.name(), g.name()
        nodes += [helper.make_node("Add", [second, one], [third]), helper.make_node("Slice", [offsets, first, second, zero], [start]),
                  helper.make_node("Slice", [offsets, second, third, zero], [end])]
        rows, shape = [start, end], (trips, *x.shape[1:])
    nodes.append(helper.make_node("Slice", [x.name, *rows, zero], [out]))
    if len(shape) == x.rank:
        nodes.append(helper.make_node("ReduceSum", [out, zero], [kept], keepdims=0))
    else:
        nodes.append(helper.make_node("Neg", [out], [kept]))
    nodes.append(helper.make_node("Identity", [c], [same]))
    body = helper.make_graph(nodes, f"body_{i}", [info(i, "i64", []), info(c, "bool", [])], [info(same, "bool", []), info(kept, "f32")])
    g.add("Loop", [g.constant(np.array(trips, np.int64)), ""], "f32", shape, x.bound * x.shape[0], body=body)


def scan(g):
    """Sums along the first dimension, and each of them."""
    x = g.pick(lambda v: v.elem == "f32" and v.rank >= 1 and 0 < v.size <= 500 and v.bound * v.shape[0] < 1000)
    if x is None:
        return
    total, row, out, kept = (g.name() for _ in range(4))
    zeros = g.constant(np.zeros(x.shape[1:], np.float32))
    body = helper.make_graph([helper.make_node("Add", [total, row], [out]), helper.make_node("Identity", [out], [kept])],
                             f"body_{out}", [info(total, "f32"), info(row, "f32")], [info(out, "f32"), info(kept, "f32")])
    names = g.node("Scan", [zeros, x], 2, body=body, num_scan_inputs=1)
    g.values.append(Value(names[0], "f32", x.shape[1:], x.bound * x.shape[0]))
    g.values.append(Value(names[1], "f32", x.shape, x.bound * x.shape[0]))


def sequence(g):
    x = g.pick(lambda v: v.rank >= 1 and v.elem == "f32")
    if x is None:
        return
    other, = g.node("Neg", [x])
    s, = g.node("SequenceConstruct", [x, other, x])
    if g.rng.random() < 0.3:
        s, = g.node("SequenceErase", [s, g.constant(np.array(0, np.int64))])
        s, = g.node("SequenceInsert", [s, x])
    if g.rng.random() < 0.5:
        g.add("SequenceAt", [s, g.constant(np.array(g.rng.randint(-3, 2), np.int64))], x.elem, x.shape, x.bound, x.exact)
    else:
        axis = g.rng.randrange(x.rank)
        shape = list(x.shape)
        shape[axis] *= 3
        g.add("ConcatFromSequence", [s], x.elem, shape, x.bound, x.exact, axis=axis)


EMITTERS = {if_: 1, if_shapes: 0.5, loop: 1, sliced_loop: 1, scan: 1, sequence: 1}
