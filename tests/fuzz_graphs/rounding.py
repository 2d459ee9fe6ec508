# SPDX-License-Identifier: Apache-2.0
"""How near to the truth can a result be? The truth is an output in f64, by ONNX's own reference. A few more runs of that
shift the operands and results of every operator that rounds, and those of the operators in its definition (the body that
ONNX gives for Gelu, the gates of a GRU), by one rounding of the model's floats, up or down at random. How far an element
moves is its conditioning: what an f32 run may be off by, whatever the order of its sums. Where the reference has a gap
(Pad that crops), it goes on from what ONNX Runtime gives."""
import functools
import math

import numpy as np
import onnx
from ml_dtypes import bfloat16, finfo
from onnx import TensorProto, numpy_helper

from graph import names_read

RUNS = 8      # with shifted numbers
PRODUCTS = ("MatMul", "Gemm", "Conv", "Einsum", "FusedMatMul")  # whose first two operands may be rounded to bf16
# ONNX Runtime and PyTorch agree on these, and are what users compare with; the reference differs (docs/operators.md).
OF_PEER = ("GridSample", "Resize")
BF16_UNIT = float(finfo(bfloat16).eps) / 2
ALLOWED = 4   # times the largest shift seen: sums of many terms round more than once


def only_for(model, output):
    """The model with one of its outputs, and the nodes that it needs."""
    small = onnx.ModelProto()
    small.CopyFrom(model)
    needed, nodes = {output}, []
    for node in reversed(model.graph.node):
        if needed.intersection(node.output):
            nodes.insert(0, node)
            needed.update(names_read([node]))
    del small.graph.node[:], small.graph.output[:]
    small.graph.node.extend(nodes)
    small.graph.output.extend(o for o in model.graph.output if o.name == output)
    return small


def widen_graph(graph):
    wide = {TensorProto.FLOAT, TensorProto.FLOAT16}
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type in wide:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    def widen(tensor):
        if tensor.data_type in wide:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
    for tensor in graph.initializer:
        widen(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i in wide:
                attribute.i = TensorProto.DOUBLE
            if attribute.type == onnx.AttributeProto.TENSOR:
                widen(attribute.t)
            if attribute.type == onnx.AttributeProto.GRAPH:
                widen_graph(attribute.g)


class Roundings:
    """Which of the operations of a run round, by their order; the first run finds it out, later ones shift them.
    Numbers that the model's floats hold exactly (small integers, eighths) do not round: operators with steps (floor,
    comparisons) may depend on them."""

    def __init__(self, elem, of_peer, narrow_products):
        self.of_peer = of_peer  # names: their values in ONNX Runtime
        self.narrow_products = narrow_products
        self.kept_as = np.float16 if elem == np.float16 else np.float32  # f64 is told by what f32 cannot hold
        self.unit = np.finfo(elem).eps / 2
        self.rounds, self.rng, self.at = [], None, 0

    def shift_from_now(self, seed):
        self.rng, self.at = np.random.default_rng(seed), 0

    def shifted(self, values):
        """An operand that is exact as a whole stays: the power of 3 of a negative number is one, that of 3.0000001 is none."""
        return [v * (1 + self.unit * self.rng.choice([-1.0, 1.0], v.shape))
                if is_double(v) and np.any(inexact(v, self.kept_as)) else v for v in values]

    def narrowed(self, values):
        """Factors shifted by a rounding to bf16. Those of the second operand not always: two shifts can cancel each other."""
        return [v * (1 + np.where(inexact(v, bfloat16), BF16_UNIT * self.rng.choice(shifts, v.shape), 0)) if is_double(v) else v
                for v, shifts in zip(values, ([-1.0, 1.0], [-1.0, 0.0, 1.0]))]

    def apply(self, operation, inputs, keywords, product=False):
        at, self.at = self.at, self.at + 1
        narrow = product and self.narrow_products
        if self.rng is None:
            self.rounds.append(False)  # before those inside of it
            results = operation(*inputs, **keywords)
            self.rounds[at] = (any(np.any(inexact(r, self.kept_as)) for r in results if is_double(r))
                               or (narrow and any(np.any(inexact(v, bfloat16)) for v in inputs[:2] if is_double(v))))
            return results
        if not self.rounds[at]:
            return operation(*inputs, **keywords)
        near = self.shifted(inputs)
        if narrow:
            near[:2] = self.narrowed(near[:2])
        return tuple(self.shifted(operation(*near, **keywords)))

    def apply_or_ask(self, op_type, operation, outputs, inputs, keywords):
        try:
            if op_type in OF_PEER:
                raise NotImplementedError(op_type)
            return self.apply(operation, inputs, keywords, op_type in PRODUCTS)
        except Exception:  # noqa: BLE001 -- the reference has gaps
            if self.narrow_products:
                raise  # the peer's values tell nothing of roundings before them
            values = [widened(v) for v in self.of_peer(outputs)]
            rounded = any(np.any(inexact(v, np.float16)) for v in values if is_double(v))
            return tuple(self.shifted(values) if self.rng is not None and rounded else values)


def widened(value):
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def is_double(value):
    return isinstance(value, np.ndarray) and value.dtype == np.float64


def inexact(value, elem):
    with np.errstate(over="ignore", invalid="ignore"):
        return np.isfinite(value) & (value.astype(elem) != value)


def evaluator(roundings):
    """ONNX's reference, with every operation handed to `roundings`: bodies and definitions are run by the same class."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.ops.op_softmax import Softmax

    class Evaluator(ReferenceEvaluator):
        def _init(self):
            super()._init()
            for node in self.rt_nodes_:
                watch(node, "run")
                if node.op_type == "Erf":
                    node._erf = np.vectorize(math.erf, otypes=["d"])  # its own gives f32
                for gate in {"LSTM": "fgh", "GRU": "fg"}.get(node.op_type, ""):
                    watch(node, gate)
                if node.op_type == "LogSoftmax":
                    node._run = log_of_softmax(node)
                if node.op_type == "Loop":
                    node._run = whole_loop(node)

    def watch(node, name):
        operation = getattr(node, name)
        if name == "run":
            setattr(node, name, lambda *inputs, **keywords: roundings.apply_or_ask(node.op_type, operation, node.output, inputs, keywords))
        else:
            setattr(node, name, lambda x: roundings.apply(lambda y: (operation(y),), [x], {})[0])

    def log_of_softmax(node):
        """The sum that the logarithm is taken of rounds: where it is nearly 1, that is much of the result."""
        softmax = functools.partial(Softmax._run, node)
        return lambda x: (np.log(roundings.apply(softmax, [x], {})[0]),)

    def whole_loop(node):
        """The reference wants a condition, and puts the results of all trips beside each other along the first dimension
        that they have, not along a new one."""
        loop, body = node._run, node._run_body

        def run(trips, condition, *carried, **keywords):
            shapes = []

            def run_body(*inputs, **attributes):
                results = body(*inputs, **attributes)
                shapes.append([np.shape(r) for r in results])
                return results

            node._run_body = run_body
            results = loop(trips, np.array(True) if condition is None else condition, *carried, **keywords)
            return tuple(r if i < node.N else np.reshape(r, (len(shapes), *shapes[0][1 + i])) for i, r in enumerate(results))

        return run

    return Evaluator


class Truth:
    """An output in f64; `value` is None where it cannot be computed. `elem` is its type in the model; `values_of` gives
    all values of a model in ONNX Runtime. With `narrow_products` the operands of products, and they alone, may be bf16."""

    def __init__(self, model, output, elem, feeds, values_of, narrow_products=False):
        small = only_for(model, output)
        wide = only_for(model, output)
        peer = functools.cache(lambda: values_of((small.SerializeToString(), feeds)))
        self.roundings = Roundings(elem if elem.kind == "f" else np.dtype(np.float32), lambda names: [peer()[n] for n in names],
                                   narrow_products)
        widen_graph(wide.graph)
        self.feeds = {k: widened(v) for k, v in feeds.items()}
        try:
            self.evaluator = evaluator(self.roundings)(wide)
            self.value = self.run()
        except Exception:  # noqa: BLE001 -- it has gaps
            self.value = None

    def run(self):
        with np.errstate(all="ignore"):
            return self.evaluator.run(None, self.feeds)[0]

    def reach(self):
        """How far roundings may take each element."""
        reach = np.zeros(np.shape(self.value))
        for seed in range(RUNS):
            self.roundings.shift_from_now(seed)
            with np.errstate(all="ignore"):
                moved = np.abs(np.subtract(self.run(), self.value, dtype=np.float64))
            reach = np.where(np.isfinite(moved), np.maximum(reach, moved), reach)
        return ALLOWED * reach
