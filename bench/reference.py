#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The outputs of a model in f64, by our own code:  reference.py MODEL.onnx OUTPUTS.npz [INPUTS.npz]

Every f32 of the model becomes an f64: weights, inputs, casts. What an operator takes in f32 only, such as the scales of a
Resize, stays.
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

from engines import arrays_of

F32, F64 = TensorProto.FLOAT, TensorProto.DOUBLE
ONLY_F32 = {"Resize": (2,), "Upsample": (1,)}  # inputs by operator


def widen(graph, fixed=frozenset()):
    fixed = fixed | {node.input[i] for node in graph.node for i in ONLY_F32.get(node.op_type, ()) if i < len(node.input)}
    for tensor in graph.initializer:
        if tensor.name not in fixed:
            widen_tensor(tensor)
    for info in [*graph.input, *graph.output]:
        kind = info.type.tensor_type
        if kind.elem_type == F32 and info.name not in fixed:
            kind.elem_type = F64
    del graph.value_info[:]
    for node in graph.node:
        if fixed.isdisjoint(node.output):
            for attribute in node.attribute:
                widen_attribute(node, attribute, fixed)


def widen_attribute(node, attribute, fixed):
    if attribute.type == AttributeProto.GRAPH:
        widen(attribute.g, fixed)
    elif attribute.type == AttributeProto.TENSOR:
        widen_tensor(attribute.t)
    elif node.op_type == "Cast" and attribute.name == "to" and attribute.i == F32:
        attribute.i = F64


def widen_tensor(tensor):
    if tensor.data_type == F32:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def outputs_in_f64(path, given):
    import tilewright as tw
    model = onnx.load(path)
    widen(model.graph)
    inputs = {n: a.astype(np.float64) if a.dtype == np.float32 else a for n, a in arrays_of(given).items()}
    wide = path.with_suffix(".f64.onnx")
    onnx.save(model, wide)
    try:
        return tw.compile(wide, skip=["winograd", "recover_activations", "fold_batch_norm", "fold_scales"]).run(inputs)
    finally:
        wide.unlink()


def difference(path, reference):
    """The largest difference of any output, as a share of its largest magnitude."""
    with np.load(path) as got, np.load(reference) as want:
        if len(got.files) != len(want.files):
            return float("inf")
        return max(one_difference(got[n], want[n]) for n in want.files)


def one_difference(got, want):
    if got.size != want.size:
        return float("inf")
    want = want.astype(np.float64)
    largest = np.abs(want).max(initial=0.0)
    worst = np.abs(got.astype(np.float64).reshape(want.shape) - want).max(initial=0.0)
    return float(worst / largest) if largest else float(worst)


if __name__ == "__main__":
    model = Path(sys.argv[1])
    inputs = Path(sys.argv[3]) if len(sys.argv) > 3 else model.with_suffix(".npz")
    np.savez(sys.argv[2], **{str(i): a for i, a in enumerate(outputs_in_f64(model, inputs))})
