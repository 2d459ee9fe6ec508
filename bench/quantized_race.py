# SPDX-License-Identifier: Apache-2.0
"""A quantised model on one number of threads: ours, the peers with the same file, and ours with the f32 model that it was made of."""
import contest
import race
import reference
import zoo_quantized
from stats import interval, net

OURS, F32 = "tilewright", "tilewright f32"
ENGINES = {OURS: "tilewright", F32: "tilewright", "onnxruntime": "onnxruntime", "openvino": "openvino"}


def run(name, threads, chosen, rounds, progress):
    model = zoo_quantized.make(name)
    names = [n for n in ENGINES if ENGINES[n] in chosen]
    key = {"model": race.stamp(model), "compiler": race.compiler(), "versions": race.versions(), "contenders": names}
    state = race.Rounds(f"quantized-{name}-{threads}", key)
    if not state.done(rounds):
        play(model, threads, names, rounds, state, progress)
    return race.row(state, rounds)


def play(model, threads, names, rounds, state, progress):
    workers, probe = {}, contest.fma_worker(threads)
    outputs = {n: race.BUILD / f"outputs-{n.replace(' ', '-')}.npz" for n in names}
    try:
        for name in names:
            if name in state.left or state.facts.get(name, {}).get("refusal"):
                continue
            progress(f"{name} loads")
            file = zoo_quantized.f32_path(model) if name == F32 else model
            worker = race.start(ENGINES[name], "f32", file, threads, outputs[name])
            if worker.ready:
                workers[name] = worker
                worker.slice()
            if name not in state.facts:
                state.tell(name, worker.facts | {"refusal": worker.refusal})
        for name in workers:
            if name != F32 and "onnxruntime" in workers:
                state.tell(name, state.facts[name] | {"difference": reference.difference(outputs[name], outputs["onnxruntime"])})
        race.play_rounds(workers, probe, rounds, state, progress)
    finally:
        for worker in [*workers.values(), probe]:
            worker.close()


def judge(row, empty):
    """Adds the best peer and the ratio to it, and that of our f32 model; `empty` has the times of an empty model by engine."""
    raw, all_ = row.pop("raw"), row["contenders"]
    for n, c in all_.items():
        c["subtracted"] = c["p20"] - net(c["p20"], empty.get(n.split()[0], 0.0))
    time_of = lambda n: all_[n]["p20"] - all_[n]["subtracted"]

    def compared(other):
        return {"ratio": time_of(other) / time_of(OURS), "interval": interval(raw[OURS], raw[other], (all_[OURS]["subtracted"], all_[other]["subtracted"]))}
    peers = [n for n in raw if not race.is_ours(n)]
    if OURS in raw and peers:
        best = min(peers, key=time_of)
        row["faster"] = compared(best) | {"peer": best}
    if OURS in raw and F32 in raw:
        row["than_f32"] = compared(F32)
    return row
