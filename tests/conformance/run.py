#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the ONNX backend cases of the installed `onnx` package and counts what passes.

    run.py [--engine compiled|reference] [--kinds node,simple,…] [--match REGEX] [--sample N]
           [--jobs N] [--failures] [--json FILE] [--expect FILE | --update]

`--expect` names the list of cases that are known not to pass (tests/conformance/not_passing.txt): another case
that fails, or a listed one that passes, is an error. `--update` writes that list.
"""
import argparse
import collections
import json
import os
import random
import re
import sys
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))
import worker_pool  # noqa: E402 -- lies beside this folder

LIST = Path(__file__).resolve().parent / "not_passing.txt"
KINDS = "node,simple,pytorch-converted,pytorch-operator"
HEADER = """\
# Cases of the ONNX package that do not pass: case, state, reason.
# Made by tests/conformance/run.py --update. Where a result is wrong:
#   bernoulli, training_dropout    random numbers; a model's need not be NumPy's
#   dft_inverse                    0 is 3e-15 here; the case wants NumPy's rounding error of 2e-7, to 1e-7
#   attention_4d_causal_fp16       the case rounds every step to f16; sums are f32 here and nearer to the truth
"""


def cases(kinds):
    """(key, model, [(inputs, outputs)], rtol, atol) of every case that the package carries whole."""
    import onnx
    from onnx.backend.test import loader
    from onnx.backend.test.runner import _normalize_tensor
    for kind in kinds:
        for case in loader.load_model_tests(kind=kind):
            if case.model is not None:
                sets = [([_normalize_tensor(x) for x in ins], [_normalize_tensor(x) for x in outs])
                        for ins, outs in case.data_sets]
                yield f"{kind}/{case.name}", case.model, sets, case.rtol, case.atol
            elif case.model_dir and os.path.exists(os.path.join(case.model_dir, "model.onnx")):
                model = onnx.load(os.path.join(case.model_dir, "model.onnx"))
                sets = []
                while os.path.isdir(folder := os.path.join(case.model_dir, f"test_data_set_{len(sets)}")):
                    sets.append((read_values(folder, "input", model.graph.input),
                                 read_values(folder, "output", model.graph.output)))
                yield f"{kind}/{case.name}", model, sets, case.rtol, case.atol


def read_values(folder, prefix, declared):
    import onnx
    from onnx import numpy_helper
    readers = {"tensor_type": (onnx.TensorProto, numpy_helper.to_array),
               "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
               "optional_type": (onnx.OptionalProto, numpy_helper.to_optional)}
    values = []
    for i, value in enumerate(declared):
        path = os.path.join(folder, f"{prefix}_{i}.pb")
        if not os.path.exists(path):
            break
        proto, read = readers[value.type.WhichOneof("value")]
        message = proto()
        with open(path, "rb") as file:
            message.ParseFromString(file.read())
        values.append(read(message))
    return values


def in_lists(value):
    """A sequence with each tensor in a list of its own: the package's comparison cannot take one of rank 0 alone."""
    return [[x] for x in value] if isinstance(value, list) else value


def run_case(engine, model, sets, rtol, atol):
    """("passed", ""), or what went wrong and why."""
    from onnx.backend.test.runner import Runner
    import tilewright as tw
    stage = "refused"
    try:
        module = tw.compile(model, cache=False) if engine == "compiled" else None
        for inputs, expected in sets:
            stage = "run error"
            got = module.run(list(inputs)) if module else tw.reference(model, inputs)
            stage = "wrong"
            Runner.assert_similar_outputs([in_lists(x) for x in expected], [in_lists(x) for x in got], rtol=rtol, atol=atol)
        return "passed", ""
    except BaseException as e:  # noqa: BLE001 -- every failure is a result here
        return stage, f"{type(e).__name__}: {e}"[:600]


def phrase(why):
    """The line that says most, short."""
    lines = [line.strip() for line in why.splitlines() if re.search("[a-z]", line) and not line.strip().endswith("Error:")]
    telling = [line for line in lines if re.match("Mismatch|.*shapes .* mismatch", line)] or lines
    return re.sub(r"0x[0-9a-f]+", "", telling[0])[:120] if telling else ""


def write_list(path, results, complete):
    """The list of what does not pass; cases that did not run keep their lines."""
    kept = {}
    if not complete and os.path.exists(path):
        with open(path) as file:
            kept = {line.split()[0]: line for line in file if line.strip() and not line.startswith("#")}
    for key, (state, why) in results.items():
        kept.pop(key, None)
        if state != "passed":
            kept[key] = f"{key}  {state}: {phrase(why)}\n"
    with open(path, "w") as file:
        file.write(HEADER)
        file.writelines(kept[key] for key in sorted(kept))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="compiled", choices=["compiled", "reference"])
    parser.add_argument("--kinds", default=KINDS)
    parser.add_argument("--match", default="")
    parser.add_argument("--sample", type=int, help="only so many cases, chosen by a fixed seed")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--failures", action="store_true", help="print each failure")
    parser.add_argument("--json")
    parser.add_argument("--expect")
    parser.add_argument("--update", action="store_true", help=f"write {LIST.name}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    start = time.time()
    table = {key: rest for key, *rest in cases(args.kinds.split(",")) if re.search(args.match, key)}
    keys = list(table)
    if args.sample and args.sample < len(keys):
        keys = sorted(random.Random(1).sample(keys, args.sample))
    results = {}
    for key, result, failure in worker_pool.run(lambda k: run_case(args.engine, *table[k]), keys, args.jobs, args.timeout):
        results[key] = result or tuple(failure.split(": "))
        if sys.stderr.isatty():
            print(f"\r{len(results)}/{len(keys)} {key[:60]:60}", end="", file=sys.stderr)
    per = collections.defaultdict(collections.Counter)
    for key, (state, _) in results.items():
        per[key.split("/")[0]][state] += 1
    for kind, count in per.items():
        print(f"{kind:20} {sum(count.values()):5} cases  " + "  ".join(f"{k} {v}" for k, v in count.most_common()))
    if args.failures:
        for key, (state, why) in sorted(results.items()):
            if state != "passed":
                print(f"  {state:10} {key}  {why.splitlines()[0] if why else ''}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)
    passed = sum(state == "passed" for state, _ in results.values())
    print(f"{passed} of {len(keys)} passed  ({time.time() - start:.0f} s)")
    if args.update:
        write_list(LIST, results, complete=len(keys) == len(table) and not args.match and args.kinds == KINDS)
    if args.expect:
        with open(args.expect) as file:
            known = {line.split()[0] for line in file if line.strip() and not line.startswith("#")}
        worse = [k for k, (state, _) in results.items() if state != "passed" and k not in known]
        better = [k for k, (state, _) in results.items() if state == "passed" and k in known]
        for key in worse:
            print(f"no longer passes: {key}: {results[key]}")
        for key in better:
            print(f"passes now, take it off {args.expect}: {key}")
        sys.exit(1 if worse or better else 0)


if __name__ == "__main__":
    main()
