# SPDX-License-Identifier: Apache-2.0
"""Tilewright: a learning-based compiler for deep learning.

    import tilewright as tw
    module = tw.compile("model.onnx")
    y, = module.run({"x": x})
"""
import os

import numpy as np

from . import _native
from ._arrays import from_native, to_native

__all__ = ["Module", "Error", "compile", "emit", "reference", "load"]
Error = _native.Error


def _model_bytes_or_path(model):
    """A path, bytes, an onnx.ModelProto, or a torch.nn.Module with its example inputs."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if hasattr(model, "SerializeToString"):
        return model.SerializeToString()
    raise TypeError(f"cannot compile a {type(model).__name__}: give a path, bytes or an onnx.ModelProto")


def compile(model, target="host", threads=0, dims=None, skip=()):  # noqa: A001 -- the name users expect
    """Compiles a model for a target and returns a Module that runs it here.

    `dims` maps names of dimensions to a value or a (low, high) range; `threads` is the module's
    default for running and never changes its bits.
    """
    ranges = {k: (v, v) if isinstance(v, int) else tuple(v) for k, v in (dims or {}).items()}
    return Module(_native.compile(_model_bytes_or_path(model), target, ranges, list(skip)), threads)


def emit(model, stage, target="host", dims=None, skip=()):
    """A point of the path as text: graph, fused, te, loops, scheduled, final or code."""
    ranges = {k: (v, v) if isinstance(v, int) else tuple(v) for k, v in (dims or {}).items()}
    return _native.emit(_model_bytes_or_path(model), stage, target, ranges, list(skip))


def load(twm, threads=0):
    """A module from a .twm file, which is mapped and must stay as it is, or from its bytes."""
    return Module(twm if isinstance(twm, bytes) else os.fspath(twm), threads)


def reference(model, inputs):
    """Runs a model operator by operator with the interpreter: slow, and what all else is compared with."""
    native = [to_native(np.asarray(x)) for x in inputs]
    return [from_native(y) for y in _native.reference(_model_bytes_or_path(model), native)]


class Module:
    """A compiled model. Threads may share it; each run has a context of its own."""

    def __init__(self, twm, threads=0):
        self._native = _native.Module(twm, threads)
        self.inputs = self._native.inputs()    # (name, element type, dimensions)
        self.outputs = self._native.outputs()

    def run(self, inputs):
        """Takes {name: array} or a list in the order of `inputs`; gives a list in the order of `outputs`."""
        if isinstance(inputs, dict):
            missing = [name for name, _, _ in self.inputs if name not in inputs]
            unknown = [name for name in inputs if name not in {i[0] for i in self.inputs}]
            if missing or unknown:
                raise ValueError(f"inputs missing: {missing}, not known: {unknown}; the model has {[i[0] for i in self.inputs]}")
            inputs = [inputs[name] for name, _, _ in self.inputs]
        if len(inputs) != len(self.inputs):
            raise ValueError(f"the model has {len(self.inputs)} inputs, {len(inputs)} were given")
        native = [to_native(x) for x in inputs]
        return [from_native(y) for y in self._native.run(native)]

    def __call__(self, *inputs):
        outputs = self.run(list(inputs))
        return outputs[0] if len(outputs) == 1 else outputs

    def save(self, path):
        """Writes the .twm file."""
        with open(path, "wb") as file:
            file.write(self._native.bytes())
