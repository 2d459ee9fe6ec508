# SPDX-License-Identifier: Apache-2.0
"""What comparing indices with their dimension costs: models of one Gather or Scatter, with the check and without it.

    index_checks.py [--rounds N] [--threads N]      PYTHONPATH=build/release/python

Both modules in turn, in one process; the least time of each, less that of a model that takes the same inputs and reads one
number. The goal is 3 % for rows of 64 elements and more.
"""
import argparse
import time

import numpy as np
from onnx import helper

import tilewright as tw

RNG = np.random.default_rng(0)


def model(nodes, inputs):
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in inputs.items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()


def noise(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def gather(rows, width, count, kind=np.int64):
    shape = (rows, width) if width > 1 else (rows,)
    return "Gather", {}, {"x": noise(*shape), "i": RNG.integers(0, rows, count).astype(kind)}


def cases():
    for width, count in ((64, 100), (64, 10_000), (64, 300_000), (768, 1), (768, 128), (768, 4096)):
        yield (f"Gather, {count} rows of {width}", *gather(30_000, width, count))
    yield ("Gather, 10000 rows of 64, i32", *gather(30_000, 64, 10_000, np.int32))
    pairs = RNG.integers(0, 100, (20_000, 2))
    yield "GatherND, 20000 rows of 64", "GatherND", {}, {"x": noise(100, 100, 64), "i": pairs}
    places = RNG.permutation(20_000)[:, None]
    yield ("ScatterND, 20000 rows of 64", "ScatterND", {},
           {"x": noise(20_000, 64), "i": places, "u": noise(20_000, 64)})
    for count in (1000, 100_000, 4_000_000):
        yield (f"Gather, {count} single elements", *gather(1000, 1, count))
    square, places = noise(1000, 1000), RNG.integers(0, 1000, (1000, 1000))
    yield "GatherElements, 1000 x 1000", "GatherElements", {"axis": 1}, {"x": square, "i": places}
    yield ("ScatterElements, 1000 x 1000", "ScatterElements", {"axis": 1},
           {"x": square, "i": places, "u": noise(1000, 1000)})


def least_times(modules, inputs, rounds):
    best = [float("inf")] * len(modules)
    begin = time.perf_counter()
    modules[0].run(inputs)
    repeats = max(1, int(2e-3 / (time.perf_counter() - begin)))
    for _ in range(rounds):
        for k, module in enumerate(modules):
            begin = time.perf_counter()
            for _ in range(repeats):
                module.run(inputs)
            best[k] = min(best[k], (time.perf_counter() - begin) / repeats)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    print("| case | without, µs | the check, µs | costs |\n|---|---:|---:|---:|")
    for name, op, attributes, inputs in cases():
        text = model([helper.make_node(op, list(inputs), ["y"], **attributes)], inputs)
        empty = model([helper.make_node("Relu", ["one"], ["y"])], {**inputs, "one": noise(1)})
        modules = [tw.compile(text, threads=args.threads), tw.compile(text, threads=args.threads, skip=["check_indices"])]
        call, = least_times([tw.compile(empty, threads=args.threads)], {**inputs, "one": noise(1)}, args.rounds)
        with_check, without = (t - call for t in least_times(modules, inputs, args.rounds))
        print(f"| {name} | {without * 1e6:.2f} | {(with_check - without) * 1e6:.2f} | {with_check / without - 1:.1%} |", flush=True)


if __name__ == "__main__":
    main()
