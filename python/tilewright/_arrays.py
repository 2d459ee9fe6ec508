# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as the native side takes and gives them.

A tensor is (element type, shape, bytes); a tensor of strings is ("string", shape, list of str); a
sequence is a list; an optional without a value is None. Types below a byte lie one to a byte in
NumPy and packed, low bits first, on the native side.
"""
import numpy as np

from . import _native
from ._errors import wrong_kind

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

_NUMPY = {"bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
          "u32": "uint32", "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64",
          "c128": "complex128"}
_ML = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2": "float8_e5m2",
       "f8e5m2fnuz": "float8_e5m2fnuz", "i4": "int4", "u4": "uint4", "i2": "int2", "u2": "uint2",
       "f4e2m1": "float4_e2m1fn", "f8e8m0": "float8_e8m0fnu"}
_LONG = {name: elem for elem, name in [*_NUMPY.items(), *_ML.items()]}
_BITS = {"i4": 4, "u4": 4, "i2": 2, "u2": 2, "f4e2m1": 4}

_DTYPES = {elem: np.dtype(name) for elem, name in _NUMPY.items()}
if ml_dtypes:
    _DTYPES.update({elem: np.dtype(getattr(ml_dtypes, name)) for elem, name in _ML.items() if hasattr(ml_dtypes, name)})
_ELEMS = {dtype: elem for elem, dtype in _DTYPES.items()}


def elem_name(dtype):
    """The short name of an element type: of a short name, a long one such as float32, or a type of NumPy."""
    if isinstance(dtype, str):  # NumPy's own short names count bytes, so that "i8" would be read in two ways
        elem = dtype if dtype in _NUMPY or dtype in _ML else _LONG.get(dtype)
    else:
        try:
            elem = _ELEMS.get(np.dtype(dtype))
        except TypeError:  # that is none of NumPy's
            elem = None
    if elem is None:
        raise wrong_kind("python.array.elem", f"there is no element type {dtype!r}", f"they are {', '.join([*_NUMPY, *_ML])}")
    return elem


def _pack(array, bits):
    codes = array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    per_byte = 8 // bits
    codes = np.concatenate([codes, np.zeros(-len(codes) % per_byte, np.uint8)]).reshape(-1, per_byte)
    return np.bitwise_or.reduce(codes << (np.arange(per_byte, dtype=np.uint8) * bits), axis=1, dtype=np.uint8)


def _unpack(data, count, bits, signed):
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    codes = ((data[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count]
    return (codes ^ (1 << (bits - 1))) - (1 << (bits - 1)) if signed else codes


class Array(np.ndarray):
    """An array of a type that other libraries take by DLPack, though NumPy's own arrays refuse to give it."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        elem = _ELEMS.get(self.dtype)
        if elem not in _native.DLPACK_ELEMS:
            return super().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if dl_device not in (None, (1, 0)) or stream is not None:
            raise BufferError("the array lies in the memory of the CPU")
        if not self.flags.writeable and not copy:
            raise BufferError("DLPack gives writable memory, this array is read-only: ask for a copy")
        array = np.array(self) if copy else np.asarray(self)
        return _native.to_dlpack(array.view(f"u{self.itemsize}"), elem)

    def __dlpack_device__(self):
        return 1, 0  # the CPU


def _from_dlpack(value):
    """The element type and the array; of a type that NumPy lacks, an array of its codes."""
    kind = int(value.__dlpack_device__()[0])
    if kind != 1:
        raise wrong_kind("python.array.device", f"the {type(value).__name__} is on device {kind} of DLPack, not in the memory of the CPU",
                         "copy it there; in PyTorch with .cpu()")
    try:
        capsule = value.__dlpack__()
    except BufferError:
        capsule = value.__dlpack__(max_version=(1, 0))  # which may say that it is read-only
    elem, array = _native.from_dlpack(capsule)
    return elem or _ELEMS.get(array.dtype), array


def _array_of(value):
    """The element type (None: there is none here) and the array of anything that is one by some protocol."""
    dlpack = hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray)
    if not dlpack or hasattr(value, "__array__"):
        try:
            array = np.asarray(value)
            return _ELEMS.get(array.dtype), array
        except TypeError:  # the library's types go beyond NumPy's
            if not dlpack:
                raise
    return _from_dlpack(value)


def to_native(value):
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [to_native(v) for v in value]
    elem, array = _array_of(value)
    if array.dtype.kind in "OUS":
        return "string", list(array.shape), [s.decode() if isinstance(s, bytes) else str(s) for s in array.reshape(-1)]
    if elem is None:
        raise wrong_kind("python.array.elem", f"arrays of {array.dtype} have no element type here", "convert the array with .astype")
    array = np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray gives rank 0 a dimension
    data = _pack(array, _BITS[elem]) if elem in _BITS else array.reshape(-1).view(np.uint8)
    return elem, list(array.shape), data


def from_native(value):
    if value is None:
        return None
    if isinstance(value, list):
        return [from_native(v) for v in value]
    elem, shape, data = value
    if elem == "string":
        return np.array(data, dtype=object).reshape(shape)
    if elem not in _DTYPES:
        raise wrong_kind("python.array.ml_dtypes", f"a result is {elem}, which NumPy has only with ml_dtypes", "pip install ml_dtypes")
    dtype = _DTYPES[elem]
    if elem in _native.DLPACK_ELEMS:
        return data.view(dtype).reshape(shape).view(Array)
    if elem in _BITS:
        codes = _unpack(data, int(np.prod(shape, dtype=np.int64)), _BITS[elem], elem[0] == "i")
        return codes.astype(np.int8).astype(dtype).reshape(shape) if elem[0] in "iu" else codes.astype(np.uint8).view(dtype).reshape(shape)
    return data.view(dtype).reshape(shape)


def from_map(value, keys, elem):
    """The row of a dict, or of a list with one: what it has for each key, or 0."""
    given = value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
    if not isinstance(given, dict):
        raise wrong_kind("python.run.map", f"the input is a map, a {type(value).__name__} was given", f"give a dict with some of the keys {keys[:8]}")
    dtype = object if elem == "string" else _DTYPES[elem]
    return np.array([[given.get(key, "" if elem == "string" else 0) for key in keys]], dtype)


def to_maps(rows, keys):
    """A dict for each row."""
    return [dict(zip(keys, row)) for row in rows.tolist()]
