# SPDX-License-Identifier: Apache-2.0
"""A random graph while it grows: values with what is known of them, and the nodes so far."""
import dataclasses
import random

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ELEM = {"f16": TensorProto.FLOAT16, "f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "i8": TensorProto.INT8,
        "u8": TensorProto.UINT8, "i32": TensorProto.INT32, "i64": TensorProto.INT64, "bool": TensorProto.BOOL}
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "u8": np.uint8, "i32": np.int32,
         "i64": np.int64, "bool": np.bool_}
FLOATS, INTS = ("f32", "f64", "f16"), ("i32", "i64")


@dataclasses.dataclass
class Value:
    """`shape` is the one of the first run. `bound`: no element is larger. `exact`: the bits do not depend on how a
    float operation rounds, so that operators with steps (floor, comparisons, sorting) may take it."""
    name: str
    elem: str
    shape: tuple
    bound: float = 4.0
    exact: bool = False

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def is_float(self):
        return self.elem in FLOATS


def data(rng, elem, shape, bound=4.0):
    """Multiples of 1/8: sums of a few of them are exact even in f16."""
    count = int(np.prod(shape, dtype=np.int64))
    if elem == "bool":
        return np.array([rng.random() < 0.5 for _ in range(count)], np.bool_).reshape(shape)
    low, high = (0 if elem == "u8" else -int(bound)), int(bound)
    step = 8 if elem in FLOATS else 1
    numbers = [rng.randint(low * step, high * step) / step for _ in range(count)]
    return np.array(numbers, dtype=np.float64).astype(NUMPY[elem]).reshape(shape)


def names_read(nodes):
    """What nodes read, those in bodies too."""
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            yield from names_read(attribute.g.node)


class Graph:
    def __init__(self, seed, free=False):
        """`free`: most extents are symbols, and lists of integers may come as inputs, so that only a run tells shapes."""
        self.rng = random.Random(seed)
        self.free = free
        self.opset = self.rng.choice([13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])
        self.float = self.rng.choices(FLOATS, [8, 1, 1])[0]
        self.nodes, self.initializers, self.inputs, self.values = [], [], [], []
        self.symbols = {}   # name: extent
        self.feeds, self.fixed = {}, set()  # `fixed`: inputs whose numbers stay as they are
        self.leaves = []    # of sizes that only a run can tell: outputs, never operands
        self.count = 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def extent(self):
        return self.rng.choices([0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33], [1, 4, 6, 6, 5, 4, 4, 4, 2, 3, 2, 1])[0]

    def constant(self, array):
        name = self.name()
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, values):
        array = np.array(values, np.int64).reshape(len(values))
        return self.fixed_input("i64", array) if self.free and self.rng.random() < 0.3 else self.constant(array)

    def weight(self, elem, shape, bound=2.0):
        return self.constant(data(self.rng, elem, shape, bound))

    def input(self, elem, shape, bound=4.0):
        """Dimensions get a symbol now and then; equal symbols are equal extents."""
        name = f"x{len(self.inputs)}"
        declared = []
        for extent in shape:
            if self.rng.random() < (0.8 if self.free else 0.35):
                known = [s for s, e in self.symbols.items() if e == extent]
                symbol = self.rng.choice(known) if known and self.rng.random() < 0.7 else f"n{len(self.symbols)}"
                self.symbols[symbol] = extent
                declared.append(symbol)
            else:
                declared.append(extent)
        self.inputs.append((name, elem, declared))
        self.feeds[name] = data(self.rng, elem, shape, bound)
        value = Value(name, elem, tuple(shape), bound, True)
        self.values.append(value)
        return value

    def fixed_input(self, elem, array):
        """An input with these numbers; all its extents are known. No value that an operator may pick: not all numbers fit."""
        name = f"x{len(self.inputs)}"
        self.inputs.append((name, elem, list(array.shape)))
        self.feeds[name] = array
        self.fixed.add(name)
        return name

    def node(self, op, inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        inputs = [i.name if isinstance(i, Value) else i for i in inputs]
        domain = attributes.pop("domain", "")
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", domain=domain, **attributes))
        return names

    def add(self, op, inputs, elem, shape, bound, exact=False, **attributes):
        """A node with one result."""
        name, = self.node(op, inputs, **attributes)
        value = Value(name, elem, tuple(int(s) for s in shape), float(bound), exact)
        self.values.append(value)
        return value

    def pick(self, want=lambda v: True):
        """A value, rather a late one; None where none fits."""
        fitting = [v for v in self.values if want(v) and v.size <= 20000]
        if not fitting:
            return None
        return fitting[-1 - min(int(self.rng.expovariate(0.35)), len(fitting) - 1)]

    def limit(self, elem):
        """How large elements may get before an operator that grows them is left out."""
        return {"f16": 60.0, "i32": 1e6, "i64": 1e9, "i8": 100.0, "u8": 200.0}.get(elem, 3e3)

    def model(self):
        used = set(names_read(self.nodes))
        ends = [v for v in self.values if v.name not in used and not v.name.startswith("x")] + self.leaves
        if not ends:
            ends = [v for v in self.values if not v.name.startswith("x")][-1:]
        outputs = [helper.make_tensor_value_info(v.name, ELEM[v.elem], None) for v in ends]
        inputs = [helper.make_tensor_value_info(n, ELEM[e], d) for n, e, d in self.inputs if n in used]
        graph = helper.make_graph(self.nodes, "random", inputs, outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)],
                                  ir_version=11 if self.opset > 22 else 10)
        return model, {i.name: self.feeds[i.name] for i in inputs}

    def other_feeds(self, feeds, rng, count):
        """The same inputs with other extents for the symbols, so many times: runs that need not be valid."""
        if not any(isinstance(d, str) for n, _, dims in self.inputs if n in feeds for d in dims):
            return []
        out = []
        for _ in range(count):
            extents = {s: rng.choice([0, 1, 2, 3, 5, 9, 16, 20]) for s in self.symbols}
            out.append({n: feeds[n] if n in self.fixed else data(rng, e, [extents.get(d, d) for d in dims])
                        for n, e, dims in self.inputs if n in feeds})
        return out
