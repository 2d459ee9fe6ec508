# SPDX-License-Identifier: Apache-2.0
"""The results of dynamic_race.py as Markdown."""
from collections import Counter

import zoo_dynamic
from dynamic_race import FIXED, FREE
from stats import geomean
from tables import absent, ms, table

SHOWN = [FREE, FIXED, "onnxruntime", "openvino"]


def markdown(models):
    """`models` is {model: {threads: {size: row}}}."""
    parts = []
    for threads in ("1", "2"):
        rows = {(m, size): row for m, by in models.items() for size, row in by.get(threads, {}).items()}
        if rows:
            parts += [f"## Models as they come, {threads} thread{'s' if threads != '1' else ''}", race_table(rows), verdict(rows), *trouble(rows)]
    if not parts:
        return []
    return parts + compile_times(models) + plain_loops(models)


def race_table(rows):
    lines = []
    for (model, size), r in rows.items():
        times = [ms(r["contenders"][n]["p20"]) if n in r["contenders"] else "–" for n in SHOWN]
        lines.append([model, size, *times[:2], cell(r, "slower"), *times[2:], cell(r, "faster"), f"{r['disturbed']}/{r['rounds']}"])
    return table(["model", "size", "ours, free", "ours, fixed", "free / fixed", *SHOWN[2:], "x", "not quiet"], lines)


def cell(row, what):
    if FREE in row["absent"]:
        return "refused"
    if FREE in row["wrong"]:
        return "wrong"
    if what not in row:
        return "–"
    r = row[what]
    text = f"**{r['ratio']:.2f}** [{r['interval'][0]:.2f}, {r['interval'][1]:.2f}]"
    return text if row["counts"] else text.replace("**", "") + " (not counted)"


def verdict(rows):
    """Means and worst rows: all of them, and larger batches by themselves."""
    lines = []
    batches = {(m, size): r for (m, size), r in rows.items() if size in zoo_dynamic.larger(m)}
    for title, chosen in ("all", rows), ("of them, batches of 8 and 32", batches):
        lines.append([title, *summary(chosen, "slower", max, 0), *summary(chosen, "faster", min, 1)])
    return table(["models and sizes", "free / fixed, mean", "worst", "x, mean", "worst"], lines)


def summary(rows, what, worst_of, favourable):
    """The geometric mean, and the worst with the favourable end of its interval."""
    ratios = {k: r[what] for k, r in rows.items() if what in r and r["counts"]}
    if not ratios:
        return ["–", "–"]
    worst = worst_of(ratios, key=lambda k: ratios[k]["ratio"])
    return [f"**{geomean([r['ratio'] for r in ratios.values()]):.2f}** of {len(ratios)}",
            f"{ratios[worst]['ratio']:.2f} ({' '.join(worst)}, at best {ratios[worst]['interval'][favourable]:.2f})"]


def trouble(rows):
    """Who refused, and whose numbers are wrong."""
    named = {f"{m} {size}": r for (m, size), r in rows.items()}
    wrong = [f"- {n}: {at}: {r['contenders'][n]['difference']:.1e} of the largest value from {r['contenders'][n]['from']}"
             for at, r in named.items() for n in r["wrong"]]
    return absent(named) + (["Wrong numbers:\n\n" + "\n".join(wrong)] if wrong else ["No wrong numbers."])


def modules(models):
    """Facts of each of our modules, once: (model, size or `free`) -> facts."""
    out = {}
    for model, by in models.items():
        for rows in by.values():
            for size, row in rows.items():
                for n, at in (FREE, "free"), (FIXED, size):
                    if n in row["contenders"]:
                        out.setdefault((model, at), row["contenders"][n])
    return out


def compile_times(models):
    found = modules(models)
    lines, ratios = [], {}
    for model in models:
        fixed = [f["compile_s"] for (m, at), f in found.items() if m == model and at != "free" and "compile_s" in f]
        free = found.get((model, "free"), {}).get("compile_s")
        if fixed and free:
            ratios[model] = free / geomean(fixed)
            lines.append([model, f"{free:.2f}", f"{geomean(fixed):.2f}", f"{ratios[model]:.2f}", f"{found[model, 'free']['file_mb']:.1f}"])
    if not ratios:
        return []
    worst = max(ratios, key=ratios.get)
    return ["## Compile time, free against fixed", table(["model", "free, s", "fixed, s", "ratio", "free, MB"], lines),
            f"Geometric mean **{geomean(list(ratios.values())):.2f}**; worst {ratios[worst]:.2f} ({worst}). Fixed is the mean over the sizes."]


def plain_loops(models):
    found = modules(models)
    counted = Counter((model, "free" if at == "free" else "fixed", kernel, why) for (model, at), f in found.items() for kernel, why in f.get("plain", []))
    free = sum(n for (_, at, _, _), n in counted.items() if at == "free")
    parts = ["## Kernels that run as plain loops", f"**{free}** in modules for all sizes, {sum(counted.values()) - free} in modules for one size."]
    lines = [[model, at, f"`{kernel}`", n, why] for (model, at, kernel, why), n in counted.items()]
    return parts + ([table(["model", "module", "kernel", "times", "why"], lines)] if lines else [])
