# SPDX-License-Identifier: Apache-2.0
"""Arguments of schedule steps as the text of a trace has them, and the handles that steps give back."""
from __future__ import annotations

import inspect
import json
from typing import Optional, Union

from . import _native
from ._errors import wrong_kind, wrong_value


class _Handle:
    """A loop or block of one schedule, as its trace names it."""

    def __init__(self, schedule, name: str):
        self.schedule = schedule
        self.name = name

    def __repr__(self):
        return f"%{self.name}"


class Loop(_Handle):
    pass


class Block(_Handle):
    pass


class Decision:
    """A number that a tuner may choose otherwise; made by Schedule.decide."""

    def __init__(self, name: str, value: int):
        self.name = name
        self.value = value

    def __repr__(self):
        return f"${self.name}"


Number = Union[int, Decision, None]  # None: the step works it out
BlockRef = Union[Block, str]         # a handle, or the block's name
AnyRef = Union[Loop, Block, str]


def _handle_text(schedule, handle, kinds, what):
    if not isinstance(handle, kinds):
        raise wrong_kind("python.step.handle", f"{handle!r} is no {what}", f"give one that this schedule gave{', or a block by its name' if what == 'block' else ''}")
    if handle.schedule is not schedule:
        raise wrong_value("python.step.schedule", f"{handle!r} belongs to another schedule", "ask this one: its loops() and block() give handles")
    return f"%{handle.name}"


def loop_text(schedule, loop: Loop) -> str:
    return _handle_text(schedule, loop, Loop, "loop")


def block_text(schedule, block: BlockRef) -> str:
    if isinstance(block, str):
        block = schedule.block(block)
    return _handle_text(schedule, block, Block, "block")


def any_text(schedule, nest: AnyRef) -> str:
    return loop_text(schedule, nest) if isinstance(nest, Loop) else block_text(schedule, nest)


def number_text(_, number: Number) -> str:
    if number is None:
        return "?"
    if isinstance(number, Decision):
        return repr(number)
    return str(int(number.__index__()))


def string_text(_, text: str) -> str:
    if not isinstance(text, str):
        raise wrong_kind("python.step.string", f"{text!r} is no string", "write it as text")
    return json.dumps(text, ensure_ascii=False)


def hint_text(_, value: Union[Number, str]) -> str:
    return string_text(_, value) if isinstance(value, str) else number_text(_, value)


def word_text(_, word: str) -> str:
    """The name of a scope, a thread axis or a way to run."""
    if not isinstance(word, str) or not word.replace(".", "_").isidentifier():
        raise wrong_kind("python.step.word", f"{word!r} is no name", "give one such as register or thread.x as text")
    return word


def layout_text(_, layout: str) -> str:
    return layout


def map_text(_, f) -> str:
    """A function from indices to indices, `lambda i, j: (i // 8, j, i % 8)`."""
    names = parameter_names(f)
    if names is None:
        raise wrong_kind("python.step.index_map", "an index map names its indices, this function takes any number of them", "write them out: lambda i, j: …")
    results = f(*(_native.te.index(name) for name in names))
    return f"({', '.join(names)}) -> [{', '.join(str(_native.te.Expr(r)) for r in results)}]"


def parameter_names(f) -> Optional[list[str]]:
    """The names of a function's parameters; none when it takes any number of them."""
    parameters = inspect.signature(f).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return [p.name for p in parameters if p.default is p.empty]
