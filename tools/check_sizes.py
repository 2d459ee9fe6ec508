#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints lines per folder, lists hand-written files over 600 lines, fails over 900."""
import statistics
import sys
from collections import defaultdict
from pathlib import Path

REPORT, LIMIT = 600, 900
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cu", ".sv", ".py", ".sh"}
ROOT = Path(__file__).resolve().parent.parent


def folder_of(path):
    """src and tests are counted by layer, everything else by top folder."""
    parts = path.parts
    return "/".join(parts[:2]) if parts[0] in ("src", "tests") and len(parts) > 2 else parts[0]


def main():
    sizes = {}
    for top in ("src", "include", "cli", "python", "tests", "bench", "examples", "tools"):
        for file in (ROOT / top).rglob("*"):
            if file.suffix in SUFFIXES and file.is_file():
                sizes[file.relative_to(ROOT)] = len(file.read_text().splitlines())

    folders = defaultdict(list)
    for path, lines in sizes.items():
        folders[folder_of(path)].append(lines)
    print(f"{'folder':<20}{'files':>7}{'lines':>8}{'median':>8}{'largest':>9}")
    for folder, lines in sorted(folders.items()):
        print(f"{folder:<20}{len(lines):>7}{sum(lines):>8}"
              f"{statistics.median(lines):>8.0f}{max(lines):>9}")

    for path, lines in sorted(sizes.items(), key=lambda item: -item[1]):
        if lines > REPORT:
            verdict = "too long: split it by concept" if lines > LIMIT else "long"
            print(f"{path}: {lines} lines, {verdict}")
    return 1 if any(lines > LIMIT for lines in sizes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
