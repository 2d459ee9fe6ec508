# SPDX-License-Identifier: Apache-2.0
"""What a row of the sweep is made of: a small model with inputs, and the three sizes."""
import dataclasses
from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 21  # unless a row needs another one; of 22 ONNX Runtime lacks some


@dataclasses.dataclass(frozen=True)
class Size:
    """Shapes of one class. Extents are no powers of two, so that no engine is lucky with their ends or unlucky with its caches."""
    name: str
    cube: tuple    # three dimensions of about the same extent
    image: tuple   # batch, channels, height, width
    sides: tuple   # rows, terms and columns of a matrix product

    @property
    def count(self):
        return int(np.prod(self.cube))

    @property
    def table(self):
        """Rows and columns of a matrix with as many elements."""
        return self.cube[0] * self.cube[1], self.cube[2]

    def pick(self, small, l2, memory):
        return {"small": small, "L2": l2, "memory": memory}[self.name]


SIZES = [Size("small", (6, 10, 17), (1, 4, 15, 17), (12, 33, 20)),
         Size("L2", (30, 35, 63), (1, 16, 63, 65), (200, 240, 260)),
         Size("memory", (120, 250, 280), (4, 32, 254, 258), (1000, 2000, 2040))]
NAMES = tuple(s.name for s in SIZES)


@dataclasses.dataclass(frozen=True)
class Row:
    """An operator with attributes, at the sizes where that makes sense. `random`: the numbers need not be the peer's."""
    op: str
    case: str
    make: Callable
    sizes: tuple = NAMES
    random: bool = False


class Model:
    """Nodes, and the arrays that they get at a run or have as constants."""

    def __init__(self, opset=OPSET):
        self.opset, self.nodes, self.feeds, self.initializers, self.outputs = opset, [], {}, [], []
        self.count = 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def input(self, array):
        name = f"x{len(self.feeds)}"
        self.feeds[name] = np.asarray(array)
        return name

    def constant(self, array):
        name = self.name()
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op, inputs, outputs=1, domain="", **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names if outputs > 1 else names[0]

    def proto(self):
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                  if a.dtype != object else helper.make_tensor_value_info(n, onnx.TensorProto.STRING, a.shape)
                  for n, a in self.feeds.items()]
        outputs = [onnx.ValueInfoProto(name=n) for n in self.outputs]
        graph = helper.make_graph(self.nodes, "operator", inputs, outputs, self.initializers)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=13 if self.opset > 25 else 11 if self.opset > 22 else 10)


@dataclasses.dataclass
class Const:
    """An operand that the model knows: a weight, axes, a shape."""
    array: np.ndarray


def ints(*values):
    return Const(np.array(values, np.int64))


def node(op, *inputs, outputs=1, version=OPSET, domain="", **attributes):
    """A model of one node, of that opset. An operand is an array, a Const, or None where it is left out."""
    model = Model(version)
    names = [("" if i is None else model.constant(i.array) if isinstance(i, Const) else model.input(i)) for i in inputs]
    made = model.add(op, names, outputs, domain, **attributes)
    model.outputs = made if outputs > 1 else [made]
    return model


def noise(shape, dtype=np.float32):
    """The same numbers whenever they are asked for."""
    return np.random.default_rng(1).standard_normal(shape, np.float32).astype(dtype)


def between(low, high, shape, dtype=np.float32):
    rng = np.random.default_rng(2)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(low, high, shape, dtype)
    return (low + (high - low) * rng.random(shape, np.float32)).astype(dtype)


def bools(shape, seed=3):
    return np.random.default_rng(seed).random(shape, np.float32) < 0.5
