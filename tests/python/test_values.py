# SPDX-License-Identifier: Apache-2.0
"""Element types, strings, sequences and optionals across the boundary."""
import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import tilewright as tw
from tilewright._arrays import _DTYPES, from_native, to_native

T = TensorProto
ELEMS = {"bool": T.BOOL, "i8": T.INT8, "i16": T.INT16, "i32": T.INT32, "i64": T.INT64, "u8": T.UINT8, "u16": T.UINT16,
         "u32": T.UINT32, "u64": T.UINT64, "f16": T.FLOAT16, "bf16": T.BFLOAT16, "f32": T.FLOAT, "f64": T.DOUBLE,
         "c64": T.COMPLEX64, "c128": T.COMPLEX128, "f8e4m3": T.FLOAT8E4M3FN, "f8e4m3fnuz": T.FLOAT8E4M3FNUZ,
         "f8e5m2": T.FLOAT8E5M2, "f8e5m2fnuz": T.FLOAT8E5M2FNUZ, "i4": T.INT4, "u4": T.UINT4, "f4e2m1": T.FLOAT4E2M1,
         "f8e8m0": T.FLOAT8E8M0, "i2": T.INT2, "u2": T.UINT2}


def samples(elem, count):
    dtype = _DTYPES[elem]
    if elem in ("i4", "i2"):
        half = 8 if elem == "i4" else 2
        return np.array([(i * 3) % (2 * half) - half for i in range(count)]).astype(dtype)
    if elem in ("u4", "u2"):
        return np.array([(i * 3) % (16 if elem == "u4" else 4) for i in range(count)]).astype(dtype)
    if elem == "bool":
        return np.array([i % 3 == 0 for i in range(count)], np.bool_)
    if elem == "f8e8m0":
        return np.array([2.0 ** (i % 7 - 3) for i in range(count)]).astype(dtype)
    return np.array([i % 5 - (0 if elem[0] == "u" else 2) for i in range(count)]).astype(dtype)


def test_every_type_of_the_table_is_tried():
    assert set(ELEMS) == set(_DTYPES)


@pytest.mark.parametrize("elem", sorted(_DTYPES))
@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8])
def test_there_and_back(elem, count):
    x = samples(elem, count)
    back = from_native(to_native(x))
    assert back.dtype == x.dtype and back.shape == x.shape and back.tobytes() == x.tobytes()
    square = from_native(to_native(x.reshape(1, count, 1)))
    assert square.shape == (1, count, 1)


NOT_YET = ("c64", "c128")  # the compiler has no such elements


@pytest.mark.parametrize("elem", sorted(set(ELEMS) - set(NOT_YET)))
def test_every_type_through_a_module(elem, identity):
    module = tw.compile(identity(ELEMS[elem]))
    assert module.inputs == [("x", elem, ("n",))]
    for count in (0, 1, 3, 8):
        x = samples(elem, count)
        y = module(x)
        assert y.dtype == x.dtype and y.tobytes() == x.tobytes()


@pytest.mark.parametrize("elem", NOT_YET)
def test_types_that_are_not_there_yet_are_refused(elem, identity):
    with pytest.raises(tw.Error, match="`x`"):
        tw.compile(identity(ELEMS[elem]))


def test_low_bits_come_first():
    assert to_native(np.array([1, 2, 3], ml_dtypes.uint4))[2].tolist() == [0x21, 0x03]
    assert to_native(np.array([1, 2, 3, 0, 1], ml_dtypes.uint2))[2].tolist() == [0b00111001, 1]
    assert to_native(np.array([-1, 7], ml_dtypes.int4))[2].tolist() == [0x7F]


def test_scalars_keep_rank_0(identity):
    module = tw.compile(identity(T.FLOAT, ()))
    assert module(np.float32(3)).shape == ()
    assert module(np.array(3, np.float32)) == 3


def test_strings(identity):
    module = tw.compile(identity(T.STRING, ("n", 2)))
    for x in (np.array([["a", "bc"], ["", "żółć 木"]], object), np.array([["a", "bc"]]), np.zeros((0, 2), object)):
        y = module(x)
        assert y.shape == x.shape and y.tolist() == x.tolist()
    np.testing.assert_array_equal(module(np.array([[b"raw", b"bytes"]])), [["raw", "bytes"]])


def sequence_type(elem):
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(elem, None))


def one_node(op, input_type, output_type, **attributes):
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], **attributes)], "g",
                              [helper.make_value_info("x", input_type)], [helper.make_value_info("y", output_type)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def test_sequences_in_and_out():
    kind = sequence_type(T.FLOAT)
    module = tw.compile(one_node("Identity", kind, kind))
    given = [np.arange(3, dtype=np.float32), np.zeros((0, 2), np.float32), np.float32(4)]
    result, = module.run({"x": given})
    assert [r.shape for r in result] == [(3,), (0, 2), ()]
    np.testing.assert_array_equal(result[0], given[0])
    assert module.run({"x": []}) == [[]]
    with pytest.raises(ValueError, match="`x`"):
        module.run({"x": [np.zeros(2, np.int32)]})
    with pytest.raises(ValueError, match="`x`"):
        module.run({"x": np.zeros(2, np.float32)})


@pytest.mark.parametrize("inner, value", [
    (helper.make_tensor_type_proto(T.FLOAT, (2,)), np.array([1, 2], np.float32)),
    (sequence_type(T.FLOAT), [np.array([1, 2], np.float32)]),
])
def test_optionals_in(inner, value):
    optional = helper.make_optional_type_proto(inner)
    has = tw.compile(one_node("OptionalHasElement", optional, helper.make_tensor_type_proto(T.BOOL, ())))
    assert has.run({"x": value})[0] == True  # noqa: E712 -- a NumPy bool
    assert has.run({"x": None})[0] == False  # noqa: E712
    got, = tw.compile(one_node("OptionalGetElement", optional, inner)).run({"x": value})
    np.testing.assert_array_equal(np.asarray(got), np.asarray(value))
    with pytest.raises(ValueError, match="`x`"):
        has.run({"x": np.zeros(2, np.int64)})


def test_optionals_out():
    inner = helper.make_tensor_type_proto(T.FLOAT, (2,))
    optional = helper.make_optional_type_proto(inner)
    module = tw.compile(one_node("Optional", inner, optional))
    np.testing.assert_array_equal(module.run([np.array([1, 2], np.float32)])[0], [1, 2])
