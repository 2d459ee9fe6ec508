# SPDX-License-Identifier: Apache-2.0
"""Operators that once fell behind ONNX Runtime by a factor: one thread, static shapes, whole calls in turn in one process.

    cliffs.py [--only TEXT] [--rounds N] [--json FILE]      PYTHONPATH=build/release/python

The ratio is ONNX Runtime's time over ours, of the least time of each. What a call costs by itself is taken off both: the
time of a model that takes the same inputs and reads one number. Where less than a tenth of a call is left, that tenth stands
for it, and the ratio, marked ~, says little.
"""
import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tilewright as tw  # noqa: E402
from stats import geomean  # noqa: E402

GOAL = 0.9  # a case below it is marked
RNG = np.random.default_rng(0)


def noise(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def node(op, inputs, output="y", **attrs):
    return helper.make_node(op, inputs, [output], **attrs)


def case(nodes, inputs, constants=(), outputs=("y",)):
    """(model, inputs): `inputs` and `constants` are arrays by name; types of the outputs are left to inference."""
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in inputs.items()]
    weights = [numpy_helper.from_array(v, k) for k, v in dict(constants).items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_empty_tensor_value_info(o) for o in outputs], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return model.SerializeToString(), inputs


def empty_like(inputs):
    return case([node("Relu", ["one"])], {**inputs, "one": noise(1)})


def concat(count, axis=1):
    inputs = {f"x{i}": noise(64, 33) for i in range(count)}
    return case([node("Concat", list(inputs), axis=axis)], inputs)


def branches(count):
    """Each input through a function of its own kind, then all in one."""
    inputs = {f"x{i}": noise(64, 32) for i in range(count)}
    nodes = [node(("Sin", "Cos", "Neg")[i % 3], [x], f"b{i}") for i, x in enumerate(inputs)]
    return case([*nodes, node("Concat", [f"b{i}" for i in range(count)], axis=1)], inputs)


def arg(shape, axis, op="ArgMax"):
    return case([node(op, ["x"], axis=axis, keepdims=0)], {"x": noise(*shape)})


def flattened(shape):
    return case([node("Reshape", ["x", "all"], "flat"), node("ArgMax", ["flat"], axis=0, keepdims=0)], {"x": noise(*shape)},
                {"all": np.array([-1])})


def pad(mode, by=20):
    return case([node("Pad", ["x", "by"], mode=mode)], {"x": noise(1, 16, 200, 200)}, {"by": np.array([0, 0, by, by] * 2)})


def tile():
    return case([node("Tile", ["x", "times"])], {"x": noise(300, 300)}, {"times": np.array([10, 10])})


def scatter_nd(rows=20000, width=64):
    places = RNG.permutation(rows)[:, None]
    return case([node("ScatterND", ["x", "i", "u"])], {"x": noise(rows, width), "i": places, "u": noise(rows, width)})


def top_k(shape, k, axis=-1):
    return case([helper.make_node("TopK", ["x", "k"], ["y", "i"], axis=axis)], {"x": noise(*shape)}, {"k": np.array([k])},
                ("y", "i"))


CASES = {
    **{f"Concat {n} of [64,33], axis 1": (lambda n=n: concat(n)) for n in (2, 3, 8, 32, 64, 128, 256, 512)},
    "Concat 64 of [64,33], axis 0": lambda: concat(64, 0),
    "Concat 500 of sin, cos, neg": lambda: branches(500),
    "ArgMax [2000,1000], last axis": lambda: arg((2000, 1000), 1),
    "ArgMin [2000,1000], last axis": lambda: arg((2000, 1000), 1, "ArgMin"),
    "ArgMax [2000,1000], first axis": lambda: arg((2000, 1000), 0),
    "ArgMax [1,50257]": lambda: arg((1, 50257), 1),
    "ArgMax of all [2000,1000]": lambda: flattened((2000, 1000)),
    **{f"Pad {mode} [1,16,200,200] by 20": (lambda mode=mode: pad(mode)) for mode in ("constant", "reflect", "edge", "wrap")},
    "Tile 10x10 of [300,300]": tile,
    "ScatterND 20000 rows of 64": scatter_nd,
    "Sort 1 M in a row": lambda: top_k((1_000_000,), 1_000_000),
    "TopK 5 of [100,50000]": lambda: top_k((100, 50000), 5),
}


def sessions(model, inputs):
    """Calls of both engines."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    peer = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    start = time.perf_counter()
    module = tw.compile(model, threads=1, cache=False)
    seconds = time.perf_counter() - start
    given = [inputs[name] for name, _, _ in module.inputs]
    return lambda: module.run(given), lambda: peer.run(None, inputs), seconds


def least_times(calls, rounds, seconds=0.05):
    """The least time of a call of each, in turn."""
    least = [1e9] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            end = time.perf_counter() + seconds
            while True:
                start = time.perf_counter()
                call()
                now = time.perf_counter()
                least[i] = min(least[i], now - start)
                if now > end:
                    break
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="results go to this file, too")
    args = parser.parse_args()
    rows = []
    for name, make in CASES.items():
        if args.only not in name:
            continue
        model, inputs = make()
        ours, peer, compile_s = sessions(model, inputs)
        our_empty, peer_empty, _ = sessions(*empty_like(inputs))
        for a, b in zip(ours(), peer()):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-5, atol=1e-6)
        a, b, *empty = least_times([ours, peer, our_empty, peer_empty], args.rounds)
        unsure = any(e > 0.9 * t for t, e in zip((a, b), empty))
        a, b = (t - min(e, 0.9 * t) for t, e in zip((a, b), empty))
        rows.append({"case": name, "ours_ms": a * 1e3, "onnxruntime_ms": b * 1e3, "ratio": b / a, "compile_s": compile_s, "unsure": unsure})
        print(f"{name:34s} {a * 1e6:11.2f} {b * 1e6:11.2f} us {'~' if unsure else ' '}{b / a:6.2f}x   compiled in {compile_s:5.2f} s{'' if b / a >= GOAL else '  <'}",
              flush=True)
    print(f"geometric mean {geomean([r['ratio'] for r in rows]):.2f}x, {sum(r['ratio'] < GOAL for r in rows)} below {GOAL}x")
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
