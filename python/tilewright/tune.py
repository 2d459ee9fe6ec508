# SPDX-License-Identifier: Apache-2.0
"""Templates: a scheduling function that leaves its numbers open, and a search for the best ones on this machine.

    def tiled(s, k):
        y, x, r = s.loops("C")
        (rows,) = k.split("rows", 512, most=16)
        y0, y1 = s.split(y, [None, rows])
        if k.boolean("unroll"):
            s.unroll(y1)

    space = tw.tune.Space(program, tiled)
    print(space)                                 # its size, knobs and constraints
    result = space.search(trials=64, records="mine.db")
    print(result.best.point, result.best.ratio)  # the time over that of the default schedule, with its interval
    kernel = result.schedule.build()
"""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

from . import _native
from .schedule import Program, Schedule

__all__ = ["Knobs", "Result", "Space", "Trial"]


class Knobs:
    """What a template asks for its numbers.

    The function runs once to learn which knobs there are, with the first candidate of each, and once for each point that is
    tried. Which knobs it asks for, and their candidates, must not depend on values: leave points out with `require`.
    """

    def __init__(self, native: Any) -> None:
        self._native = native

    def split(self, name: str, extent: int, *, parts: int = 1, most: Optional[int] = None,
              tails: bool = False) -> tuple[int, ...]:
        """Factors of a loop of `extent` iterations, outermost first, without the open one.

        The innermost is at most `most`; all divide the extent, but with `tails` the innermost may leave a rest.
        """
        return self._native.split(name, extent, parts, most, tails)

    def order(self, name: str, count: int) -> tuple[int, ...]:
        """An order of `count` things, at most 6: their numbers, first one first."""
        return self._native.order(name, count)

    def choice(self, name: str, labels: Sequence[str]) -> str:
        """One of several things by name: an annotation, a place, an algorithm."""
        return self._native.choice(name, list(labels))

    def number(self, name: str, candidates: Sequence[int]) -> int:
        return self._native.number(name, list(candidates))

    def boolean(self, name: str) -> bool:
        return self._native.boolean(name)

    def require(self, text: str, knobs: Sequence[str], holds: Callable[..., bool]) -> None:
        """Leaves out points: `holds` takes the values of these knobs, declared before, and says whether they fit together.

        `text` says the same for people: it is part of what the space prints.
        """
        self._native.require(text, list(knobs), holds)


Template = Callable[[Schedule, Knobs], Any]


@dataclass(frozen=True)
class Trial:
    """What became of one schedule. Times are (median, low, high), the interval of 95 %; 0 where it did not run."""
    point: str                           # "rows=8 unroll=yes"
    trace: str                           # the schedule, as text
    verdict: str                         # "ok", or "refused", "wrong", "crashed", …
    error: str
    seconds: tuple[float, float, float]  # of one call
    ratio: tuple[float, float, float]    # over the default schedule's, from calls that alternate

    @property
    def beats_default(self) -> bool:
        """Faster than the default schedule beyond doubt: a tie is not a win."""
        return self.verdict == "ok" and self.ratio[2] < 1


@dataclass(frozen=True)
class Result:
    best: Optional[Trial]        # measured again and longer; None when nothing ran
    trials: list[Trial]          # all, in the order they were measured; of earlier runs, too, with `records`
    why_done: str                # why it ended before its budget was spent; empty when it did not
    refused: int                 # points whose steps may not be done: never measured
    schedule: Optional[Schedule]  # that of `best`


class Space:
    """All schedules that a template can make of a program.

    `program` is a te.Program, or the text of a function of the loop IR. What the template raises is a tw.Error.
    """

    def __init__(self, program: Union[Program, str], template: Template, target: str = "host") -> None:
        def run(native_schedule: Any, native_knobs: Any) -> None:
            template(Schedule._of(native_schedule), Knobs(native_knobs))

        self.name: str = getattr(template, "__name__", "template").replace(" ", "_")
        self._native = _native.Space(program, run, self.name, target)

    @property
    def size(self) -> float:
        """How many points it has; an estimate where they are too many to count."""
        return self._native.size()[0]

    @property
    def knobs(self) -> dict[str, list[Any]]:
        """The candidates of each knob."""
        return self._native.knobs()

    def __str__(self) -> str:
        return self._native.print()

    def random(self, seed: int = 0) -> Optional[str]:
        """A legal point as text; None when there is none."""
        return self._native.random(seed)

    def apply(self, point: str) -> Schedule:
        """The schedule of a point: `space.apply("rows=8 unroll=yes")`."""
        return Schedule._of(self._native.apply(point))

    def search(self, *, trials: int = 64, seconds: float = 60, threads: int = 1, seed: int = 1,
               strategy: Optional[str] = None, records: Union[str, "os.PathLike[str]", None] = None,
               progress: Optional[Callable[[Trial], Any]] = None) -> Result:
        """Measures schedules on this machine, each in a process of its own, until the budget of trials or seconds is spent.

        `strategy` is "learned" (where XGBoost is installed, the default), "annealing", "random" or "grid". With `records` every trial is
        kept in that file, and the next search goes on from there. `progress` is called with each trial. Python's other
        threads wait.
        """
        prefix = len(self.name) + 2

        def trial(r: Any) -> Trial:
            return Trial(r.point[prefix:], r.trace, r.verdict, r.error, r.seconds, r.ratio)

        best, all_trials, why_done, refused = self._native.search(
            trials, seconds, threads, seed, strategy, os.fspath(records) if records is not None else "",
            (lambda r: progress(trial(r))) if progress else None)
        found = trial(best) if best is not None else None
        return Result(found, [trial(r) for r in all_trials], why_done, refused,
                      self.apply(found.point) if found else None)
