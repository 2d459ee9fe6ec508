# SPDX-License-Identifier: Apache-2.0
"""One model, run here and by ONNX Runtime: are the results the same?"""
import re

import numpy as np
import onnx

from rounding import Truth, only_for

HOW = "fuzz.how"  # in a model's metadata: "bf16": with products of bf16; "refusal": the run must fail, an index is out of range
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


def values_of(task):
    """Every tensor of ONNX Runtime's run of (a serialised model, its inputs), by name; None where it does not run."""
    model, feeds = onnx.ModelProto.FromString(task[0]), task[1]
    all_out = onnx.ModelProto()
    all_out.CopyFrom(model)
    known = {o.name for o in all_out.graph.output}
    for node in model.graph.node:
        all_out.graph.output.extend(onnx.ValueInfoProto(name=n) for n in node.output if n and n not in known)
    names = [o.name for o in all_out.graph.output]
    try:
        return dict(feeds, **dict(zip(names, peer(session(all_out), feeds))))
    except Skipped:
        return None


def windows(node, shape):
    """Of each dimension that a pooling node runs over: kernel, stride, dilation, extent, padding before and after."""
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    kernel = attributes["kernel_shape"]
    pads = attributes.get("pads", [0] * 2 * len(kernel))
    ones = [1] * len(kernel)
    return list(zip(kernel, attributes.get("strides", ones), attributes.get("dilations", ones), shape[2:], pads,
                    pads[len(kernel):]))


def window_too_large(node, shape):
    """Does a pooling window not fit into the padded map? There are no results then, by ONNX's formula: its quotient is
    rounded down, not towards 0."""
    return any((k - 1) * d + 1 > extent + before + after for k, _, d, extent, before, after in windows(node, shape))


def pools_of_too_little(model, feeds):
    """Has a pool of the model a window that does not fit? ONNX Runtime goes on with one result, where there is none."""
    values = values_of((model.SerializeToString(), feeds)) or {}
    return any(node.op_type in ("MaxPool", "AveragePool", "LpPool") and node.input[0] in values
               and window_too_large(node, values[node.input[0]].shape) for node in model.graph.node)


def window_of_padding(node, shape):
    """Has a pooling window no element at all? Its maximum is -inf, not the least finite number."""
    return any(all(not 0 <= first + i * d < extent for i in range(k))
               for k, stride, d, extent, before, after in windows(node, shape)
               for first in range(-before, extent + after - (k - 1) * d, stride))


def unlike_reference(model, output, feeds, values):
    """Does ONNX's own reference give another output than ONNX Runtime?"""
    from onnx.reference import ReferenceEvaluator
    given = {i.name: feeds[i.name] for i in model.graph.input}
    want, = ReferenceEvaluator(model).run([output], given)
    return np.shape(want) != np.shape(values[output]) or distance(values[output], want) > 1e-3


def mistake_of_the_peer(model, output, feeds):
    """What ONNX Runtime is known to get wrong on the way to the output; "" when there is nothing."""
    small = only_for(model, output)
    values = values_of((small.SerializeToString(), feeds)) or {}
    for node in small.graph.node:
        given = values.get(node.input[0]) if node.input else None
        if node.op_type.startswith("Reduce") and given is not None and np.size(given) == 0:
            return "a reduction of nothing"
        if node.op_type == "MatMul" and given is not None and np.size(given) == 0:
            return "a product of nothing, which it leaves unset,"
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if (node.op_type == "Gemm" and given is not None and np.size(given) == 0 and len(node.input) > 2
                and attributes.get("beta", 1.0) != 1.0):
            return "a product of nothing, with an addend that it does not scale by beta"
        if node.op_type in ("MaxPool", "AveragePool", "LpPool") and given is not None and window_too_large(node, given.shape):
            return "a pooling window that does not fit"
        if node.op_type == "Resize" and given is not None and np.shape(values[node.output[0]]) == given.shape:
            return "resizing by so little that the size stays, which it takes for a copy"
        if (node.op_type == "Resize" and given is not None and attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize"
                and any(a == b for a, b in zip(given.shape, np.shape(values[node.output[0]])))
                and unlike_reference(small, output, feeds, values)):
            return "cropping along a dimension whose size stays, which it takes for a copy of that dimension"
        if (node.op_type == "Resize" and given is not None and attributes.get("coordinate_transformation_mode") == b"align_corners"
                and (attributes.get("exclude_outside") or attributes.get("antialias") or any(np.less(np.shape(values[node.output[0]]), given.shape)))
                and unlike_reference(small, output, feeds, values)):
            return "whole lengths, as the reference of ONNX has them for corners that are aligned,"
        if node.op_type == "QuickGelu" and given is not None and np.any(np.less(given, -8)):
            return "the far end of a sigmoid, which it takes for 0,"
        if node.op_type == "MaxPool" and given is not None and window_of_padding(node, given.shape):
            return "the maximum of a window of padding alone"
    return ""


def errors(a, b):
    """(the largest element of b, how far a is off, each); infinities and NaNs must be the same."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(finite, np.isfinite(a)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return 1.0, np.full(b.shape, np.inf)
    return np.max(np.abs(b[finite]), initial=1e-3), np.abs(np.where(finite, a, 0) - np.where(finite, b, 0))


def distance(a, b):
    """The largest difference relative to the largest element."""
    scale, off = errors(a, b)
    return float(np.max(off, initial=0.0) / scale)


def how(model):
    return next((p.value for p in model.metadata_props if p.key == HOW), "")


def difference(model, feeds, ours, theirs):
    """What is wrong with our results, in a line; "" when nothing is."""
    for i, (x, y) in enumerate(zip(ours, theirs)):
        name = model.graph.output[i].name
        tolerance = TOLERANCE.get(x.dtype, 0.0)
        alike = x.dtype == y.dtype and x.shape == y.shape
        apart = distance(x, y) if alike else np.inf
        if apart <= tolerance:
            continue
        # Either may have rounded badly: is ours as near to the truth as one can be?
        truth = Truth(model, name, x.dtype, feeds, values_of, narrow_products=how(model) == "bf16")
        if truth.value is not None and np.shape(truth.value) == x.shape:
            scale, off = errors(x, truth.value)
            if np.all(off <= tolerance * scale) or np.all(off <= np.maximum(tolerance * scale, truth.reach())):
                continue
        if truth.value is None and how(model) == "bf16":
            raise Skipped("nothing tells how far roundings to bf16 may go")
        if mistake := mistake_of_the_peer(model, name, feeds):
            raise Skipped(f"{mistake}, which ONNX Runtime gets wrong")
        if not alike:
            return f"wrong: output {name} is {x.dtype}{list(x.shape)}, should be {y.dtype}{list(y.shape)}"
        return f"wrong: output {name} differs by {apart:.2g} of its largest element (tolerance {tolerance:.0e})"
    return ""


def peer_runs(model, feeds, others):
    """(inputs, ONNX Runtime's results), for each of the sizes. Raises Skipped."""
    running = session(model)
    runs = [(feeds, peer(running, feeds))]
    for other in others:
        try:
            runs.append((other, peer(running, other)))
        except Skipped:
            pass  # sizes that the model does not allow
    return runs


def check_refusal(model, feeds):
    """"", or that we take what ONNX Runtime refuses. Raises Skipped when it does not."""
    import tilewright as tw
    running = session(model)
    try:
        peer(running, feeds)
    except Skipped as refusal:
        try:
            tw.compile(model, cache=False).run(feeds)
        except (tw.Error, ValueError):
            return ""
        return f"accepted: an index that is out of range gives numbers; ONNX Runtime says: {refusal}"
    raise Skipped("it takes these indices")


def check(model, feeds, others=()):
    """"", or what is wrong: refused, run error, wrong or accepted, and how. Raises Skipped."""
    import tilewright as tw
    if how(model) == "refusal":
        return check_refusal(model, feeds)
    runs = peer_runs(model, feeds, others)
    try:
        module = tw.compile(model, cache=False, precision=how(model) or "f32")
    except Exception as e:  # noqa: BLE001 -- every failure is a result here
        return f"refused: {e}"
    for given, theirs in runs:
        try:
            ours = module.run(given)
        except Exception as e:  # noqa: BLE001
            # With other sizes a model may be wrong where ONNX Runtime looks away: Concat and MatMul take any shape
            # without elements, GatherND any index where it gives none, and to Einsum an extent of 1 stands for every extent.
            if given is not feeds and re.search("(`(concat|einsum)`|MatMul ).* must be equal|index .* the dimension is empty", str(e)):
                continue
            if "which is empty" in str(e) and pools_of_too_little(model, given):
                continue
            return f"run error: {e}"
        problem = difference(model, given, ours, theirs)
        if problem:
            return problem
    return ""
