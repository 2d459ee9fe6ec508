# SPDX-License-Identifier: Apache-2.0
"""Schedules: a program made fast step by step, each of which proves that it changes no result.

    s = tw.Schedule(program)
    y, x, k = s.loops("C")
    y0, y1 = s.split(y, [None, 14])
    print(s)                          # the program as it stands
    kernel = s.build()
    c = kernel(a, b)
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _native, te
from ._arrays import elem_name, from_native, to_native
from ._errors import count, taken, wrong_value
from ._step_text import Block, Decision, Loop
from ._steps import Steps

__all__ = ["Block", "Decision", "Kernel", "Loop", "Schedule", "instruction"]

Program = te.Program
Instruction = _native.Instruction


def _results(native):
    arrays = [from_native(y) for y in native]
    return arrays[0] if len(arrays) == 1 else arrays


def _writable(array):
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise wrong_value("python.kernel.memory", "memory for an output must be contiguous and writable", "give an array such as numpy.empty makes")
    return array.reshape(-1).view(np.uint8)


class Kernel:
    """Machine code of a scheduled program. Threads may share it."""

    def __init__(self, native):
        self._native = native

    def __call__(self, *inputs: Any, out: Union[np.ndarray, Sequence[np.ndarray], None] = None, **symbols: int) -> Any:
        """Takes an array for each input, without a copy where it is contiguous; gives the output, or a list of them.

        `out` is memory to put the outputs into; `symbols` are sizes that no input's shape tells.
        """
        native = [to_native(x) for x in inputs]
        if out is None:
            return _results(self._native.call(native, symbols, None))
        arrays = [out] if isinstance(out, np.ndarray) else list(out)
        self._native.call(native, symbols, [_writable(a) for a in arrays])
        return out


class Schedule(Steps):
    """A program and the steps that were applied to it.

    `program` is a te.Program, or the text of a function of the loop IR. Steps are methods; they take and give handles of
    loops and blocks (a block may be named by its string), refuse with tw.Error what would change a result, and then
    leave the program as it was. `instructions` are those that `tensorize` may name, beside the target's own.
    """

    def __init__(self, program: Union[Program, str], target: str = "host", instructions: Sequence[Instruction] = ()):
        taken("target", target, str, "a name that `tilewright targets` lists")
        self._native = _native.Schedule(program, [taken("instructions", i, Instruction, "what tw.instruction made") for i in instructions], target)

    @classmethod
    def _of(cls, native):
        """Around one that is there."""
        out = cls.__new__(cls)
        out._native = native
        return out

    def _run(self, step, *arguments):
        texts = (a if isinstance(a, str) else f"[{', '.join(a)}]" for a in arguments)
        return self._native.run(" ".join([step, *texts]))

    def decide(self, name: str, value: int, candidates: Sequence[int] = ()) -> Decision:
        """A number for steps that a tuner may choose otherwise: `s.split(y, [None, s.decide("rows", 14, [6, 14])])`."""
        self._native.decide(name, value, list(candidates))
        return Decision(name, value)

    def lanes(self, dtype: Any) -> int:
        """How many elements a vector register of the target holds."""
        return self._native.lanes(elem_name(dtype))

    @property
    def vector_registers(self) -> int:
        """How many the target has."""
        return self._native.vector_registers()

    @property
    def program(self) -> str:
        """The program as it stands, in the text of the loop IR."""
        return self._native.program()

    @property
    def trace(self) -> str:
        """The steps so far, as a text that `tilewright compile` can replay."""
        return self._native.trace()

    def __str__(self):
        return self.program

    def interpret(self, *inputs: Any, **symbols: int) -> Any:
        """Runs the program in the interpreter: slow, checks every access, and is what all else is compared with."""
        return _results(self._native.interpret([to_native(x) for x in inputs], symbols))

    def build(self, threads: int = 0) -> Kernel:
        """Compiles the program for the schedule's target, which must be this machine's kind. 0 threads: all."""
        return Kernel(self._native.build(count("threads", threads)))


def instruction(meaning: Union[str, Program], scopes: Optional[Mapping[str, str]] = None, emit: str = "") -> Instruction:
    """A hardware instruction by its meaning: an `instr` item of the loop IR as text, or a te.Program of one stage.

    With a program, `scopes` says where operands live ({"A": "acc.input"}; others are global), and `emit` names the
    back end's intrinsic; without one the instruction is lowered as its meaning.
    """
    return _native.instruction(meaning, dict(scopes or {}), emit)
