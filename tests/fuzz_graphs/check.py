# SPDX-License-Identifier: Apache-2.0
"""One model, run here and by ONNX Runtime: are the results the same?"""
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

TOLERANCE = {np.dtype(np.float16): 4e-3, np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-12}


class Skipped(Exception):
    """ONNX Runtime does not run this model."""


def session(model):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as e:
        raise Skipped(str(e).splitlines()[0]) from e


def peer(running, feeds):
    try:
        return running.run(None, feeds)
    except Exception as e:
        raise Skipped(str(e).splitlines()[0]) from e


def widen_graph(graph):
    wide = {TensorProto.FLOAT, TensorProto.FLOAT16}
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type in wide:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    def widened(tensor):
        if tensor.data_type in wide:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
    for tensor in graph.initializer:
        widened(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i in wide:
                attribute.i = TensorProto.DOUBLE
            if attribute.type == onnx.AttributeProto.TENSOR:
                widened(attribute.t)
            if attribute.type == onnx.AttributeProto.GRAPH:
                widen_graph(attribute.g)


def in_double(model, feeds):
    """The model's results with every float in f64, by ONNX's own reference; None when that cannot run it."""
    from onnx.reference import ReferenceEvaluator
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    widen_graph(wide.graph)
    feeds = {k: v.astype(np.float64) if v.dtype.kind == "f" else v for k, v in feeds.items()}
    try:
        return ReferenceEvaluator(wide).run(None, feeds)
    except Exception:  # noqa: BLE001 -- it has gaps
        return None


def distance(a, b):
    """The largest difference relative to the largest element; infinities and NaNs must be the same."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.size == 0:
        return 0.0
    finite = np.isfinite(b)
    if not np.array_equal(finite, np.isfinite(a)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    scale = np.max(np.abs(b[finite]), initial=1e-3)
    return float(np.max(np.abs(a[finite] - b[finite]), initial=0.0) / scale)


def difference(model, feeds, ours, theirs):
    """What is wrong with our results, in a line; "" when nothing is."""
    exact = None
    for i, (x, y) in enumerate(zip(ours, theirs)):
        name = model.graph.output[i].name
        if x.dtype != y.dtype or x.shape != y.shape:
            return f"wrong: output {name} is {x.dtype}{list(x.shape)}, should be {y.dtype}{list(y.shape)}"
        tolerance = TOLERANCE.get(x.dtype, 0.0)
        apart = distance(x, y)
        if apart <= tolerance:
            continue
        # Either may have rounded badly: who is nearer to the result in double precision?
        exact = exact or in_double(model, feeds)
        if exact is not None and np.shape(exact[i]) == x.shape:
            if distance(x, exact[i]) <= max(tolerance, 4 * distance(y, exact[i])):
                continue
        return f"wrong: output {name} differs by {apart:.2g} of its largest element (tolerance {tolerance:.0e})"
    return ""


def peer_runs(model, feeds, others):
    """(inputs, ONNX Runtime's results), for one or two sizes. Raises Skipped."""
    running = session(model)
    runs = [(feeds, peer(running, feeds))]
    if others is not None:
        try:
            runs.append((others, peer(running, others)))
        except Skipped:
            pass  # sizes that the model does not allow
    return runs


def check(model, feeds, others=None):
    """"", or what is wrong: refused, run error or wrong, and how. Raises Skipped."""
    import tilewright as tw
    runs = peer_runs(model, feeds, others)
    try:
        module = tw.compile(model)
    except Exception as e:  # noqa: BLE001 -- every failure is a result here
        return f"refused: {e}"
    for given, theirs in runs:
        try:
            ours = module.run(given)
        except Exception as e:  # noqa: BLE001
            # With other sizes a model may be wrong where ONNX Runtime looks away (Concat, Einsum).
            if given is others and "must be equal" in str(e):
                continue
            return f"run error: {e}"
        problem = difference(model, given, ours, theirs)
        if problem:
            return problem
    return ""
