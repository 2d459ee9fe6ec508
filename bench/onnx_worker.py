#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An engine for ONNX models as a contender:  onnx_worker.py ort|openvino MODEL.onnx"""
import sys

import numpy as np

from serve import serve


def load_ort(path):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = {i.name: example(i.shape) for i in session.get_inputs()}
    return lambda: session.run(None, inputs)


def load_openvino(path):
    import openvino as ov
    model = ov.Core().compile_model(path, "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1})
    request = model.create_infer_request()
    inputs = {i.get_any_name(): example(i.shape) for i in model.inputs}
    return lambda: request.infer(inputs, share_inputs=True, share_outputs=True)


def example(shape):
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def main():
    call = {"ort": load_ort, "openvino": load_openvino}[sys.argv[1]](sys.argv[2])
    for _ in range(3):
        call()
    serve(call)


main()
