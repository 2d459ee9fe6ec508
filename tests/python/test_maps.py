# SPDX-License-Identifier: Apache-2.0
"""Maps: what classifiers of scikit-learn give, and what a DictVectorizer takes."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import tilewright as tw


def ml_model(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)])


def maps(name, key):
    return helper.make_value_info(name, helper.make_sequence_type_proto(
        helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))))


def classifier(columns="c", **keys):
    return ml_model([helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", **keys)],
                    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", columns])],
                    [maps("y", TensorProto.STRING if "classlabels_strings" in keys else TensorProto.INT64)])


def test_zip_map_gives_a_dict_for_each_row(tmp_path):
    x = np.array([[0.25, 0.5, 1], [2, 4, 8]], np.float32)
    module = tw.compile(classifier(classlabels_strings=["a", "b", "ü"]))
    wanted = [{"a": 0.25, "b": 0.5, "ü": 1.0}, {"a": 2.0, "b": 4.0, "ü": 8.0}]
    assert module(x) == wanted
    module.save(tmp_path / "m.twm")
    assert tw.load(tmp_path / "m.twm")(x) == wanted  # the keys are in the file
    assert tw.compile(classifier(classlabels_int64s=[3, 5, 7]))(x[:1]) == [{3: 0.25, 5: 0.5, 7: 1.0}]


def test_zip_map_wants_a_key_for_each_column():
    with pytest.raises(tw.Error) as e:
        tw.compile(classifier())
    assert e.value.code == "ops.zip_map.keys"
    for columns in ("c", 6):
        with pytest.raises(ValueError, match="cannot be reshaped"):
            tw.compile(classifier(columns, classlabels_int64s=[3, 5, 7]))(np.ones((1, 6), np.float32))


def vectorizer(*vocabularies):
    kind = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    nodes = [helper.make_node("DictVectorizer", ["m"], [f"v{i}"], domain="ai.onnx.ml", string_vocabulary=words)
             for i, words in enumerate(vocabularies)]
    return ml_model(nodes + [helper.make_node("Neg", ["v0"], ["y"])], [helper.make_value_info("m", kind)],
                    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, len(vocabularies[0])])])


def test_dict_vectorizer_takes_a_dict():
    module = tw.compile(vectorizer(["b", "a", "z"]))
    np.testing.assert_array_equal(module({"a": 2.0, "b": 1.0, "unknown": 9.0}), np.array([[-1, -2, 0]], np.float32))
    with pytest.raises(TypeError, match="give a dict"):
        module(np.ones((1, 3), np.float32))


def test_two_vocabularies_of_one_map_are_refused():
    with pytest.raises(tw.Error) as e:
        tw.compile(vectorizer(["b", "a"], ["a", "b"]))
    assert e.value.code == "ops.dict_vectorizer.map"
