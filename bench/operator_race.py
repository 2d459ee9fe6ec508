# SPDX-License-Identifier: Apache-2.0
"""One operator, ours against ONNX Runtime's: one thread, inputs bound beforehand, called in turn in one process."""
import functools
import itertools
import sys
import time
import warnings

import numpy as np

import contest
import operator_rows
from operator_rows.row import Model
from stats import quantile

sys.path.append(str(contest.ROOT / "tests/fuzz_graphs"))
from check import distance  # noqa: E402

SLICE = 8e-3       # seconds of a contender's turn
EMPTY_SLICE = 2e-3
ROUNDS, LEAST = 7, 3
PATIENCE = 2.5     # seconds after which LEAST rounds are enough
LONG = 1e-3        # seconds of a call that needs no other before it, to have its caches
RESOLUTION = 2e-7  # seconds below which calls cannot be told from each other
TOLERANCE = {np.dtype(np.float16): 4e-3, np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-10}  # of the largest element


class Refused(Exception):
    pass


def ours(model, feeds):
    import tilewright as tw
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = tw.compile(model, threads=1, cache=False, shipped_records=False)
    given = [feeds[name] for name, _, _ in module.inputs]
    return lambda: module.run(given)


def theirs(model, feeds):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = {i.name: feeds[i.name] for i in session.get_inputs()}
    return lambda: session.run(None, given)


ENGINES = {"ours": ours, "onnxruntime": theirs}


def ready(engine, model, feeds):
    """(a call, its results), or Refused."""
    try:
        call = ENGINES[engine](model, feeds)
        return call, call()
    except Exception as e:  # noqa: BLE001 -- whatever an engine says
        raise Refused(" ".join(str(e).split())[:300]) from e


@functools.cache
def empty(engine, inputs, outputs):
    """A call of a model with as many inputs, of their types and ranks, and as many outputs, that does next to nothing."""
    model = Model()
    names = [model.input(np.zeros([1] * rank, dtype) if dtype != "object" else np.full([1] * rank, "", object)) for dtype, rank in inputs]
    names = names or [model.constant(np.zeros(1, np.float32))]
    model.outputs = [model.add("Identity", [names[0]]) for _ in range(outputs)]
    return ready(engine, model.proto().SerializeToString(), model.feeds)[0]


def flat(results):
    return [y for x in results for y in flat(x)] if isinstance(results, list) else [results]


def difference(a, b, random):
    """What is not alike in two results: "", a share of the largest element, or words."""
    a, b = flat(list(a)), flat(list(b))
    if len(a) != len(b):
        return f"{len(a)} results instead of {len(b)}"
    worst = 0.0
    for x, y in zip(map(np.asarray, a), map(np.asarray, b)):
        if x.dtype != y.dtype or x.shape != y.shape:
            return f"{x.dtype}{list(x.shape)} instead of {y.dtype}{list(y.shape)}"
        if random:
            continue
        if x.dtype == object:
            worst = max(worst, float(not np.array_equal(x, y)))
        elif not np.array_equal(x, y):
            off = distance(x, y)
            worst = max(worst, off) if off > TOLERANCE.get(x.dtype, 0) else worst
    return f"{worst:.1e}" if worst else ""


def turn(call, seconds, long):
    """Times of calls for some seconds, at least one. Of long ones it is the time that they had the processor: others take it from
    nearly all of them where the machine is not quiet. The clock of that takes too long itself for short ones."""
    clock = time.process_time if long else time.perf_counter
    if not long:
        call()
    times, end = [], time.perf_counter() + seconds
    while True:
        start = clock()
        results = call()
        took = clock() - start
        del results  # its memory is free for the next call
        times.append(took)
        if time.perf_counter() > end:
            return times


def race(calls, effort):
    """Times of each of the calls: {name: (call, seconds of a turn)}."""
    times = {name: turn(call, 0, True) for name, (call, _) in calls.items()}
    long = {name: first[0] > LONG for name, first in times.items()}
    names, start = list(calls), time.perf_counter()
    for number in range(ROUNDS * effort):
        if number >= LEAST * effort and time.perf_counter() - start > PATIENCE * effort:
            break
        for name in names[number % len(names):] + names[:number % len(names)]:
            call, seconds = calls[name]
            times[name] += turn(call, seconds, long[name])
    return {name: quantile(t) for name, t in times.items()}


@functools.cache
def rows():
    return {key(row, size): (row, size) for row, size in operator_rows.all_rows()}


def key(row, size):
    return f"{row.op}|{row.case}|{size.name}"


def described(arrays):
    """Types and shapes; equal ones beside each other as 40 x …"""
    runs = [(text, len(list(same))) for text, same in
            itertools.groupby(f"{a.dtype}{list(a.shape)}".replace(" ", "") for a in arrays)]
    return " ".join(text if count == 1 else f"{count} x {text}" for text, count in runs)


def measure(task):
    """(key of a row, effort): what there is to say of it."""
    row, size = rows()[task[0]]
    model = row.make(size)
    data, feeds = model.proto().SerializeToString(), model.feeds
    out = {"inputs": described(feeds.values()), "refused": {}}
    started = {}
    for engine in ENGINES:
        try:
            started[engine] = ready(engine, data, feeds)
        except Refused as e:
            out["refused"][engine] = str(e)
    if out["refused"]:
        return out
    out["differs"] = difference(started["ours"][1], started["onnxruntime"][1], row.random)
    calls = {engine: (started[engine][0], SLICE) for engine in ENGINES}
    del started
    kinds = tuple((str(a.dtype), a.ndim) for a in feeds.values())
    calls |= {f"{engine} empty": (empty(engine, kinds, len(model.outputs)), EMPTY_SLICE) for engine in ENGINES}
    out["seconds"] = race(calls, task[1])
    return out


def net(row, engine):
    """Seconds without the fixed cost of a call."""
    return max(row["seconds"][engine] - row["seconds"][f"{engine} empty"], RESOLUTION)


def ratio(row):
    """ONNX Runtime's time over ours, None where there is none."""
    return net(row, "onnxruntime") / net(row, "ours") if "seconds" in row else None


def merged(row, again):
    """A row that was measured twice: noise only adds time. What is taken off is of the same moment as what it is taken from."""
    if "seconds" not in row or "seconds" not in again:
        return again
    seconds = {}
    for engine in ENGINES:
        best = min((row, again), key=lambda r: net(r, engine))["seconds"]
        seconds |= {name: best[name] for name in (engine, f"{engine} empty")}
    return again | {"seconds": seconds}
