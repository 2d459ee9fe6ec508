#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An engine with a model of free dimensions as a contender, at several sizes; the inputs are in MODEL@SIZE.npz.

  dynamic_worker.py ENGINE MODEL.onnx SIZE ... [--threads N] [--outputs FOLDER]

ENGINE `fixed` is ours with a module for each size. What it tells of itself is {"all": facts, "sizes": {size: facts}}; a size that
does not run has its `refusal` there.
"""
import argparse
import importlib
import os
import time
from pathlib import Path

import numpy as np

import zoo_dynamic
from engines import IMPORTS, OPEN, arrays_of, one_line
from serve import serve


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=[*OPEN, "fixed"])
    parser.add_argument("model", type=Path)
    parser.add_argument("sizes", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--outputs", type=Path)
    options = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints
    fixed = options.engine == "fixed"
    engine = "tilewright" if fixed else options.engine
    try:
        importlib.import_module(IMPORTS[engine])
        start = time.perf_counter()
        bind, facts = (None, {}) if fixed else OPEN[engine](options.model, options.threads, "f32")
        facts.setdefault("load_s", time.perf_counter() - start)
    except Exception as e:
        return print("error", one_line(f"{type(e).__name__}: {e}"), file=out, flush=True)
    calls, by_size = {}, {}
    for size in options.sizes:
        try:
            inputs, own = arrays_of(zoo_dynamic.inputs_path(options.model, size)), {}
            if fixed:
                bind, own = OPEN[engine](options.model, options.threads, "f32", dims=zoo_dynamic.dims(options.model, inputs))
            calls[size] = bind(inputs)
            start = time.perf_counter()
            results = calls[size]()
            by_size[size] = own | {"first_run_s": time.perf_counter() - start}
            if options.outputs:
                np.savez(options.outputs / f"{options.engine}@{size}.npz", **{str(i): a for i, a in enumerate(flat(results))})
            del results
        except Exception as e:
            by_size[size] = {"refusal": one_line(f"error {type(e).__name__}: {e}")}
    serve(calls, {"all": facts, "sizes": by_size}, out)


def flat(value):
    """The arrays in it: a result may be a list of maps."""
    if isinstance(value, dict):
        return [np.array(list(value.values()))]
    if isinstance(value, (list, tuple)):
        return [a for v in value for a in flat(v)]
    return [np.asarray(value)]


if __name__ == "__main__":
    main()
