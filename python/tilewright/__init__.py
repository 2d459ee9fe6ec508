# SPDX-License-Identifier: Apache-2.0
"""Tilewright: a learning-based compiler for deep learning.

    import tilewright as tw
    module = tw.compile("model.onnx")
    y = module(x)
"""
from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _native, te, tune
from ._arrays import from_map, from_native, to_maps, to_native
from ._models import path_or_bytes
from ._ops import register_op
from .schedule import Kernel, Schedule, instruction

__all__ = ["Error", "Kernel", "Module", "PerformanceWarning", "Schedule", "compile", "emit", "instruction", "load",
           "reference", "register_op", "te", "tune"]
Error = _native.Error

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
    ranges = {k: (v, v) if isinstance(v, int) else tuple(v) for k, v in (dims or {}).items()}
    return {k: (v[0], v[1], list(v[2]) if len(v) > 2 else []) for k, v in ranges.items()}


def compile(model: Model, target: str = "host", threads: int = 0, dims: Optional[Dims] = None, skip: Sequence[str] = (),
            example_inputs: Any = None, dynamic_shapes: Any = None, cache: bool = True,
            precision: str = "f32", records: Optional[Path] = None, transfer: bool = False,
            shipped_records: bool = True) -> Module:  # noqa: A001 -- the name users expect
    """Compiles a model for a target and returns a Module that runs it here.

    `dims` maps names of dimensions to a value, a (low, high) range, or (low, high, points) with values that get kernels of
    their own; `threads` is the module's default for running and never changes its bits. A torch.nn.Module is exported with
    `example_inputs` (and `dynamic_shapes`, as torch.onnx.export takes them). Kernels are kept in the cache of the command line
    (`tilewright cache`), unless `cache` is false. With the `precision` "bf16" products of f32 multiply rounded factors; sums and all else stay f32.
    `records` is a file of `tilewright tune`, whose schedules are taken; with `transfer` kernels without a record take that of the
    nearest one that has one. `shipped_records` are those that the compiler has for some processors.
    A PerformanceWarning names each kernel that is not fast.
    """
    with path_or_bytes(model, example_inputs, dynamic_shapes) as given:
        module, slow = _native.compile(given, target, _ranges(dims), list(skip), threads, cache, precision,
                                       os.fspath(records) if records is not None else "", transfer, shipped_records)
    for line in slow:
        warnings.warn(line, PerformanceWarning, stacklevel=2)
    return Module(module)


def emit(model: Model, stage: str, target: str = "host", dims: Optional[Dims] = None, skip: Sequence[str] = (),
         precision: str = "f32") -> str:
    """A point of the path as text: graph, fused, te, loops, scheduled, final or code."""
    with path_or_bytes(model) as given:
        return _native.emit(given, stage, target, _ranges(dims), list(skip), precision)


def load(twm: Union[Path, bytes], threads: int = 0) -> Module:
    """A module from a .twm file, which is mapped and must stay as it is, or from its bytes."""
    return Module(_native.Module(twm if isinstance(twm, bytes) else os.fspath(twm), threads))


def reference(model: Model, inputs: Sequence[Input]) -> list[Output]:
    """Runs a model operator by operator with the interpreter: slow, and what all else is compared with."""
    native = [to_native(np.asarray(x)) for x in inputs]
    with path_or_bytes(model) as given:
        return [from_native(y) for y in _native.reference(given, native)]


class Module:
    """A compiled model. Threads may share it; each run has a context of its own."""

    def __init__(self, native: Any) -> None:  # by `compile` and `load`
        self._native = native
        self.inputs: list[Port] = self._native.inputs()
        self.outputs: list[Port] = self._native.outputs()
        self.metadata: dict[str, str] = {k: v.decode(errors="replace") for k, v in self._native.metadata().items()}
        # Ports that are maps to the user, and rows of a tensor to the module.
        self._keys = {k.removeprefix(_MAP): json.loads(v) for k, v in self.metadata.items() if k.startswith(_MAP)}

    def run(self, inputs: Union[Mapping[str, Input], Sequence[Input]]) -> list[Output]:
        """Takes {name: array} or a list in the order of `inputs`; gives a list in the order of `outputs`.

        Arrays of any library that knows DLPack or NumPy's protocols are read where they lie, unless they are not contiguous.
        The outputs are NumPy arrays, which other libraries take over by DLPack.
        """
        if isinstance(inputs, Mapping):
            missing = [name for name, _, _ in self.inputs if name not in inputs]
            unknown = [name for name in inputs if name not in {i[0] for i in self.inputs}]
            if missing or unknown:
                raise ValueError(f"inputs missing: {missing}, not known: {unknown}; the model has {[i[0] for i in self.inputs]}")
            inputs = [inputs[name] for name, _, _ in self.inputs]
        if len(inputs) != len(self.inputs):
            raise ValueError(f"the model has {len(self.inputs)} inputs, {len(inputs)} were given")
        native = [to_native(from_map(x, self._keys[name], elem) if name in self._keys else x)
                  for x, (name, elem, _) in zip(inputs, self.inputs)]
        outputs = [from_native(y) for y in self._native.run(native)]
        return [to_maps(y, self._keys[name]) if name in self._keys else y for y, (name, _, _) in zip(outputs, self.outputs)]

    def __call__(self, *inputs: Input) -> Union[Output, list[Output]]:
        outputs = self.run(list(inputs))
        return outputs[0] if len(outputs) == 1 else outputs

    def save(self, path: Path) -> None:
        """Writes the .twm file: whole, or the one that was there stays."""
        self._native.save(os.fspath(path))
