# SPDX-License-Identifier: Apache-2.0
"""The results as Markdown."""
import dynamic_report
import kernel_shares
import quantized_report
from stats import verdict
from tables import absent, ms, table

SHOWN = ["tilewright", "tilewright bf16", "onnxruntime", "openvino", "openvino bf16", "torch_compile", "torch_compile bf16", "iree", "tvm", "tvm_tuned"]


def markdown(results):
    parts = [f"# Models on {results['machine'].replace('-', ' ')}, {results['date']}",
             "Made by `make bench`; [docs/benchmarks.md](../../docs/benchmarks.md) says how. Times are milliseconds of one call, 20 % "
             "quantiles over interleaved rounds. x is the best peer's time over ours, with its 95 % interval.",
             "Peers: " + ", ".join(f"{n} {v}" for n, v in results["versions"].items() if v) + "."]
    roofs = {m: k["summary"]["share"] * k["summary"]["seconds"] for m, k in results["kernels"].items()}
    for precision, title in ("f32", "f32 for all"), ("bf16", "Reduced precision allowed for all"):
        for threads in ("1", "2"):
            rows = {m: r[threads] for m, r in results["race"].get(precision, {}).items() if threads in r}
            if rows:
                known = roofs if (precision, threads) == ("f32", "1") else {}
                parts += [f"## {title}, {threads} thread{'s' if threads != '1' else ''}", race_table(rows, known), race_verdict(rows),
                          *absent(rows), *(differences(rows) if precision == "bf16" else [])]
    rows = {m: r["1"] for m, r in results["race"].get("f32", {}).items() if "1" in r}
    if rows:
        parts += ["## Load, compile, memory, difference (f32, 1 thread)", facts_table(rows),
                  "Compile is the command line without its cache (ours), or the first call (torch_compile); load makes a model ready "
                  "to run from its file. Memory is the peak of the whole process with Python. The difference is that of the outputs "
                  "from f64, as a share of the largest value."]
    for threads in ("1", "2"):
        rows = {m: r[threads] for m, r in results["convolutions"].items() if threads in r}
        if rows:
            parts += [f"## Convolutions in groups, over three axes and over one, {threads} thread{'s' if threads != '1' else ''}",
                      race_table(rows, {}), race_verdict(rows), *absent(rows)]
    parts += dynamic_report.markdown(results["dynamic"]) + quantized_report.markdown(results["quantized"]) + kernels(results)
    parts += ablations(results) + cells(results) + scaling(results)
    return "\n\n".join(parts) + "\n"


def race_table(rows, roofs):
    """`roofs` has the seconds that a model's kernels would take at least, where that is known."""
    names = [n for n in SHOWN if any(n in r["contenders"] for r in rows.values())]
    lines = []
    for model, r in rows.items():
        cells = [ms(r["contenders"][n]["p20"]) if n in r["contenders"] else "–" for n in names]
        ours = r["contenders"].get(r.get("ours"), {})
        spread = f"{ms(ours['p50'])} / {ms(ours['p95'])}" if ours else "–"
        roof = [kernel_shares.percent(roofs[model] / ours["p20"]) if model in roofs and ours else "–"] if roofs else []
        ratio = f"**{r['ratio']:.2f}x** [{r['interval'][0]:.2f}, {r['interval'][1]:.2f}]" if "ratio" in r else "–"
        lines.append([model, *cells, spread, *roof, r.get("best_peer", "–"), ratio, f"{r['disturbed']}/{r['rounds']}"])
    return table(["model", *names, "ours: 50 % / 95 %", *(["of roof"] if roofs else []), "best peer", "x", "not quiet"], lines)


def race_verdict(rows):
    ratios = {m: (r["ratio"], r["interval"]) for m, r in rows.items() if "ratio" in r}
    if not ratios:
        return "No model was run by us and a peer."
    v = verdict(list(ratios.values()))
    worst = min(ratios, key=lambda m: ratios[m][0])
    taken = sorted({m for m, r in rows.items() for c in r["contenders"].values() if c.get("subtracted")})
    text = f"Geometric mean **{v['geomean']:.2f}x**; worst **{v['worst']:.2f}x** ({worst}, at best {v['worst_at_best']:.2f}x) of {v['models']} models."
    return text + (f" The time of an empty model is taken off for {', '.join(taken)}." if taken else "")


def differences(rows):
    names = [n for n in SHOWN if any("difference" in r["contenders"].get(n, {}) for r in rows.values())]
    found = lambda r, n: r["contenders"].get(n, {}).get("difference")
    lines = [[m] + [f"{d:.1e}" if (d := found(r, n)) is not None else "–" for n in names] for m, r in rows.items()]
    far = [f"{n} on {m}" for m, r in rows.items() for n in r.get("too_far", [])]
    return ["Difference from f64:", table(["model", *names], lines),
            "A contender counts that is no further from f64 than 1.5 times OpenVINO in bf16, or 2^-7 of the largest value. "
            f"Too far: {', '.join(far) or 'none'}."]


def facts_table(rows):
    peers = [n for n in SHOWN if any(n in r["contenders"] for r in rows.values())]
    cell = lambda r, n, key, form: form(r["contenders"][n][key]) if key in r["contenders"].get(n, {}) else "–"
    head = ["model"] + [f"{n} {what}" for n in peers for what in ("compile s", "load s", "MB", "difference")]
    lines = [[m] + [cell(r, n, key, form) for n in peers for key, form in
                    (("compile_s", "{:.2f}".format), ("load_s", "{:.3f}".format), ("peak_mb", "{:.0f}".format), ("difference", "{:.0e}".format))]
             for m, r in rows.items()]
    used = [i for i in range(len(head)) if any(line[i] != "–" for line in lines)]
    return table([head[i] for i in used], [[line[i] for i in used] for line in lines])


def kernels(results):
    found = results.get("kernels")
    if not found:
        return []
    summaries = {m: k["summary"] for m, k in found.items()}
    shares = kernel_shares.over_models(list(summaries.values()))
    return ["## Kernels against the machine's limit (f32, 1 thread)",
            f"Over all models: products **{kernel_shares.percent(shares['product'])}** of FMA peak, memory-bound kernels "
            f"**{kernel_shares.percent(shares['memory'])}** of their roof, others {kernel_shares.percent(shares['arithmetic'])}. "
            "Each model weighs the same, a kernel within it by its time.",
            kernel_shares.shares_table(summaries)] + \
           [f"### {m}\n\n{kernel_shares.worst_lines(k['worst'], summaries[m]['seconds'])}" for m, k in found.items()]


def ablations(results):
    rows = results.get("ablations", {})
    if not rows:
        return []
    names = [n for n in next(iter(rows.values()))["variants"] if n != "all"]
    lines = []
    for model, r in rows.items():
        whole = r["variants"]["all"]
        cells = [f"{v['ratio']:.2f}x ({v['kernels']}, {v['run_bytes'] / 1e6:.1f} MB)" if (v := r["variants"].get(n)) else "–" for n in names]
        lines.append([model, f"{ms(whole['p20'])} ({whole['kernels']}, {whole['run_bytes'] / 1e6:.1f} MB)", *cells])
    return ["## Without a part of the compiler (f32, 1 thread)",
            "How many times longer a run takes; in brackets kernels and the memory of a run.",
            table(["model", "all, ms"] + [f"no {n}" for n in names], lines)]


def cells(results):
    rows = results.get("cells", {})
    if not rows:
        return []
    lines = [[n, f"{1e3 * ms_of(r, 'fused'):.1f}", r["variants"]["fused"]["kernels"], f"{1e3 * ms_of(r, 'unfused'):.1f}",
              r["variants"]["unfused"]["kernels"], ratio_text(r["variants"]["unfused"])] for n, r in rows.items() if "unfused" in r["variants"]]
    return ["## Fused against unfused (f32, 1 thread)", table(["cell", "fused, µs", "kernels", "unfused, µs", "kernels", "x"], lines)]


def ms_of(row, variant):
    return 1e3 * row["variants"][variant]["p20"]


def ratio_text(variant):
    return f"{variant['ratio']:.2f}x [{variant['interval'][0]:.2f}, {variant['interval'][1]:.2f}]"


def scaling(results):
    rows = results.get("scaling", {})
    if not rows:
        return []
    lines = [[n, f"{r['gain']:.2f}", f"{r['fma_gain']:.2f}", f"**{r['relative']:.2f}**", f"{r['disturbed']}/{r['rounds']}"] for n, r in rows.items()]
    return ["## Two threads against one", table(["model", "model", "FMAs alone", "relative", "not quiet"], lines)]
