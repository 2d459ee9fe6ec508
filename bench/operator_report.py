# SPDX-License-Identifier: Apache-2.0
"""The sweep over operators as Markdown."""
import statistics

from operator_race import RESOLUTION, net, ratio
from tables import table


def us(seconds):
    return f"{1e6 * seconds:.3g}" if seconds < 1e-3 else f"{1e6 * seconds:.0f}"


def name_of(key):
    op, case, size = key.split("|")
    return f"{op}{', ' if case else ''}{case} ({size})"


def summary(rows):
    ratios = [r for row in rows.values() if (r := ratio(row)) is not None]
    if not ratios:
        return "No row was run by both."
    share = lambda least: f"{100 * sum(r >= least for r in ratios) / len(ratios):.1f} %"
    short = sum(max(net(row, "ours"), net(row, "onnxruntime")) <= RESOLUTION for row in rows.values() if "seconds" in row)
    return (f"**{share(0.7)}** of {len(ratios)} rows at 0.7x and more, **{share(1.0)}** at 1.0x and more; geometric mean {statistics.geometric_mean(ratios):.2f}x. "
            f"{short} rows take both less than {1e6 * RESOLUTION:.1f} µs beyond the call and count as 1.0x.")


def listed(title, lines):
    return [f"## {title}", "\n".join(f"- {line}" for line in lines)] if lines else []


def refusals(rows, engine):
    """One line for each operator and reason."""
    reasons = {}
    for key, row in rows.items():
        if engine in row["refused"]:
            reasons.setdefault((key.split("|")[0], row["refused"][engine][:160]), []).append(key)
    return [f"{op} ({len(keys)}): {why.replace('|', '/')}" for (op, why), keys in reasons.items()]


def markdown(results):
    rows = results["rows"]
    timed = sorted((key for key, row in rows.items() if ratio(row) is not None), key=lambda key: ratio(rows[key]))
    lines = [[*key.split("|"), row["inputs"], us(net(row, "ours")), us(net(row, "onnxruntime")), f"{ratio(row):.2f}", row["differs"]]
             for key in timed for row in [rows[key]]]
    parts = [f"# Operators on {results['machine'].replace('-', ' ')}, {results['date']}",
             f"Made by `make bench-operators`; [docs/benchmarks.md](../../docs/benchmarks.md) says how. ONNX Runtime {results['onnxruntime']}, one thread; "
             "microseconds of a call without its fixed cost (an empty model with such inputs), 20 % quantiles; x is ONNX Runtime's time over ours.",
             summary(rows)]
    parts += listed("Other numbers than ONNX Runtime", [f"{name_of(key)}: {rows[key]['differs']}" for key in timed if rows[key]["differs"]])
    parts += listed("Failed", [f"{name_of(key)}: {row['failed']}" for key, row in rows.items() if "failed" in row])
    parts += listed("Refused by us", refusals(rows, "ours"))
    parts += listed("Refused by ONNX Runtime", refusals(rows, "onnxruntime"))
    parts += ["## All rows, slowest first", table(["operator", "case", "size", "inputs", "ours, µs", "ONNX Runtime, µs", "x", "differs"], lines)]
    return "\n\n".join(parts) + "\n"
