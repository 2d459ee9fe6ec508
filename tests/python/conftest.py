# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from onnx import TensorProto, helper, parser


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory):
    """Kernels of the tests are not kept in the user's cache, nor taken from it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def affine():
    """y = relu(x · w + b) for any number of rows."""
    return parser.parse_model("""
        <ir_version: 9, opset_import: ["" : 17]>
        affine (float[batch, 3] x, float[4] b) => (float[batch, 4] y)
        <float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4}>
        { p = MatMul(x, w)
          s = Add(p, b)
          y = Relu(s) }""")


@pytest.fixture
def affine_result():
    w = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [-1, -2, -3, -4]], np.float32)
    return lambda x, b: np.maximum(x @ w + b, 0)


@pytest.fixture
def identity():
    """A model that gives its input back, of any element type."""
    def make(elem, shape=("n",)):
        info = [helper.make_tensor_value_info(n, elem, shape) for n in ("x", "y")]
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "identity", info[:1], info[1:])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    return make


def text_model(body):
    return parser.parse_model('<ir_version: 9, opset_import: ["" : 18]>\n' + body)


@pytest.fixture
def model():
    return text_model


@pytest.fixture
def elem_types():
    return TensorProto
