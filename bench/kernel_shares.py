# SPDX-License-Identifier: Apache-2.0
"""Every kernel of the models against the machine's limit, measured where it stands (build/release/bench/model_kernels).

A kernel is a *product* when most of its arithmetic is sums of products whose operands serve several results, and FMAs
rather than bytes are its limit; it is bound by *memory* when bytes are. The others (depthwise convolutions, chains of
functions) are listed, and count in neither share.
"""
import json
import subprocess

import contest
from stats import weighted_share


def kind(kernel):
    if kernel["memory_seconds"] > kernel["fma_seconds"]:
        return "memory"
    return "product" if kernel["product_flops"] > 0.5 * kernel["flops"] else "arithmetic"


def roof(kernel):
    return max(kernel["fma_seconds"], kernel["memory_seconds"])


def measure(model, out, seconds):
    """Kernels of one model; `out` keeps the result for the next time."""
    program = contest.PROGRAMS / "model_kernels"
    if not out.exists() or out.stat().st_mtime < max(program.stat().st_mtime, model.stat().st_mtime):
        out.parent.mkdir(parents=True, exist_ok=True)
        part = out.with_suffix(".part")
        subprocess.run([program, model, part, "--inputs", model.with_suffix(".npz"), "--seconds", str(seconds)], check=True)
        part.rename(out)
    return json.loads(out.read_text())


def summary(measured):
    """Of one model: shares by kind of kernel, and of the whole."""
    kernels = measured["kernels"]
    out = {"fma_rate": measured["fma_rate"], "seconds": measured["seconds"],
           "share": weighted_share(kernels, roof)[0]}
    for which in ("product", "memory", "arithmetic"):
        share, seconds = weighted_share(kernels, lambda k: roof(k) if kind(k) == which else None)
        out[which] = {"share": share, "seconds": seconds}
    return out


def over_models(summaries):
    """The shares over all models, each kernel weighted by its share of its own model's time."""
    out = {}
    for which in ("product", "memory", "arithmetic"):
        parts = [(s[which]["seconds"] / s["seconds"], s[which]["share"]) for s in summaries if s[which]["share"]]
        weight = sum(w for w, _ in parts)
        out[which] = sum(w * share for w, share in parts) / weight if weight else None
    return out


def worst(measured, count):
    """Kernels by the time that they lose against their roof; equal ones (same kernel, same sizes) together."""
    groups = {}
    for k in measured["kernels"]:
        g = groups.setdefault((k["name"], k["types"]), {**k, "count": 0, "seconds": 0.0, "roof": 0.0, "kind": kind(k)})
        g["count"] += 1
        g["seconds"] += k["seconds"]
        g["roof"] += roof(k)
    return sorted(groups.values(), key=lambda g: g["roof"] - g["seconds"])[:count]


def percent(x):
    return "–" if x is None else f"{100 * x:.0f} %"


def shares_table(summaries):
    lines = ["| model | kernels' time, ms | of roof | products: of their time | of FMA peak | memory-bound: of time | of roof "
             "| other: of time | of roof |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for name, s in summaries.items():
        cells = [f"{1e3 * s['seconds']:.3f}", percent(s["share"])]
        for which in ("product", "memory", "arithmetic"):
            cells += [percent(s[which]["seconds"] / s["seconds"]), percent(s[which]["share"])]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def worst_lines(groups, seconds):
    lines = ["| lost, ms | of model | time, ms | × | of roof | bound by | kernel | ends with | sizes |",
             "|---:|---:|---:|---:|---:|---|---|---|---|"]
    for g in groups:
        lost = g["seconds"] - g["roof"]
        if lost <= 0:
            break
        lines.append(f"| {1e3 * lost:.3f} | {percent(lost / seconds)} | {1e3 * g['seconds']:.3f} | {g['count']} "
                     f"| {percent(g['roof'] / g['seconds'])} | {g['kind']} | {g['name']} | {g['origin']} | {g['types']} |")
    return "\n".join(lines)
