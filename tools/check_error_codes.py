#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the codes of diagnostics: form layer.thing.detail, and listed in docs/errors.md. Those that may refuse a model have a
verdict in docs/refusals.md, which is written by hand.

  check_error_codes.py            report problems, exit 1 if there are any
  check_error_codes.py --update   rewrite the list; explanations already written are kept
"""
import re
import sys
from pathlib import Path

from check_layers import LAYERS, ROOT

PAGE = ROOT / "docs" / "errors.md"
VERDICTS = ROOT / "docs" / "refusals.md"
VERDICT = re.compile(r"^\| `([^`]+)` \| (checker|spec|file|text|api|limit|work) \| .+ \|$", re.M)
REFUSING = ("frontend", "graph", "ops")
INTRO = """# Error codes

Every mistake that Tilewright reports carries a stable code, `layer.thing.detail`. The list is kept complete
by `tools/check_error_codes.py --update`, which adds new codes and drops dead ones; the explanations are
written by hand.
"""
COMMENT = re.compile(r"^\s*//.*$|\s//\s.*$", re.M)
ASSIGNED = re.compile(r'\.code\s*=\s*"([^"]*)"')
NAMES = [*LAYERS, "python"]
LITERAL = re.compile(rf'"((?:{"|".join(NAMES)})\.[a-z0-9_]+\.[a-z0-9_]+)"')
FORM = re.compile(rf'(?:{"|".join(NAMES)})\.[a-z0-9_]+\.[a-z0-9_]+')
ENTRY = re.compile(r"^- `([^`]+)`: (.*)$", re.M)


def codes_in_source():
    """{code: first file that mentions it}; a code handed to a helper counts by its form."""
    found = {}
    for folder in ("src", "cli", "python"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".h", ".cpp", ".py"):
                text = COMMENT.sub("", file.read_text())
                for code in ASSIGNED.findall(text) + LITERAL.findall(text):
                    found.setdefault(code, file.relative_to(ROOT).as_posix())
    return found


def page_for(codes, explained):
    lines, layer = [INTRO], None
    for code in sorted(codes):
        if code.split(".")[0] != layer:
            layer = code.split(".")[0]
            lines.append(f"{'' if len(lines) == 1 else chr(10)}## {layer}\n")
        lines.append(f"- `{code}`: {explained.get(code, f'see `{codes[code]}`')}")
    return "\n".join(lines).rstrip() + "\n"


def without_verdict(codes):
    judged = [code for code, _ in VERDICT.findall(VERDICTS.read_text())]
    refusing = {code for code in codes if code.split(".")[0] in REFUSING}
    return ([f"{codes[c]}: code \"{c}\" has no verdict in docs/refusals.md: may a valid model meet it?" for c in sorted(refusing - set(judged))] +
            [f"docs/refusals.md: code \"{c}\" is no longer used" for c in sorted(set(judged) - refusing)] +
            [f"docs/refusals.md: code \"{c}\" has two verdicts" for c in sorted({c for c in judged if judged.count(c) > 1})])


def main():
    codes = codes_in_source()
    explained = dict(ENTRY.findall(PAGE.read_text())) if PAGE.exists() else {}
    problems = [f"{file}: code \"{code}\" is not of the form layer.thing.detail"
                for code, file in codes.items() if not FORM.fullmatch(code)]
    if "--update" in sys.argv[1:]:
        PAGE.write_text(page_for(codes, explained))
    else:
        problems += [f"{codes[c]}: code \"{c}\" is missing in docs/errors.md (run with --update)"
                     for c in sorted(codes.keys() - explained.keys())]
        problems += [f"docs/errors.md: code \"{c}\" is no longer used (run with --update)"
                     for c in sorted(explained.keys() - codes.keys())]
    problems += without_verdict(codes)
    print("\n".join(problems + [f"error codes: {len(codes)}, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
