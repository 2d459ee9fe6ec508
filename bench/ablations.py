# SPDX-License-Identifier: Apache-2.0
"""What parts of the compiler are worth: models without one of them, and cells fused against unfused. One thread, f32."""
import json
import subprocess

import cells
import contest
import engines
import race
import zoo
from stats import describe, interval

#          left out by `--skip`
PARTS = {"fusion": ["fuse"], "layouts": ["assign_layouts"], "memory plan": ["memory_plan"], "winograd": ["winograd"]}


class Bench:
    """`tilewright bench` as a contender: calls without any binding."""

    def __init__(self, model, skip):
        self.path, self.facts = engines.compiled(model, skip=skip)
        self.inputs = model.with_suffix(".npz")
        self.report = race.BUILD / "ablation.json"
        self.result = {}

    def slice(self, seconds=contest.SLICE):
        subprocess.run([contest.ROOT / "build/release/tilewright", "bench", self.path, "--inputs", self.inputs, "--seconds",
                        str(seconds), "--json", self.report], check=True, capture_output=True)
        self.result = json.loads(self.report.read_text())
        return [1e-3 * ms for ms in self.result["runs_ms"]]


def compare(model, variants, rounds, progress):
    """Times of a model's variants {name: passes left out}, and how much slower each is than the first one."""
    workers, failed = {}, {}
    for name, skip in variants.items():
        progress(f"{name} compiles")
        try:
            workers[name] = Bench(model, skip)
        except RuntimeError as e:
            failed[name] = " ".join(str(e).split())[:300]
    probe = contest.fma_worker()
    played = []
    while len(played) < 2 * rounds and sum(not moved for _, moved in played) < rounds:
        progress(f"round {len(played) + 1}")
        played.append(contest.play_round(workers, probe, len(played)))
    probe.close()
    used, disturbed = contest.chosen_rounds(played, rounds)
    first = next(iter(workers))
    by_name = {n: [times[n] for times in used] for n in workers}
    out = {"disturbed": disturbed, "rounds": len(used), "failed": failed, "variants": {}}
    for name, worker in workers.items():
        times = describe(by_name[name])
        out["variants"][name] = times | {"ratio": times["p20"] / out["variants"][first]["p20"] if name != first else 1.0,
                                         "interval": interval(by_name[first], by_name[name]),
                                         "kernels": sum(k["calls"] for k in worker.result["kernels"]),
                                         "run_bytes": worker.result["context_bytes"]}
    return out


def of_model(name, rounds, progress):
    return compare(zoo.make(name), {"all": [], **PARTS}, rounds, progress)


def of_cell(name, rounds, progress):
    return compare(cells.make(name, race.BUILD / "cells"), {"fused": [], "unfused": cells.FUSING}, rounds, progress)
