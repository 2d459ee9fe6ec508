#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How good searches are: runs both parts of build/release/bench/tune, then draws speed over trials.

  tune.py [--part trials|template] [--results FILE] [--picture FILE.svg] [further options of the program]

The results are lines of JSON; the picture has one panel for each task and one line for each strategy, the median of
the seeds, relative to the default schedule.
"""
import argparse
import collections
import itertools
import json
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLOURS = {"learned": "#0b6", "annealing": "#e80", "random": "#36c", "grid": "#888"}
WIDTH, HEIGHT, GAP, COLUMNS = 260, 170, 46, 3


def curves_of(path):
    """{task: {strategy: [curve of speeds, …]}}; of points that were measured twice, the second time counts."""
    first, again, runs = {}, {}, {}
    for line in path.read_text().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:  # a run that was killed while it wrote
            continue
        if "point" in entry:
            first[entry["task"], entry["point"]] = entry["ratio"]
        elif "confirm" in entry:
            again[entry["task"], entry["confirm"]] = entry["ratio"]
        elif "points" in entry:
            runs[entry["task"], entry["strategy"], entry["seed"]] = entry["points"]
    ratios = first | again
    out = collections.defaultdict(lambda: collections.defaultdict(list))
    for (task, strategy, _), points in runs.items():
        speeds = [1 / ratios[task, p] if ratios.get((task, p)) else 0 for p in points]
        out[task][strategy].append(list(itertools.accumulate(speeds, max)))
    return out


def panel(task, strategies, x, y):
    """One task as SVG."""
    most = max((max(c) for cs in strategies.values() for c in cs if c), default=1) * 1.05
    length = max((len(c) for cs in strategies.values() for c in cs), default=1)
    parts = [f'<g transform="translate({x},{y})"><rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>',
             f'<text x="0" y="-6" font-size="12">{task}</text>',
             f'<text x="{WIDTH}" y="{HEIGHT + 14}" font-size="10" text-anchor="end">{length} trials</text>',
             f'<text x="-4" y="10" font-size="10" text-anchor="end">{most:.2f}x</text>']
    at = HEIGHT * (1 - 1 / most)
    if at > 0:
        parts.append(f'<line x1="0" x2="{WIDTH}" y1="{at:.1f}" y2="{at:.1f}" stroke="#999" stroke-dasharray="4"/>')
    for i, (strategy, curves) in enumerate(sorted(strategies.items())):
        points = []
        for trial in range(min(len(c) for c in curves)):
            speed = statistics.median(c[trial] for c in curves)
            points.append(f"{(trial + 1) / length * WIDTH:.1f},{HEIGHT * (1 - speed / most):.1f}")
        colour = COLOURS.get(strategy, "#000")
        parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts.append(f'<text x="{WIDTH - 6}" y="{HEIGHT - 8 - 13 * i}" font-size="11" text-anchor="end" '
                     f'fill="{colour}">{strategy} ({len(curves)})</text>')
    return "\n".join(parts) + "</g>"


def picture(tasks):
    panels = [panel(task, strategies, GAP + (i % COLUMNS) * (WIDTH + GAP), GAP + (i // COLUMNS) * (HEIGHT + GAP))
              for i, (task, strategies) in enumerate(sorted(tasks.items()))]
    rows = (len(panels) + COLUMNS - 1) // COLUMNS
    return (f'<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" width="{GAP + COLUMNS * (WIDTH + GAP)}" '
            f'height="{GAP + rows * (HEIGHT + GAP)}">\n<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(panels) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["trials", "template"])
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "bench-tune.jsonl")
    parser.add_argument("--picture", type=Path)
    args, rest = parser.parse_known_args()
    program = ROOT / "build" / "release" / "bench" / "tune"
    for part in [args.part] if args.part else ["trials", "template"]:
        subprocess.run([program, part, "--results", args.results, *rest], check=True)
    target = args.picture or args.results.with_suffix(".svg")
    target.write_text(picture(curves_of(args.results)))
    print(target)


if __name__ == "__main__":
    main()
