#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models as they come, with free dimensions, and the sizes that they are raced at: NAME.onnx, and for each size NAME@SIZE.npz.

  zoo_dynamic.py [NAME ...]      makes those that are missing in build/bench/models/dynamic

They are files of PyPI packages, as they are, and the networks of zoo_free.py through both exporters of torch: NAME-script (the older
one, dynamo=False) and NAME-dynamo. Some are raced in larger batches, too.
"""
import shutil
import sys
import warnings
from dataclasses import dataclass
from typing import Callable

import numpy as np

import zoo
import zoo_free

MODELS = zoo.MODELS / "dynamic"
EXPORTERS = ("dynamo", "script")


@dataclass
class Packaged:
    """A file in its package. `inputs` makes the arrays for a size; a model without free dimensions has one size, without numbers."""
    file: str
    inputs: Callable
    sizes: list


def random(*shape, low=0.0, high=1.0):
    return np.random.default_rng(0).uniform(low, high, shape).astype(np.float32)


def of_batches(*counts):
    return [{"batch": n} for n in counts]


def of_pages(*sizes):
    return [{"batch": 1, "height": h, "width": w} for h, w in sizes]


def pages(batch, height, width):
    return {"x": np.ascontiguousarray(np.repeat(zoo.picture(width, height), batch, 0))}


def vad(batch=1, samples=576):
    """A chunk of sound with what came before it: 576 samples at 16 kHz, or 288 at 8 kHz."""
    return {"input": random(batch, samples, low=-0.2, high=0.2), "state": np.zeros((2, batch, 128), np.float32)}


def vad_at_rate(batch, samples=576):
    return vad(batch, samples) | {"sr": np.array(16000 if samples == 576 else 8000, np.int64)}


def vad_chunks(chunks):
    state = {n: np.zeros((1, 1, 128), np.float32) for n in "hc"}
    return {"input": random(chunks, 576, low=-0.2, high=0.2)} | state


TWO_RATES = [{"batch": 1, "samples": 576}, {"batch": 3, "samples": 576}, {"batch": 1, "samples": 288}]
PACKAGED = {
    "silero_vad": Packaged("silero_vad/data/silero_vad.onnx", vad_at_rate, TWO_RATES),
    "silero_vad_op18_ifless": Packaged("silero_vad/data/silero_vad_op18_ifless.onnx", vad_at_rate, TWO_RATES),
    "silero_vad_16k_op15": Packaged("silero_vad/data/silero_vad_16k_op15.onnx", vad_at_rate, of_batches(1, 3, 8)),
    "silero_vad_half": Packaged("silero_vad/data/silero_vad_half.onnx", vad, of_batches(1, 3, 8)),
    "silero_vad_sequence": Packaged("silero_vad/data/silero_vad_16k_sequence.onnx", vad_chunks, [{"chunks": n} for n in (1, 31, 100)]),
    "silero_vad_openvino": Packaged("silero_vad/data/silero_vad_openvino_16k.onnx", vad, [{}]),
    "basic_pitch": Packaged("basic_pitch/saved_models/icassp_2022/nmp.onnx",
                            lambda batch: {"serving_default_input_2:0": random(batch, 43844, 1, low=-0.5, high=0.5)}, of_batches(1, 2, 3)),
    "nudenet": Packaged("nudenet/320n.onnx", lambda batch, height, width: {"images": random(batch, 3, height, width)},
                        of_pages((160, 160), (320, 320), (224, 416))),
    "magika": Packaged("magika/models/standard_v3_3/model.onnx",
                       lambda batch: {"bytes": np.random.default_rng(0).integers(0, 256, (batch, 2048)).astype(np.int32)},
                       of_batches(1, 2, 3)),
    "ppocr_v6_det": Packaged("rapidocr/models/PP-OCRv6_det_small.onnx", pages, of_pages((320, 320), (192, 640), (480, 480))),
    "ppocr_v6_rec": Packaged("rapidocr/models/PP-OCRv6_rec_small.onnx", pages, of_pages((48, 160), (48, 320), (48, 648))),
    "ppocr_v4_det": Packaged("rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", pages, of_pages((320, 320), (192, 640), (480, 480))),
    "ppocr_v4_rec": Packaged("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", pages, of_pages((48, 160), (48, 320), (48, 648))),
    # The same file is in rapidocr.
    "ppocr_cls": Packaged("rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", pages, of_pages((48, 192), (80, 160), (320, 320))),
    "mul_1": Packaged("onnxruntime/datasets/mul_1.onnx", lambda: {"X": random(3, 2)}, [{}]),
    "sigmoid": Packaged("onnxruntime/datasets/sigmoid.onnx", lambda: {"x": random(3, 4, 5)}, [{}]),
    "logreg_iris": Packaged("onnxruntime/datasets/logreg_iris.onnx", lambda: {"float_input": random(3, 2, high=7.0)}, [{}]),
}
# Batches of one size; what zoo_free.py has is taken through dynamo only.
BATCHED = {"magika": {}} | {f"{name}-dynamo": size for name, size in zoo_free.BATCHED.items()}
BATCHES = (8, 32)
NAMES = [*PACKAGED, *(f"{network}-{exporter}" for network in zoo_free.NETWORKS for exporter in EXPORTERS)]


def source(name):
    """What makes its inputs and lists its sizes."""
    return PACKAGED[name] if name in PACKAGED else zoo_free.NETWORKS[name.rpartition("-")[0]]


def label(size):
    """1x224x224; a model without free dimensions has the size `fixed`."""
    return "x".join(str(n) for n in size.values()) or "fixed"


def sizes(name):
    """By label: the three of all models, then larger batches."""
    return {label(size): size for size in source(name).sizes} | larger(name)


def larger(name):
    return {label(size): size for n in BATCHES if name in BATCHED for size in [{"batch": n, **BATCHED[name]}]}


def inputs_path(model, size):
    return model.with_name(f"{model.stem}@{size}.npz")


def make(name, folder=MODELS):
    """The model's path; it and its inputs are made when they are not there."""
    path = folder / f"{name}.onnx"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{name}.part"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name in PACKAGED:
                shutil.copyfile(zoo.PACKAGES / PACKAGED[name].file, part)
            else:
                zoo_free.export(*name.rsplit("-", 1), part)
        part.rename(path)
    for text, size in sizes(name).items():
        if not inputs_path(path, text).exists():
            np.savez(inputs_path(path, text), **source(name).inputs(**size))
    return path


def dims(model, inputs):
    """The value of each free dimension, by the names that our compiler gives them, for inputs of some size."""
    import onnx
    out = {}
    graph = onnx.load(model, load_external_data=False).graph
    defaults = {t.name for t in graph.initializer}
    for info in graph.input:
        if info.name in defaults:
            continue
        for axis, (dim, size) in enumerate(zip(info.type.tensor_type.shape.dim, inputs[info.name].shape)):
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                continue
            named = dim.dim_param not in ("", "?")
            out[dim.dim_param if named else f"{info.name}_{axis}"] = size
    return out


def main():
    for name in sys.argv[1:] or NAMES:
        print(make(name).name, flush=True)


if __name__ == "__main__":
    main()
