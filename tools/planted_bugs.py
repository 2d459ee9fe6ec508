#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The planted-bug drill: do the tests of a layer catch known bugs in it?

  planted_bugs.py --check            every bug of tests/planted/bugs.toml still finds its place in the source
  planted_bugs.py [--only NAME] ...  build the tests with all bugs in, then run them with each one on

The source is copied to build/planted with a test of an environment variable at each bug, so that one build serves
all of them and the product's source stays free of it. A bug is caught when a test of its layer fails.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "build/planted/tree"
BUILD = ROOT / "build/planted/build"
HEADER = """// Which planted bug is on.
#pragma once
#include <cstdlib>
#include <string_view>
namespace tilewright {
inline bool planted(std::string_view name) {
  static const char* const on = std::getenv("TILEWRIGHT_BUG");
  return on && name == on;
}
}  // namespace tilewright
"""


# Tests that run machine code, which the build with the bugs in does not make.
NEEDS_LLVM = "LocalRunner.*:Reference.*:SamplesOfOthers.*"


def tests_of(bug):
    return "test_" + bug["file"].split("/")[1]


def planted(text, bug):
    count = text.count(bug["find"])
    if count != 1:
        sys.exit(f"planted_bugs: `{bug['name']}`: its text stands {count} times in {bug['file']}; it must stand once")
    on = f'::tilewright::planted("{bug["name"]}")'
    new = bug["as"].replace("BUG", on) if "as" in bug else f"({on} ? ({bug['plant']}) : ({bug['find']}))"
    return text.replace(bug["find"], new)


def sources(bugs):
    """The changed files: path to text."""
    out = {}
    for bug in bugs:
        text = out.get(bug["file"]) or (ROOT / bug["file"]).read_text()
        out[bug["file"]] = planted(text, bug)
    return {file: '#include "support/planted.h"\n' + text for file, text in out.items()}


def write(path, text):
    """Leaves files that do not change alone, so that the build stays incremental."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def mirror(changed):
    wanted = {"src/support/planted.h": HEADER, **changed}
    for folder in ("src", "include"):
        for file in (ROOT / folder).rglob("*"):
            if file.is_file():
                wanted.setdefault(str(file.relative_to(ROOT)), None)
    for file, text in wanted.items():
        write(TREE / file, text if text is not None else (ROOT / file).read_text())
    for file in (TREE / "src").rglob("*"):
        if file.is_file() and str(file.relative_to(TREE)) not in wanted:
            file.unlink()
    for name in ("CMakeLists.txt", "cmake", "tests", "tools", "bench", "examples", "cli"):
        link = TREE / name
        if not link.exists():
            link.symlink_to(ROOT / name)


def build(targets):
    run = lambda *command: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    run("cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-Wno-dev", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        "-DTILEWRIGHT_LLVM=OFF", "-DCMAKE_CXX_FLAGS=-Wno-error")
    subprocess.run(["ninja", "-C", BUILD, *targets], check=True)


def fails(test, bug_name, seconds):
    """Does the test program fail? One that hangs does."""
    env = {**os.environ, "TILEWRIGHT_BUG": bug_name}
    try:
        done = subprocess.run([BUILD / "tests" / test, "--gtest_fail_fast", "--gtest_brief=1", f"--gtest_filter=-{NEEDS_LLVM}"], env=env, cwd=ROOT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0:
        return None
    failed = [line for line in done.stdout.decode(errors="replace").splitlines() if "[  FAILED  ]" in line]
    return failed[0].split("]")[1].split("(")[0].strip() if failed else f"ends with {done.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--json", help="write the results to this file")
    args = parser.parse_args()
    bugs = tomllib.loads((ROOT / "tests/planted/bugs.toml").read_text())["bug"]
    names = collections.Counter(b["name"] for b in bugs)
    if twice := [n for n, count in names.items() if count > 1]:
        sys.exit(f"planted_bugs: two bugs are named {twice[0]}")
    changed = sources(bugs)
    if args.check:
        return
    mirror(changed)
    chosen = [b for b in bugs if not args.only or b["name"] in args.only]
    targets = sorted({tests_of(b) for b in chosen})
    build(targets)
    for test in targets:
        if why := fails(test, "", 900):
            sys.exit(f"planted_bugs: {test} fails without any bug: {why}")
    caught = {}
    for i, bug in enumerate(chosen):
        caught[bug["name"]] = fails(tests_of(bug), bug["name"], 300)
        print(f"[{i + 1}/{len(chosen)}] {bug['name']}: {caught[bug['name']] or 'NOT CAUGHT'}", flush=True)
    missed = [name for name, why in caught.items() if not why]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} planted bugs are caught")
    if args.json:
        Path(args.json).write_text(json.dumps(caught, indent=1))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
