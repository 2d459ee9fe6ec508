# SPDX-License-Identifier: Apache-2.0
"""A model with free dimensions on one number of threads: our module for all sizes, ours for each size, and the peers with the same
free model. Each is one process, with the model loaded once; the rounds of a size are interleaved, and on disk as those of race.py.
"""
import shutil
import sys

import contest
import race
import reference
import zoo_dynamic
from stats import interval, net

# Contenders, and the engine of dynamic_worker.py that each is.
FREE, FIXED = "tilewright", "tilewright fixed"
ENGINES = {FREE: "tilewright", FIXED: "fixed", "onnxruntime": "onnxruntime", "openvino": "openvino"}
SLICE = 0.06  # seconds: there are many sizes
# Differences, as shares of the largest value of an output: beyond CLOSE to ONNX Runtime f64 is asked, beyond WRONG results are wrong.
CLOSE, WRONG = 1e-4, 1e-3


def contenders(sizes, chosen):
    """A model without free dimensions has no other module for its size."""
    return [n for n in ENGINES if n.split()[0] in chosen and (n != FIXED or list(sizes) != ["fixed"])]


def run(name, threads, chosen, rounds, progress):
    """A row for each size."""
    model, sizes = zoo_dynamic.make(name), zoo_dynamic.sizes(name)
    names = contenders(sizes, chosen)
    key = {"model": race.stamp(model), "compiler": race.compiler(), "versions": race.versions(), "contenders": names}
    states = {s: race.Rounds(f"dynamic-{name}-{s}-{threads}", key | {"size": sizes[s]}) for s in sizes}
    if not all(state.done(rounds) for state in states.values()):
        play(model, threads, names, rounds, states, progress)
    return {s: race.row(state, rounds) for s, state in states.items()}


def play(model, threads, names, rounds, states, progress):
    outputs = race.BUILD / "outputs"
    shutil.rmtree(outputs, ignore_errors=True)
    outputs.mkdir(parents=True)
    workers, probe = {}, contest.fma_worker(threads)
    try:
        for name in names:
            progress(f"{name} loads")
            workers[name] = start(name, model, list(states), threads, outputs)
        for size, state in states.items():
            told = {n: facts_at(w, size) for n, w in workers.items()}
            if missing := [n for n in names if n not in state.facts]:
                compare(model, size, told, outputs)
                for n in missing:
                    state.tell(n, told[n])
            parts = {n: contest.Part(w, size, SLICE) for n, w in workers.items()
                     if not told[n].get("refusal") and not state.facts[n].get("refusal") and n not in state.left}
            if not state.done(rounds):
                for p in parts.values():
                    p.ask(f"0 {size}")  # some calls that do not count
                race.play_rounds(parts, probe, rounds, state, lambda step: progress(f"{size} {step}"))
    finally:
        for w in [*workers.values(), probe]:
            w.close()


def start(name, model, sizes, threads, outputs):
    logs = race.BUILD / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, contest.ROOT / "bench/dynamic_worker.py", ENGINES[name], model, *sizes, "--threads", threads, "--outputs", outputs]
    with open(logs / f"{model.stem}-{ENGINES[name]}-dynamic-{threads}.log", "w") as log:
        return contest.Worker(command, race.environment(name, "f32", threads), log)


def facts_at(worker, size):
    if not worker.ready:
        return {"refusal": worker.refusal}
    return worker.facts["all"] | worker.facts["sizes"][size]


def compare(model, size, told, outputs):
    """Adds everyone's difference: from ONNX Runtime, or from f64 where anyone is not close and our compiler takes the model in f64."""
    results = {n: outputs / f"{ENGINES[n]}@{size}.npz" for n, facts in told.items() if not facts.get("refusal")}
    if "onnxruntime" not in results:
        return
    differences = {n: reference.difference(path, results["onnxruntime"]) for n, path in results.items()}
    truth, whose = None, "onnxruntime"
    if not all(d <= CLOSE for d in differences.values()):
        truth = race.reference_of(model, zoo_dynamic.inputs_path(model, size))
    if truth:
        differences, whose = {n: reference.difference(path, truth) for n, path in results.items()}, "f64"
    for n, d in differences.items():
        told[n] |= {"difference": d, "from": whose}


def judge(row, empty):
    """Adds how much slower the free module is than the fixed one, the best peer, and the ratio to it; `empty` has the times of an
    empty model by engine. A row does not count in means when most of someone's time is that of the call itself."""
    raw, all_ = row.pop("raw"), row["contenders"]
    for n, c in all_.items():
        c["subtracted"] = c["p20"] - net(c["p20"], empty.get(n.split()[0], 0.0))
    time_of = lambda n: all_[n]["p20"] - all_[n]["subtracted"]
    row["wrong"] = wrong = [n for n in raw if not all_[n].get("difference", 0.0) <= WRONG]
    right = [n for n in raw if n not in wrong]
    row["counts"] = all(time_of(n) > 0.5 * all_[n]["p20"] for n in right)

    def compared(ours, other):
        return {"ratio": time_of(other) / time_of(ours),
                "interval": interval(raw[ours], raw[other], (all_[ours]["subtracted"], all_[other]["subtracted"]))}
    if FREE in right and FIXED in right:
        row["slower"] = compared(FIXED, FREE)
    peers = [n for n in right if not race.is_ours(n)]
    if FREE in right and peers:
        best = min(peers, key=time_of)
        row["faster"] = compared(FREE, best) | {"peer": best}
    return row
