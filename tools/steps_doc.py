#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/steps.md from the catalogue of steps in src/schedule/steps.h.

  steps_doc.py            fail when the page is out of date
  steps_doc.py --update   write it
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = ROOT / "src/schedule/steps.h"
PAGE = ROOT / "docs/steps.md"

INTRO = """# The schedule steps

Made by `tools/steps_doc.py` from [src/schedule/steps.h](../src/schedule/steps.h). A step is one line of a trace:
`%results = name arguments`. `%x` names a loop or block, `$d` a decision, `?` a number that the step works out. A step
proves its own legality from the blocks' regions, or refuses and says which dependence or region forbids it.

"""
STEP = re.compile(r"((?:^///[^\n]*\n)+)struct (\w+) \{\n(.*?)^\};", re.M | re.S)


def argument(kind, name):
    """How a field is written in a trace."""
    if kind.startswith("std::vector<"):
        return f"[{argument(kind[len('std::vector<'):-1], name)}, …]"
    return {"LoopRef": f"%{name}", "BlockRef": f"%{name}", "AnyRef": f"%{name}", "std::string": f'"{name}"'}.get(kind, name)


def entry(comment, body):
    name = re.search(r'name = "(\w+)"', body).group(1)
    fields = re.findall(r"^  ((?:std::|ir::)?[\w:<>]+) ((?:\w+(?:\{\})?(?:, )?)+);", body, re.M)
    arguments = [argument(kind, n.replace("{}", "")) for kind, names in fields for n in names.split(", ")]
    lines = [line[3:].removeprefix(" ") for line in comment.splitlines()]
    code = [l for l in lines if re.match(r"for |alloc |block |  ", l) and ". " not in l]
    prose = [l for l in lines if l not in code]
    out = [f"## {name}", "", f"`{name} {' '.join(arguments)}`", ""]
    if code:
        out += ["```", *code, "```", ""]
    out += [" ".join(prose), ""]
    return "\n".join(out)


def page():
    text = HEADER.read_text()
    return INTRO + "\n".join(entry(c, b) for c, _, b in STEP.findall(text) if 'name = "' in b)


def main():
    now = page()
    if "--update" in sys.argv:
        PAGE.write_text(now)
    elif not PAGE.exists() or PAGE.read_text() != now:
        sys.exit("docs/steps.md is out of date: run tools/steps_doc.py --update")


main()
