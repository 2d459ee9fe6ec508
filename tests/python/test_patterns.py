# SPDX-License-Identifier: Apache-2.0
"""Patterns that PyTorch's exporters break up: both exporters, two opsets each. patterns/export.py made the models;
tests/graph/recover_test.cpp has patterns of other exporters."""
import pathlib
import re

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import tilewright as tw

MODELS = sorted((pathlib.Path(__file__).parent / "patterns").glob("*.onnx"))
# What the kernels of each model compute. Views between them are no kernels, and heads are found by their place.
ATTENTION = {"matmul", "matmul_add_softmax_matmul_transpose"}
KERNELS = {
    "layer_norm": {"layer_norm"},
    "rms_norm": {"rms_norm"},
    "gelu": {"gelu"},
    "gelu_tanh": {"gelu_tanh"},
    "swish": {"swish"},
    "hard_swish": {"hard_swish"},
    "softmax": {"softmax"},
    "attention": ATTENTION,
    "sdpa": ATTENTION,
}


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_pattern(path):
    model = onnx.load(path)
    random = np.random.default_rng(7)
    feeds = {i.name: random.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]).astype(np.float32)
             for i in model.graph.input}
    want = ReferenceEvaluator(model).run(None, feeds)
    got = tw.compile(path).run(feeds)
    for w, g in zip(want, got):
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-5)

    name = path.stem.rsplit("_", 2)[0]
    kernels = {re.sub("^((select|transpose)_)*", "", k) for k in re.findall(r"\) (\w+)\(\) \{", tw.emit(path, "fused"))}
    if name in KERNELS:
        assert kernels == KERNELS[name]
    else:
        assert len(kernels) == 1
