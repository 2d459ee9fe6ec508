# SPDX-License-Identifier: Apache-2.0
"""Tilewright: a learning-based compiler for deep learning.

    import tilewright as tw
    module = tw.compile("model.onnx")
    y = module(x)
"""
from __future__ import annotations

import json
import operator
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _errors, _native, te, tune
from ._arrays import from_map, from_native, to_maps, to_native
from ._errors import ArgumentError, Error
from ._models import path_or_bytes
from ._ops import register_op
from .schedule import Kernel, Schedule, instruction

__all__ = ["ArgumentError", "Error", "Kernel", "Module", "PerformanceWarning", "Schedule", "compile", "emit", "instruction", "load",
           "reference", "register_op", "te", "tune"]

Path = Union[str, "os.PathLike[str]"]
# A path, the bytes of an ONNX model, an onnx.ModelProto, or a torch.nn.Module.
Model = Union[Path, bytes, bytearray, memoryview, Any]
# A value, a range, or a range with values that get kernels of their own.
Dims = Mapping[str, Union[int, tuple[int, int], tuple[int, int, Sequence[int]]]]
# An array or what NumPy or DLPack makes one of; a list for a sequence; a dict for a map; None for an optional without a value.
Input = Union[np.ndarray, Sequence[Any], Mapping[Any, Any], Any, None]
Output = Union[np.ndarray, list, None]
# Name, element type, dimensions: numbers, or names and formulas of those that a run tells.
Port = tuple[str, str, tuple[Union[int, str], ...]]


_MAP = "tilewright.map."


class PerformanceWarning(UserWarning):
    """Something that is slower than it should be."""


def _ranges(dims: Optional[Dims]):
    """What the user says of each dimension as (low, high, points)."""
    if not isinstance(dims or {}, Mapping):
        raise _errors.wrong_kind("python.dims.kind", f"dims is {dims!r}, a {type(dims).__name__}", 'give a dict of dimensions by name: {"batch": (1, 32)}')
    return {name: _range(name, value) for name, value in (dims or {}).items()}


def _range(name, value):
    try:
        if hasattr(value, "__index__"):
            return operator.index(value), operator.index(value), []
        low, high, points = (*value, ()) if len(value) == 2 else value
        return operator.index(low), operator.index(high), [operator.index(p) for p in points]
    except (TypeError, ValueError):
        raise _errors.wrong_kind("python.dims.range", f"the dimension {name!r} is given as {value!r}",
                         "give an int, (low, high), or (low, high, points) with the sizes that get kernels of their own") from None


def compile(model: Model, target: str = "host", threads: int = 0, dims: Optional[Dims] = None, skip: Sequence[str] = (),
            example_inputs: Any = None, dynamic_shapes: Any = None, cache: bool = True,
            precision: str = "f32", records: Optional[Path] = None, transfer: bool = False,
            shipped_records: bool = True, memory_limit: int = 0) -> Module:  # noqa: A001 -- the name users expect
    """Compiles a model for a target and returns a Module that runs it here.

    `dims` maps names of dimensions to a value, a (low, high) range, or (low, high, points) with values that get kernels of
    their own; `threads` is the module's default for running and never changes its bits; `memory_limit` is what one run may hold, in bytes
    (0: as much as the machine has). A torch.nn.Module is exported with
    `example_inputs` (and `dynamic_shapes`, as torch.onnx.export takes them). Kernels are kept in the cache of the command line
    (`tilewright cache`), unless `cache` is false. With the `precision` "bf16" products of f32 multiply rounded factors; sums and all else stay f32.
    `records` is a file of `tilewright tune`, whose schedules are taken; with `transfer` kernels without a record take that of the
    nearest one that has one. `shipped_records` are those that the compiler has for some processors.
    A PerformanceWarning names each kernel that is not fast.
    """
    _errors.taken("target", target, str, "a name that `tilewright targets` lists")
    _errors.taken("precision", precision, str, "f32 or bf16")
    options = _ranges(dims), _errors.names("skip", skip), _limits(threads, memory_limit), bool(cache), precision
    kept = _errors.path("records", records) if records is not None else "", bool(transfer), bool(shipped_records)
    with path_or_bytes(model, example_inputs, dynamic_shapes) as given:
        module, slow = _native.compile(given, target, *options, *kept)
    for line in slow:
        warnings.warn(line, PerformanceWarning, stacklevel=2)
    return Module(module)


def emit(model: Model, stage: str, target: str = "host", dims: Optional[Dims] = None, skip: Sequence[str] = (),
         precision: str = "f32") -> str:
    """A point of the path as text: graph, fused, te, loops, scheduled, final or code."""
    for name, value in (("stage", stage), ("target", target), ("precision", precision)):
        _errors.taken(name, value, str, "its name")
    ranges, left_out = _ranges(dims), _errors.names("skip", skip)
    with path_or_bytes(model) as given:
        return _native.emit(given, stage, target, ranges, left_out, precision)


def load(twm: Union[Path, bytes], threads: int = 0, memory_limit: int = 0) -> Module:
    """A module from a .twm file, which is mapped and must stay as it is, or from its bytes.

    A run that would hold more than `memory_limit` bytes (0: as many as the machine has) is an error.
    """
    return Module(_native.Module(twm if isinstance(twm, bytes) else _errors.path("twm", twm), _limits(threads, memory_limit)))


def _limits(threads, memory_limit):
    return _native.ContextLimits(_errors.count("threads", threads), _errors.count("memory_limit", memory_limit))


def reference(model: Model, inputs: Sequence[Optional[Input]]) -> list[Output]:
    """Runs a model operator by operator with the interpreter: slow, and what all else is compared with.

    None, or nothing at the end of the list, stands for the default of an input that has one.
    """
    native = [x if x is None else to_native(x if hasattr(x, "__dlpack__") else np.asarray(x)) for x in inputs]
    with path_or_bytes(model) as given:
        return [from_native(y) for y in _native.reference(given, native)]


class Module:
    """A compiled model. Threads may share it; each run has a context of its own."""

    def __init__(self, native: Any) -> None:  # by `compile` and `load`
        self._native = native
        self.inputs: list[Port] = self._native.inputs()
        self.outputs: list[Port] = self._native.outputs()
        self.defaults: list[str] = self._native.defaults()  # names of inputs that a run may leave out
        self.metadata: dict[str, str] = {k: v.decode(errors="replace") for k, v in self._native.metadata().items()}
        # Ports that are maps to the user, and rows of a tensor to the module.
        self._keys = {k.removeprefix(_MAP): json.loads(v) for k, v in self.metadata.items() if k.startswith(_MAP)}

    def run(self, inputs: Union[Mapping[str, Input], Sequence[Optional[Input]]]) -> list[Output]:
        """Takes {name: array} or a list in the order of `inputs`; gives a list in the order of `outputs`.

        Inputs that `defaults` names may be left out, in a list by None or at its end.

        Arrays of any library that knows DLPack or NumPy's protocols are read where they lie, unless they are not contiguous.
        The outputs are NumPy arrays, which other libraries take over by DLPack, bf16 too.
        """
        if isinstance(inputs, Mapping):
            missing = [name for name, _, _ in self.inputs if name not in inputs and name not in self.defaults]
            unknown = [name for name in inputs if name not in {i[0] for i in self.inputs}]
            if missing or unknown:
                raise _errors.wrong_value("python.run.names", f"inputs missing: {missing}, not known: {unknown}",
                                  f"give an array for each of {[i[0] for i in self.inputs]}")
            inputs = [inputs.get(name) for name, _, _ in self.inputs]
        if not hasattr(inputs, "__len__") or not hasattr(inputs, "__getitem__") or isinstance(inputs, (str, bytes)):
            raise _errors.wrong_kind("python.run.inputs", f"the inputs are {inputs!r}, a {type(inputs).__name__}",
                             f"give a list of arrays for {[i[0] for i in self.inputs]}, or a dict by these names")
        if not len(self.inputs) - len(self.defaults) <= len(inputs) <= len(self.inputs):
            raise _errors.wrong_value("python.run.count", f"the model has {len(self.inputs)} inputs, {len(inputs)} were given",
                              f"give an array for each of {[i[0] for i in self.inputs]}")
        native = [None if x is None and name in self.defaults else self._to_native(x, name, elem)
                  for x, (name, elem, _) in zip(inputs, self.inputs)]
        outputs = [from_native(y) for y in self._native.run(native)]
        return [to_maps(y, self._keys[name]) if name in self._keys else y for y, (name, _, _) in zip(outputs, self.outputs)]

    def cancel(self) -> None:
        """Ends the runs that other threads have begun, which raise an Error. Ctrl-C ends one of the main thread."""
        self._native.cancel()

    def held_bytes(self) -> int:
        """What is kept for the next run: it rises with the largest inputs so far."""
        return self._native.held_bytes()

    def trim(self) -> None:
        """Gives that memory back; the next run asks for what it needs."""
        self._native.trim()

    def _to_native(self, value, name, elem):
        try:
            return to_native(from_map(value, self._keys[name], elem) if name in self._keys else value)
        except Exception as e:
            if isinstance(e, Error):
                raise _errors.wrong_kind(e.code, f"input `{name}`: {e.message}", e.help) from None
            # What the array's own library says, for example that a tensor still wants its gradient.
            raise _errors.wrong_kind("python.run.array", f"input `{name}` cannot be read as an array: {type(e).__name__}: {e}",
                             f"give an array of {elem}, or what NumPy or DLPack makes one of") from e

    def __call__(self, *inputs: Input) -> Union[Output, list[Output]]:
        outputs = self.run(list(inputs))
        return outputs[0] if len(outputs) == 1 else outputs

    def save(self, path: Path) -> None:
        """Writes the .twm file: whole, or the one that was there stays."""
        self._native.save(_errors.path("path", path))
