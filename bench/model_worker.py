#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An engine with a model as a contender; the inputs are in MODEL.npz.

  model_worker.py ENGINE MODEL.onnx [--threads N] [--precision f32|bf16] [--outputs FILE.npz]

Prints `error` with the reason when the engine does not run the model, `absent` when it was never meant to.
"""
import argparse
import importlib
import os
import sys
import time
from pathlib import Path

import numpy as np

from engines import ENGINES, IMPORTS, Unsupported, inputs_of, one_line
from serve import serve


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--outputs", type=Path)
    options = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints
    try:
        inputs = inputs_of(options.model)
        importlib.import_module(IMPORTS[options.engine])
        start = time.perf_counter()
        call, facts = ENGINES[options.engine](options.model, inputs, options.threads, options.precision)
        if "compile_s" not in facts:
            facts["load_s"] = time.perf_counter() - start
        start = time.perf_counter()
        results = call()
        facts["first_run_s"] = time.perf_counter() - start
    except Unsupported as e:
        return print("absent", one_line(e), file=out, flush=True)
    except Exception as e:
        return print("error", one_line(f"{type(e).__name__}: {e}"), file=out, flush=True)
    if options.outputs:
        np.savez(options.outputs, **{str(i): np.array(a) for i, a in enumerate(results)})
    del results
    serve(call, facts, out)


main()
