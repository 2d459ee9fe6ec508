#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/steps.md and python/tilewright/_steps.py from the catalogue of steps in src/schedule/steps.h.

  steps_doc.py            fail when one of them is out of date
  steps_doc.py --update   write them
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = ROOT / "src/schedule/steps.h"
SCHEDULE = ROOT / "src/schedule/schedule.h"
PAGE = ROOT / "docs/steps.md"
MODULE = ROOT / "python/tilewright/_steps.py"

INTRO = """# The schedule steps

Made by `tools/steps_doc.py` from [src/schedule/steps.h](../src/schedule/steps.h). A step is one line of a trace:
`%results = name arguments`. `%x` names a loop or block, `$d` a decision, `?` a number that the step works out. A step
proves its own legality from the blocks' regions, or refuses and says which dependence or region forbids it.

"""
MODULE_INTRO = '''# SPDX-License-Identifier: Apache-2.0
# Made by tools/steps_doc.py from src/schedule/steps.h and schedule.h.
"""The steps of a schedule as methods: each writes its line of the trace, and gives handles for its results."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, Union

from ._step_text import (AnyRef, Block, BlockRef, Loop, Number, any_text, block_text, hint_text, layout_text, loop_text,
                         map_text, number_text, string_text, word_text)

Target = TypeVar("Target", Loop, Block)


class Steps:
    def _run(self, step: str, *arguments) -> list[str]:
        raise NotImplementedError
'''
STEP = re.compile(r"((?:^///[^\n]*\n)+)struct (\w+) \{\n(.*?)^\};", re.M | re.S)
FIELD = re.compile(r"^  ((?:std::|ir::)?[\w:<>]+) ((?:\w+(?:\{\})?(?:, )?)+);", re.M)
# Of a field: how Python annotates it, and the function of _step_text.py that writes it.
PYTHON = {"LoopRef": ("Loop", "loop_text"), "BlockRef": ("BlockRef", "block_text"), "AnyRef": ("AnyRef", "any_text"),
          "Number": ("Number", "number_text"), "std::string": ("str", "string_text"),
          "HintValue": ("Union[Number, str]", "hint_text"), "ir::ThreadAxis": ("str", "word_text"),
          "ir::Scope": ("str", "word_text"), "Overlap": ("str", "word_text"), "Workers": ("str", "word_text"),
          "IndexMap": ("Callable[..., object]", "map_text"), "ir::Layout": ("str", "layout_text")}
OPTIONAL = "std::optional<"
DEFAULTS = {"Overlap": '"sync"', "Workers": '"parallel"'}


class Step:
    def __init__(self, comment, body):
        self.name = re.search(r'name = "(\w+)"', body).group(1)
        self.fields = [(kind, n.replace("{}", "")) for kind, names in FIELD.findall(body) for n in names.split(", ")]
        lines = [line[3:].removeprefix(" ") for line in comment.splitlines()]
        self.code = [l for l in lines if re.match(r"for |alloc |block |  ", l) and ". " not in l]
        self.prose = " ".join(l for l in lines if l not in self.code)
        self.lines = lines


def argument(kind, name):
    """How a field is written in a trace."""
    if kind.startswith(OPTIONAL):
        return f"({argument(kind[len(OPTIONAL):-1], name)})"
    if kind.startswith("std::vector<"):
        return f"[{argument(kind[len('std::vector<'):-1], name)}, …]"
    return {"LoopRef": f"%{name}", "BlockRef": f"%{name}", "AnyRef": f"%{name}", "std::string": f'"{name}"'}.get(kind, name)


def entry(step):
    out = [f"## {step.name}", "", f"`{step.name} {' '.join(argument(*f) for f in step.fields)}`", ""]
    if step.code:
        out += ["```", *step.code, "```", ""]
    return "\n".join(out + [step.prose, ""])


def parameter(kind, name):
    if kind.startswith(OPTIONAL):
        return f"{parameter(kind[len(OPTIONAL):-1], name)} | None = None"
    if kind.startswith("std::vector<"):
        kind = PYTHON[kind[len("std::vector<"):-1]][0]
        return f"{name}: Sequence[{kind}]"
    return f"{name}: {PYTHON[kind][0]}" + (f" = {DEFAULTS[kind]}" if kind in DEFAULTS else "")


def written(kind, name):
    if kind.startswith(OPTIONAL):
        return f"*([] if {name} is None else [{written(kind[len(OPTIONAL):-1], name)}])"
    if kind.startswith("std::vector<"):
        return f"[{written(kind[len('std::vector<'):-1], 'x')} for x in {name}]"
    return f"{PYTHON[kind][1]}(self, {name})"


def method(step, results):
    """`results` are the return types that schedule.h has for the step."""
    call = ", ".join([f'"{step.name}"', *(written(*f) for f in step.fields)])
    kind = "Loop" if "LoopRef" in results[0] else "Block"
    if results == ["void"]:
        gives, body = "None", f"self._run({call})"
    elif len(results) > 1:  # of the kind of its target
        gives, body = "list[Target]", f"return [type({step.fields[0][1]})(self, r) for r in self._run({call})]"
    elif results[0] in ("LoopRef", "BlockRef"):
        gives, body = kind, f"return {kind}(self, self._run({call})[0])"
    else:
        gives, body = f"list[{kind}]", f"return [{kind}(self, r) for r in self._run({call})]"
    parameters = ", ".join(["self", *(parameter(*f) for f in step.fields)])
    if len(results) > 1:
        parameters = parameters.replace(": AnyRef", ": Target")
    doc = ['        """' + step.lines[0], *("        " + l if l else "" for l in step.lines[1:])]
    return "\n".join([f"    def {step.name}({parameters}) -> {gives}:", *doc, '        """', f"        {body}"])


def results_of(step, schedule):
    """The return types of the step's methods in schedule.h, each once."""
    types = re.findall(r"^  (std::vector<\w+>|std::array<\w+, \d>|\w+) " + step.name + r"\(", schedule, re.M)
    return list(dict.fromkeys(types))


def outputs():
    text = HEADER.read_text()
    steps = [Step(c, b) for c, _, b in STEP.findall(text) if 'name = "' in b]
    schedule = SCHEDULE.read_text()
    methods = "\n\n".join(method(s, results_of(s, schedule)) for s in steps)
    return {PAGE: INTRO + "\n".join(map(entry, steps)), MODULE: MODULE_INTRO + "\n" + methods + "\n"}


def main():
    for path, now in outputs().items():
        if "--update" in sys.argv:
            path.write_text(now)
        elif not path.exists() or path.read_text() != now:
            sys.exit(f"{path.relative_to(ROOT)} is out of date: run tools/steps_doc.py --update")


main()
