# SPDX-License-Identifier: Apache-2.0
"""The results of quantized_race.py as Markdown."""
from quantized_race import F32, OURS
from stats import geomean
from tables import absent, ms, table

SHOWN = [OURS, F32, "onnxruntime", "openvino"]


def markdown(models):
    """`models` is {model: {threads: row}}."""
    parts = []
    for threads in ("1", "2"):
        rows = {m: by[threads] for m, by in models.items() if threads in by}
        if rows:
            parts += [f"## Quantised models, {threads} thread{'s' if threads != '1' else ''}", race_table(rows), verdict(rows), *absent(rows)]
    return parts


def race_table(rows):
    lines = []
    for model, r in rows.items():
        times = [ms(r["contenders"][n]["p20"]) if n in r["contenders"] else "–" for n in SHOWN]
        differences = [f"{d:.0e}" if (d := r["contenders"].get(n, {}).get("difference")) is not None else "–" for n in (OURS, "openvino")]
        lines.append([model, *times, cell(r, "faster"), cell(r, "than_f32"), *differences, f"{r['disturbed']}/{r['rounds']}"])
    return table(["model", "ours", "ours, f32 model", *SHOWN[2:], "x", "x of f32", "ours from ONNX Runtime", "OpenVINO from it", "not quiet"], lines)


def cell(row, what):
    if what not in row:
        return "–"
    return f"**{row[what]['ratio']:.2f}x** [{row[what]['interval'][0]:.2f}, {row[what]['interval'][1]:.2f}]"


def verdict(rows):
    lines = []
    for title, what in ("the best peer, same file", "faster"), ("our f32 model", "than_f32"):
        ratios = {m: r[what]["ratio"] for m, r in rows.items() if what in r}
        if ratios:
            worst = min(ratios, key=ratios.get)
            lines.append(f"Against {title}: geometric mean **{geomean(list(ratios.values())):.2f}x**, worst **{ratios[worst]:.2f}x** ({worst}).")
    return "\n".join(lines)
