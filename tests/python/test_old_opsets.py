# SPDX-License-Identifier: Apache-2.0
"""Operators as opsets before 7 had them."""
import numpy as np
import pytest
from onnx import TensorProto, defs, helper

import tilewright as tw

KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}


def run(op, opset, *inputs, outputs=1, dims=None, **attributes):
    names = [f"i{k}" for k in range(len(inputs))]
    ports = [helper.make_tensor_value_info(n, KINDS[x.dtype], dims if dims and k == 0 else x.shape) for k, (n, x) in enumerate(zip(names, inputs))]
    made = [f"o{k}" for k in range(outputs)]
    graph = helper.make_graph([helper.make_node(op, names, made, **attributes)], "g", ports, [helper.make_tensor_value_info(o, TensorProto.UNDEFINED, None) for o in made])
    for output in graph.output:
        output.ClearField("type")
    return tw.compile(helper.make_model(graph, ir_version=3, opset_imports=[helper.make_opsetid("", opset)])).run(list(inputs))


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 5


def test_cast_names_its_type():
    y, = run("Cast", 1, X, to="INT32")
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, X.astype(np.int32))


@pytest.mark.parametrize("opset", [1, 5])
def test_clip_with_attributes(opset):
    np.testing.assert_array_equal(run("Clip", opset, X, min=-1.0, max=3.0)[0], X.clip(-1, 3))


@pytest.mark.parametrize("attributes, axis", [({}, 1), ({"axis": 0}, 0)])
def test_concat_has_a_default(attributes, axis):
    np.testing.assert_array_equal(run("Concat", 1, X, X, **attributes)[0], np.concatenate([X, X], axis))


@pytest.mark.parametrize("opset", [1, 6])
def test_dropout_of_an_inference(opset):
    y, mask = run("Dropout", opset, X, outputs=2, is_test=1, ratio=0.5)
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(mask, np.ones_like(X))


def test_dropout_of_a_training():
    y, mask = run("Dropout", 6, np.ones((50, 50), np.float32), outputs=2, ratio=0.5)
    assert mask.dtype == np.float32 and 0.4 < mask.mean() < 0.6
    np.testing.assert_array_equal(y, 2 * mask)


def test_norms_of_a_power_that_is_no_integer():
    x = np.abs(X).reshape(2, 3, 2, 2)
    want = ((x ** 1.5).sum((2, 3), keepdims=True)) ** (1 / 1.5)
    np.testing.assert_allclose(run("GlobalLpPool", 1, x, p=1.5)[0], want, rtol=1e-5)
    np.testing.assert_allclose(run("LpPool", 1, x, p=1.5, kernel_shape=[2, 2])[0], want, rtol=1e-5)


def test_instance_normalization():
    x, one = X.reshape(2, 3, 2, 2), np.ones(3, np.float32)
    want = (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
    np.testing.assert_allclose(run("InstanceNormalization", 1, x, one, one, epsilon=1e-5)[0], want + 1, rtol=1e-5)


def test_pad_with_paddings():
    np.testing.assert_array_equal(run("Pad", 1, X, paddings=[0, 1, 0, 0, 0, 2], value=3.0)[0], np.pad(X, [(0, 0), (1, 0), (0, 2)], constant_values=3))


def test_reshape_with_an_attribute():
    np.testing.assert_array_equal(run("Reshape", 1, X, shape=[0, -1])[0], X.reshape(2, 12))


def test_split():
    for got, want in zip(run("Split", 1, X, outputs=2, axis=2, split=[1, 3]), np.split(X, [1], 2)):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(run("Split", 1, X, outputs=2, axis=0), np.split(X, 2)):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(run("Split", 1, X, np.array([3, 1], np.float32), outputs=2, axis=2), np.split(X, [3], 2)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_tile_of_one_axis(axis):
    repeats = [1, 1, 1]
    repeats[axis] = 3
    np.testing.assert_array_equal(run("Tile", 1, X, np.float32(3) + np.zeros(1, np.float32), np.full(1, axis, np.float32), dims=["a", "b", "c"])[0], np.tile(X, repeats))


def test_upsample():
    x = X.reshape(1, 2, 3, 4)
    np.testing.assert_array_equal(run("Upsample", 1, x, height_scale=2.0, width_scale=3.0)[0], x.repeat(2, 2).repeat(3, 3))


@pytest.mark.parametrize("op, gates", [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent_operators_are_those_of_opset_7(op, gates):
    rng = np.random.default_rng(3)
    inputs = [rng.standard_normal(s).astype(np.float32) for s in [(5, 2, 3), (1, gates * 4, 3), (1, gates * 4, 4)]]
    for old, new in zip(run(op, 1, *inputs, outputs=2, hidden_size=4, output_sequence=1), run(op, 7, *inputs, outputs=2, hidden_size=4), strict=True):
        np.testing.assert_array_equal(old, new)


def test_every_version_has_a_rule():
    """Of operators that are not experimental, in every opset that has them."""
    missing = []
    for schema in defs.get_all_schemas_with_history():
        if schema.domain or schema.deprecated or schema.support_level == defs.OpSchema.SupportType.EXPERIMENTAL:
            continue
        names = [f"i{k}" for k in range(max(schema.min_input, 1))]
        graph = helper.make_graph([helper.make_node(schema.name, names, ["y"])], "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in names],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        try:
            tw.emit(helper.make_model(graph, ir_version=3, opset_imports=[helper.make_opsetid("", schema.since_version)]), "graph")
        except tw.Error as error:
            if error.code == "frontend.onnx.operator":
                missing.append(f"{schema.name} of opset {schema.since_version}")
    assert not missing
