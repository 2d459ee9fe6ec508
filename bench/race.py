# SPDX-License-Identifier: Apache-2.0
"""One model on one number of threads: all engines, one process each, in interleaved rounds.

Every round is written down at once (build/bench/rounds), so that a run that was stopped goes on where it was, unless the
compiler, the model or the list of contenders has changed.
"""
import json
import os
import subprocess
import sys
import time
from importlib import metadata

import contest
import reference
import zoo
from stats import describe, interval, net, pooled, quantile

BUILD = contest.ROOT / "build/bench"
# A peer this many times slower than the fastest one after two rounds will not be the best of them, and leaves.
HOPELESS = 3
#                engine and precision; with reduced precision allowed, nobody has to use it
TABLES = {"f32": [("tilewright", "f32"), ("onnxruntime", "f32"), ("openvino", "f32"), ("torch_compile", "f32"), ("iree", "f32"),
                  ("tvm", "f32"), ("tvm_tuned", "f32")],
          "bf16": [("tilewright", "bf16"), ("onnxruntime", "f32"), ("openvino", "f32"), ("openvino", "bf16"),
                   ("torch_compile", "f32"), ("torch_compile", "bf16")]}
WHEELS = {"onnxruntime": "onnxruntime", "openvino": "openvino", "torch_compile": "torch", "iree": "iree-base-compiler",
          "tvm": "apache-tvm", "tvm_tuned": "apache-tvm"}


def label(engine, precision):
    return engine if precision == "f32" else f"{engine} {precision}"


def is_ours(name):
    return name.split()[0] == "tilewright"


def versions():
    out = {}
    for engine, wheel in WHEELS.items():
        try:
            out[engine] = metadata.version(wheel)
        except metadata.PackageNotFoundError:
            out[engine] = None
    return out


def environment(engine, precision, threads):
    """For a guest that offers AMX but leaves CPUID's leaf 0x1D empty, which oneDNN does not survive: see cpuid_amx.c."""
    env = contest.threads_env(threads) | {"PYTHONPATH": str(contest.ROOT / "build/release/python"), "HF_HUB_OFFLINE": "1"}
    if precision == "bf16" and engine != "tilewright" and "amx_bf16" in open("/proc/cpuinfo").read():
        shim = BUILD / "cpuid_amx.so"
        if not shim.exists():
            BUILD.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", contest.ROOT / "bench/cpuid_amx.c", "-o", shim], check=True)
        env["LD_PRELOAD"] = str(shim)
    return env


def start(engine, precision, model, threads, outputs=None):
    logs = BUILD / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, contest.ROOT / "bench/model_worker.py", engine, model, "--threads", threads, "--precision",
               precision, *(["--outputs", outputs] if outputs else [])]
    with open(logs / f"{model.stem}-{engine}-{precision}-{threads}.log", "w") as log:
        return contest.Worker(command, environment(engine, precision, threads), log)


class Rounds:
    """Rounds played so far, on disk."""

    def __init__(self, name, key):
        self.path = BUILD / "rounds" / f"{name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self.path.read_text() if self.path.exists() else ""
        text = text[:text.rfind("\n") + 1]  # the last line may have been cut off
        lines = [json.loads(line) for line in text.splitlines()]
        if not lines or lines[0] != {"key": key}:
            lines, text = [], json.dumps({"key": key}) + "\n"
        self.path.write_text(text)
        self.played = [(r["times"], r["moved"]) for r in lines[1:] if "times" in r]
        self.facts = {n: f for r in lines[1:] for n, f in r.get("facts", {}).items()}
        self.left = {r["left"] for r in lines[1:] if "left" in r}

    def write(self, **line):
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")

    def add(self, times, moved):
        self.played.append((times, moved))
        self.write(times=times, moved=moved)

    def tell(self, name, facts):
        self.facts[name] = facts
        self.write(facts={name: facts})

    def leave(self, name):
        self.left.add(name)
        self.write(left=name)

    def quiet(self):
        return sum(not moved for _, moved in self.played)

    def done(self, wanted):
        return self.quiet() >= wanted or len(self.played) >= 2 * wanted


def contenders(table, chosen):
    return [(engine, precision) for engine, precision in TABLES[table] if engine in chosen]


def stamp(path):
    return [path.stat().st_size, int(path.stat().st_mtime)]


def compiler():
    return stamp(contest.ROOT / "build/release/tilewright")


def key_of(model, table, chosen):
    return {"model": stamp(model), "compiler": compiler(), "versions": versions(),
            "contenders": [label(*c) for c in contenders(table, chosen)]}


def reference_of(model, inputs=None):
    """The outputs in f64, or None where our compiler does not take the widened model; for other inputs than MODEL.npz, if wanted."""
    out = BUILD / "reference" / f"{(inputs or model).stem}-{int(model.stat().st_mtime):x}.npz"
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, contest.ROOT / "bench/reference.py", model, out, *([inputs] if inputs else [])], capture_output=True, check=False,
                       env={**os.environ, **environment("tilewright", "f32", 2)})
    return out if out.exists() else None


def run(name, threads, table, chosen, rounds, progress):
    """The row of a model with the chosen engines: rounds are played until enough of them are quiet, or twice as many are there."""
    model = zoo.make(name)
    state = Rounds(f"{name}-{threads}-{table}", key_of(model, table, chosen))
    if not state.done(rounds):
        play(model, threads, contenders(table, chosen), rounds, state, progress)
    return row(state, rounds)


def play(model, threads, engines, rounds, state, progress):
    truth = reference_of(model)
    workers = {}
    for engine, precision in engines:
        name = label(engine, precision)
        if name in state.left or state.facts.get(name, {}).get("refusal"):
            continue
        progress(f"{name} loads")
        outputs = BUILD / "outputs.npz"
        worker = start(engine, precision, model, threads, outputs)
        facts = worker.facts | {"refusal": worker.refusal}
        if worker.ready:
            workers[name] = worker
            if truth:
                facts["difference"] = reference.difference(outputs, truth)
            worker.slice()
        if name not in state.facts:
            state.tell(name, facts)
    probe = contest.fma_worker(threads)
    try:
        play_rounds(workers, probe, rounds, state, progress)
    finally:
        for name, worker in [*workers.items(), ("", probe)]:
            if name:
                state.tell(name, state.facts[name] | {"peak_mb": float(worker.ask("memory") or "nan")})
            worker.close()


def play_rounds(workers, probe, rounds, state, progress):
    """Until enough are quiet; who dies or has no hope leaves `workers`."""
    while not state.done(rounds) and workers:
        progress(f"round {state.quiet() + 1} of {rounds}, {len(state.played) - state.quiet()} not quiet")
        times, moved = contest.play_round(workers, probe, len(state.played))
        for name in [n for n, t in times.items() if not t]:
            state.tell(name, state.facts[name] | {"refusal": "error: it ended while it was timed"})
            state.leave(name)
            workers.pop(name).close()
            del times[name]
        state.add(times, moved)
        if len(state.played) == 2:
            part(workers, state)


def part(workers, state):
    """Says goodbye to peers that have no hope to be the best one."""
    so_far = {n: quantile(pooled([t[n] for t, _ in state.played if n in t])) for n in workers}
    fastest = min((t for n, t in so_far.items() if not is_ours(n)), default=0)
    for name in [n for n, t in so_far.items() if not is_ours(n) and t > HOPELESS * fastest]:
        state.tell(name, state.facts[name] | {"peak_mb": float(workers[name].ask("memory") or "nan")})
        state.leave(name)
        workers.pop(name).close()


def row(state, rounds):
    used, disturbed = contest.chosen_rounds(state.played, rounds)
    names = {n for times in used for n in times}
    by_name = {n: [times[n] for times in used if n in times] for n in names}
    return {"contenders": {n: describe(by_name[n]) | state.facts.get(n, {}) for n in names},
            "absent": {n: f["refusal"] for n, f in state.facts.items() if f.get("refusal")},
            "rounds": len(used), "disturbed": disturbed, "raw": by_name}


def allowed(contenders):
    """How far from f64 a contender may be, of the greatest value, to count where precision is reduced: it holds for ours, and so
    for all."""
    return max(1.5 * contenders.get("openvino bf16", {}).get("difference", 0), 2 ** -7)


def judge(row, empty):
    """Adds the best peer and the ratio to it; `empty` has the times of an empty model by engine."""
    raw = row.pop("raw")
    ours = next((n for n in raw if is_ours(n)), None)
    less = {n: c["p20"] - net(c["p20"], empty.get(n.split()[0], 0.0)) for n, c in row["contenders"].items()}
    for n, c in row["contenders"].items():
        c["subtracted"] = less[n]
    time_of = lambda n: row["contenders"][n]["p20"] - less[n]
    row["limit"] = limit = allowed(row["contenders"])
    row["too_far"] = [n for n in raw if row["contenders"][n].get("difference", 0) > limit]
    peers = [n for n in raw if n != ours and n not in row["too_far"]]
    if ours and peers:
        best = min(peers, key=time_of)
        row |= {"ours": ours, "best_peer": best, "ratio": time_of(best) / time_of(ours),
                "interval": interval(raw[ours], raw[best], (less[ours], less[best]))}
    return row


def now():
    return time.strftime("%Y-%m-%d %H:%M")
