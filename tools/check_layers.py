#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every #include in src/ and cli/ follows the layer table below, and who writes files.

  check_layers.py           report violations, exit 1 if there are any
  check_layers.py --cmake   print the table for cmake/Layers.cmake, which links by it
"""
import re
import sys
from pathlib import Path

# What a layer may include, beside itself and `support`. In data order; driver may use them all.
LAYERS = {
    "support": [],
    "ir": [],
    "arith": ["ir"],
    "te": ["arith", "ir"],
    "schedule": ["ir", "arith"],
    "lower": ["te", "ir", "arith"],
    "graph": ["ir", "arith", "te"],
    "ops": ["graph", "te", "arith", "ir"],
    "frontend": ["graph", "ops", "te", "arith", "ir"],
    "tile": ["ir", "arith"],
    "vdla": [],
    "module": [],
    "runtime": ["module", "vdla"],
    "images": [],
    "target": ["lower", "ir", "runtime", "vdla"],
    "tune": ["te", "ir", "arith", "schedule", "lower", "target", "runtime"],
    "fleet": ["tune", "runtime", "module"],
    "driver": ["ir", "arith", "te", "schedule", "lower", "graph", "ops", "frontend", "tile",
               "vdla", "module", "runtime", "target", "tune"],
}
CLI = ["driver", "tune", "fleet", "runtime", "module", "frontend", "graph"]

# Libraries that one folder keeps to itself.
CONFINED = {
    r"(llvm|llvm-c|lld|clang|mlir)/": "src/target/llvm/",
    r"xgboost/": "src/tune/model/",
    r"google/protobuf/": "src/nowhere/",
    r"(jpeglib|png|tiffio|openjpeg)\.h|webp/": "src/images/",
}

# Files are written by one class, which loses nothing when the disk is full; a cache and logs of
# our own have ways of their own.
WRITES = re.compile(r"\bstd::(ofstream|fstream|FILE)\b|\bfopen\b|\bO_CREAT\b|\bmkostemp\b|\bcopy_file\b|\bcreat\(")
READS_ONLY = re.compile(r'fopen\("/(proc|sys)/[^"]*", "re?"\)')
MAY_WRITE = ("src/support/bare/output_file.cpp", "src/support/disk_cache.cpp", "src/support/process.cpp")
# Nanobind's own guards abort when the interpreter ends while a thread waits for its lock.
LOCKS = re.compile(r"\bgil_scoped_|\bPyEval_RestoreThread\b|\bPyGILState_Ensure\b")

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def allowed(layer):
    return {"support", layer, *(CLI if layer == "cli" else LAYERS[layer])}


def problem_with(path, quote, name):
    """Why the file at `path` (relative to the root) may not include `name`, or None."""
    for library, home in CONFINED.items():
        if re.match(library, name) and not path.startswith(home):
            return f"only {home} may include it"
    if quote == "<" or name.startswith("tilewright/"):
        return None
    if path.startswith("python/"):
        return None  # it may include everything
    own = "cli" if path.startswith("cli/") else path.split("/")[1]
    if own != "cli" and own not in LAYERS:
        return f"folder src/{own} is not in the layer table"
    if "/" not in name:
        return None if own == "cli" else f'write it from src/: "{own}/{name}"'
    other = name.split("/")[0]
    if other in LAYERS and other not in allowed(own):
        return f"{own} may include only {', '.join(sorted(allowed(own)))}"
    return None


def check():
    problems, count = [], 0
    for folder in ("src", "cli", "python/bindings"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix not in (".h", ".hpp", ".c", ".cpp"):
                continue
            count += 1
            path = file.relative_to(ROOT).as_posix()
            for number, line in enumerate(file.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                why = match and problem_with(path, *match.groups())
                if why:
                    problems.append(f'{path}:{number}: includes "{match[2]}": {why}')
                if WRITES.search(line) and not READS_ONLY.search(line) and path not in MAY_WRITE:
                    problems.append(f"{path}:{number}: writes a file by itself: use support/write_file.h or OutputFile")
                if LOCKS.search(line) and path != "python/bindings/lock.h":
                    problems.append(f"{path}:{number}: takes Python's lock by itself: use python/bindings/lock.h")
    print("\n".join(problems + [f"layers: {count} files, {len(problems)} violations"]))
    return 1 if problems else 0


def print_cmake():
    print(f"set(TW_LAYERS {' '.join(LAYERS)})")
    for layer in LAYERS:
        print(f"set(TW_USES_{layer} {' '.join(sorted(allowed(layer) - {layer}))})")
    print(f"set(TW_USES_cli {' '.join(CLI)} support)")


if __name__ == "__main__":
    if sys.argv[1:] == ["--cmake"]:
        print_cmake()
    else:
        sys.exit(check())
