# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

Path = Union[str, os.PathLike[str]]
# A path, the bytes of an ONNX model, or an onnx.ModelProto.
Model = Union[Path, bytes, bytearray, memoryview, Any]
Dims = Mapping[str, Union[int, tuple[int, int]]]
# An array or what NumPy or DLPack makes one of; a list for a sequence; None for an optional without a value.
Input = Union[np.ndarray, Sequence[Any], Any, None]
Output = Union[np.ndarray, list[Any], None]
# Name, element type, dimensions: numbers, or names and formulas of those that a run tells.
Port = tuple[str, str, tuple[Union[int, str], ...]]

class Error(ValueError): ...

class Module:
    inputs: list[Port]
    outputs: list[Port]
    def __init__(self, twm: Union[str, bytes], threads: int = 0) -> None: ...
    def run(self, inputs: Union[Mapping[str, Input], Sequence[Input]]) -> list[Output]: ...
    def __call__(self, *inputs: Input) -> Union[Output, list[Output]]: ...
    def save(self, path: Path) -> None: ...

def compile(model: Model, target: str = "host", threads: int = 0, dims: Optional[Dims] = None,
            skip: Sequence[str] = ()) -> Module: ...
def emit(model: Model, stage: str, target: str = "host", dims: Optional[Dims] = None, skip: Sequence[str] = ()) -> str: ...
def load(twm: Union[Path, bytes], threads: int = 0) -> Module: ...
def reference(model: Model, inputs: Sequence[Input]) -> list[Output]: ...
