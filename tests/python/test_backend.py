# SPDX-License-Identifier: Apache-2.0
"""tilewright.backend: the ONNX backend protocol."""
import numpy as np
from onnx import helper

import tilewright.backend as backend

X, B = np.ones((1, 3), np.float32), np.zeros(4, np.float32)


def test_prepare_and_run(affine, affine_result):
    y, = backend.prepare(affine).run([X, B])
    np.testing.assert_array_equal(y, affine_result(X, B))
    y, = backend.run_model(affine, [X, B])
    np.testing.assert_array_equal(y, affine_result(X, B))


def test_run_node():
    y, = backend.run_node(helper.make_node("Add", ["a", "b"], ["y"]), [X, X])
    np.testing.assert_array_equal(y, X + X)


def test_devices():
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA")
