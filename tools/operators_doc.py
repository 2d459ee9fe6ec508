#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/operators.md from the compiler's table of operators, ONNX's schemas and its test cases.

  PYTHONPATH=build/release/python .venv/bin/python tools/operators_doc.py            fail when the page is out of date
  PYTHONPATH=build/release/python .venv/bin/python tools/operators_doc.py --update   write it
"""
import collections
import sys
from pathlib import Path

from onnx import defs

from tilewright import _native

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/operators.md"
OLDEST = 7  # of the default domain
DOMAINS = {"": "ONNX's default domain", "ai.onnx.ml": "ai.onnx.ml", "ai.onnx.preview": "ai.onnx.preview",
           "ai.onnx.preview.training": "ai.onnx.preview.training", "com.microsoft": "com.microsoft"}

INTRO = """# Operators

Made by `tools/operators_doc.py` from the table of operators ([src/ops/all.cpp](../src/ops/all.cpp)).

- **versions**: the operator's versions that are taken, of those that opsets from 7 on have. A version that is missing is
  named in bold.
- **becomes**: the operator of ours whose file holds the rule; most rules compose it with others. "composed" stands for
  rules that only use other operators.
- **form**: `te` is a tensor expression, which fuses with its neighbours and is scheduled (fast); `loops` is a loop
  program of its own (fast where it is parallel, else slow); `host` is a function of the runtime (slow); `view` moves
  nothing; `control` is run by the plan. Operators of ONNX that are functions and have no rule are expanded into their body.
- **cases**: cases in the onnx package that use the operator; [not_passing.txt](../tests/conformance/not_passing.txt) lists
  those that do not pass.

"""


def test_cases():
    """{(domain, operator): number of cases}"""
    sys.path.insert(0, str(ROOT / "tests/conformance"))
    import run
    count = collections.Counter()
    for _, model, _, _, _ in run.cases(run.KINDS.split(",")):
        domains = {d.domain if d.domain != "ai.onnx" else "" for d in model.opset_import}
        count.update({(n.domain, n.op_type) for n in model.graph.node if n.domain in domains})
    return count


def schemas():
    """{(domain, operator): versions that an opset from OLDEST on has, [is a function]}"""
    versions = collections.defaultdict(set)
    functions = set()
    for schema in defs.get_all_schemas_with_history():
        if schema.deprecated:
            continue
        versions[schema.domain, schema.name].add(schema.since_version)
        if schema.has_function or schema.has_context_dependent_function:
            functions.add((schema.domain, schema.name))
    for (domain, name), found in versions.items():
        if domain == "":
            old = [v for v in found if v <= OLDEST]
            versions[domain, name] = {v for v in found if v > OLDEST} | ({max(old)} if old else set())
    return versions, functions


# Where implementations differ, what ours does.
NUMBERS = """## Numbers where implementations differ

Where the standard's text is silent, or ONNX's reference evaluator does not do what it says, the numbers are those of PyTorch and ONNX Runtime.

| operator | case | what is computed |
|---|---|---|
| Resize | `nearest` | positions in f32; with `round_prefer_*`, a position within 1e-5 of the middle of two elements lies in the middle. `half_pixel_symmetric` with `floor` or `ceil` may take the neighbour of ONNX Runtime's element where a position is a whole number but for the last bit |
| Resize | `align_corners` with a fractional scale | corners are those of the whole result, as the text says. From opset 19 on, an axis that shrinks in `linear` or `cubic` mode of a node without `nearest_mode` (exporters write it always) takes the length before rounding, as ONNX's own cases do |
| Resize | `tf_crop_and_resize` with scales | the length of the result, not that before rounding |
| Resize | `pytorch_half_pixel`, result of length 1 | position 0, as the text says |
| GridSample | `cubic` with `border` | border elements stand for those outside; the position is not moved to the border first |
| Gather, GatherElements, GatherND, ScatterElements, ScatterND | an index out of range | an error of the run that names the node and the index. `--skip check_indices` leaves the check out: then the nearest element is read, and nothing is written |
| Slice | a list of starts whose length only the run tells | has as many elements as the other lists, or one; another length is an error of the run |

"""


def page():
    rules = collections.defaultdict(list)
    for domain, op, first, last, own, form in _native.onnx_rules():
        rules[domain, op].append((first, last, own, form))
    versions, functions = schemas()
    cases = test_cases()
    text = INTRO
    for domain, title in DOMAINS.items():
        keys = sorted({k for k in [*versions, *rules] if k[0] == domain})
        if not keys:
            continue
        there = sum(k in rules or k in functions for k in keys)
        text += f"## {title}: {there} of {len(keys)}\n\n| operator | versions | becomes | form | cases |\n|---|---|---|---|---|\n"
        for key in keys:
            have = rules.get(key, [])
            shown = []
            for v in sorted(versions.get(key, {1})):
                known = any(first <= max(v, OLDEST if domain == "" else v) <= last for first, last, _, _ in have)
                shown.append(str(v) if known or key in functions else f"**{v}**")
            owners = list(dict.fromkeys(f"`{own}`" if own else "composed" for _, _, own, _ in have))
            forms = list(dict.fromkeys(form for _, _, _, form in have if form))
            becomes = ", ".join(owners) or ("its body" if key in functions else "**not there**")
            text += f"| {key[1]} | {' '.join(shown)} | {becomes} | {', '.join(forms)} | {cases.get(key, 0)} |\n"
        text += "\n"
    return text + NUMBERS.rstrip("\n") + "\n"


def main():
    now = page()
    if "--update" in sys.argv:
        PAGE.write_text(now)
    elif not PAGE.exists() or PAGE.read_text() != now:
        sys.exit("docs/operators.md is out of date: run tools/operators_doc.py --update as its head says")


main()
