# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries, above all those of types that NumPy cannot exchange."""
import ctypes

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw

PYTHON = ctypes.pythonapi
PYTHON.PyCapsule_New.restype = ctypes.py_object
PYTHON.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
PYTHON.PyCapsule_GetPointer.restype = ctypes.c_void_p
PYTHON.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
PYTHON.PyCapsule_GetName.restype = ctypes.c_char_p
PYTHON.PyCapsule_GetName.argtypes = [ctypes.py_object]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


CODES = {"bfloat16": 4, "float8_e4m3fn": 10, "float8_e5m2": 12, "float32": 2, "int64": 0}
given = {}  # what consumers hold, by address


@Deleter
def forget(address):
    del given[address]


class Foreign:
    """A tensor that behaves as PyTorch's: `__array__` knows NumPy's own types only."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __array__(self, dtype=None, copy=None):
        if self.device != 1 or self.array.dtype not in (np.float32, np.int64):
            raise TypeError(f"Got unsupported ScalarType {self.array.dtype}")
        return self.array

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        array, strides = self.array, [s // self.array.itemsize for s in self.array.strides]
        numbers = ctypes.c_int64 * array.ndim
        managed = DLManagedTensor(DLTensor(array.ctypes.data, 1, 0, array.ndim, CODES[str(array.dtype)], array.itemsize * 8, 1,
                                           numbers(*array.shape), numbers(*strides), 0), None, forget)
        address = ctypes.addressof(managed)
        given[address] = managed, array
        return PYTHON.PyCapsule_New(address, b"dltensor", None)


def read(capsule):
    """What a consumer of an unversioned capsule sees: the codes, their type and the address."""
    assert PYTHON.PyCapsule_GetName(capsule) == b"dltensor"
    t = ctypes.cast(PYTHON.PyCapsule_GetPointer(capsule, b"dltensor"), ctypes.POINTER(DLManagedTensor)).contents.tensor
    shape, address = tuple(t.shape[: t.ndim]), t.data + t.byte_offset
    codes = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint16 if t.bits == 16 else ctypes.c_uint8)),
                                  (int(np.prod(shape)),)).copy().reshape(shape)
    return codes, (t.code, t.bits, t.lanes), address


ELEMS = {"bfloat16": 16, "float8_e4m3fn": 17, "float8_e5m2": 19}


@pytest.mark.parametrize("dtype", ELEMS)
def test_types_that_numpy_lacks_come_in_and_go_out(identity, dtype):
    values = np.array([[1, 2.5, -3], [0, 0.125, 100]], np.float32).astype(getattr(ml_dtypes, dtype))
    module = tw.compile(identity(ELEMS[dtype], ("n", "m")))
    for array in (values, values.T, values[:, ::2], values[:0]):
        result = module(Foreign(array))
        assert result.dtype == values.dtype
        np.testing.assert_array_equal(np.asarray(result), array)
        if array.size == 0:
            continue
        assert result.__dlpack_device__() == (1, 0)
        for view in (result, result[:, :1], result.T):
            codes, kind, address = read(view.__dlpack__() if view.flags.c_contiguous else np.ascontiguousarray(view).view(type(result)).__dlpack__())
            assert kind == (CODES[dtype], values.itemsize * 8, 1)
            np.testing.assert_array_equal(codes.view(values.dtype), np.asarray(view))
        assert read(result.__dlpack__(stream=None))[2] == result.ctypes.data  # no copy
        assert read(result.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=True))[2] != result.ctypes.data
    assert not given  # every capsule that was taken was given back


def test_a_foreign_array_of_a_type_of_numpy(identity):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(tw.compile(identity(1, ("n", 3)))(Foreign(x)), x)


def test_results_compute_and_exchange_as_arrays_do(identity):
    y = tw.compile(identity(16, (3,)))(np.array([1, 2, 3], ml_dtypes.bfloat16))
    assert (y + y).dtype == ml_dtypes.bfloat16 and float(y.sum()) == 6
    np.testing.assert_array_equal(np.from_dlpack(y.astype(np.float32)), [1, 2, 3])
    y.flags.writeable = False
    with pytest.raises(BufferError, match="read-only"):
        y.__dlpack__()


def test_what_cannot_be_read_names_the_input_and_the_remedy(identity):
    module = tw.compile(identity(16, (3,)))
    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    with pytest.raises(tw.Error, match=r"input `x`: the Foreign is on device 2.*\n.*\.cpu\(\)"):
        module(Foreign(x, device=2))

    class Tracked:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
    with pytest.raises(tw.Error, match="input `x` cannot be read.*requires grad"):
        module(Tracked())
