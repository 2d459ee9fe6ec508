#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the ONNX backend cases of the installed `onnx` package and counts what passes.

    run.py [--engine compiled|reference] [--kinds node,simple,…] [--match REGEX] [--sample N]
           [--failures] [--json FILE] [--expect FILE]

Cases run in worker processes, so that a crash or a hang fails one case alone. `--expect` names the list of
cases that are known not to pass (tests/conformance/not_passing.txt): another case that fails, or a listed one
that passes, is an error.
"""
import argparse
import collections
import json
import multiprocessing as mp
import os
import random
import re
import sys
import time
import warnings

warnings.filterwarnings("ignore")
KINDS = "node,simple,pytorch-converted,pytorch-operator"


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


def work(engine, kinds, inbox, outbox):
    from onnx.backend.test.runner import Runner
    import tilewright as tw
    table = {key: rest for key, *rest in cases(kinds)}
    outbox.put("ready")
    while (key := inbox.get()) is not None:
        model, sets, rtol, atol = table[key]
        stage = "refused"
        try:
            module = tw.compile(model) if engine == "compiled" else None
            for inputs, expected in sets:
                stage = "run error"
                got = module.run(list(inputs)) if module else tw.reference(model, inputs)
                stage = "wrong"
                Runner.assert_similar_outputs(expected, list(got), rtol=rtol, atol=atol)
            outbox.put(("passed", ""))
        except BaseException as e:  # noqa: BLE001 -- every failure is a result here
            outbox.put((stage, f"{type(e).__name__}: {e}"[:600]))


class Worker:
    def __init__(self, context, engine, kinds):
        self.inbox, self.outbox = context.Queue(), context.Queue()
        self.process = context.Process(target=work, args=(engine, kinds, self.inbox, self.outbox), daemon=True)
        self.process.start()
        self.outbox.get(timeout=600)

    def run(self, key, timeout):
        self.inbox.put(key)
        end = time.time() + timeout
        while time.time() < end:
            try:
                return self.outbox.get(timeout=0.1)
            except Exception:  # noqa: BLE001 -- the queue is empty
                if not self.process.is_alive() and self.outbox.empty():
                    return "crash", ""
        return "hang", ""

    def stop(self):
        self.process.kill()
        self.process.join()


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
    args = parser.parse_args()
    kinds = args.kinds.split(",")
    keys = [key for key, *_ in cases(kinds) if re.search(args.match, key)]
    if args.sample and args.sample < len(keys):
        keys = sorted(random.Random(1).sample(keys, args.sample))
    context, worker, results, start = mp.get_context("spawn"), None, {}, time.time()
    for n, key in enumerate(keys):
        worker = worker or Worker(context, args.engine, kinds)
        results[key] = worker.run(key, args.timeout)
        if results[key][0] in ("crash", "hang"):
            worker.stop()
            worker = None
        if sys.stderr.isatty():
            print(f"\r{n + 1}/{len(keys)} {key[:60]:60}", end="", file=sys.stderr)
    if worker:
        worker.stop()
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
