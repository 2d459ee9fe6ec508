#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantised models as ONNX Runtime's quantiser makes them: NAME.onnx, its inputs NAME.npz, and the model in f32 that it was made of.

  zoo_quantized.py [NAME ...]      makes those that are missing in build/bench/models/quantized

Static ones are calibrated on seeded noise: pairs of QuantizeLinear and DequantizeLinear around every operator that the quantiser
knows. Dynamic ones compute scales as they run.
"""
import sys
import warnings
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

import zoo
import zoo_torch

MODELS = zoo.MODELS / "quantized"


def ocr(width=320):
    """Lines of text: convolutions, an LSTM of both directions over what they see, and a letter for each place. Any width."""
    def make():
        import torch
        from torch import nn
        torch.manual_seed(0)

        def step(i, o, stride):
            return [nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU()]

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.see = nn.Sequential(*step(3, 32, 2), *step(32, 64, 1), nn.MaxPool2d(2), *step(64, 128, 1), *step(128, 128, 1),
                                         nn.MaxPool2d((2, 1)), *step(128, 256, 1), nn.MaxPool2d((2, 1)), *step(256, 256, (2, 1)))
                self.read = nn.LSTM(256, 96, bidirectional=True)
                self.say = nn.Linear(192, 4096)

            def forward(self, lines):
                y, _ = self.read(self.see(lines).squeeze(2).permute(2, 0, 1))
                return self.say(y)
        model = Model()
        zoo_torch.settle_batch_norms(model, lambda: torch.randn(2, 3, 32, 160), rounds=2)
        return model, {"lines": np.random.default_rng(0).standard_normal((1, 3, 32, width)).astype(np.float32)}, ["letters"]
    return make


def branches(name):
    """Networks of concatenated branches; googlenet without the outputs that only training wants."""
    def make():
        import torch
        import torchvision
        torch.manual_seed(0)
        settings = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
        model = getattr(torchvision.models, name)(weights=None, **settings)
        zoo_torch.settle_batch_norms(model, lambda: torch.randn(4, 3, 224, 224))
        return model, {"input": torch.randn(1, 3, 224, 224).numpy()}, ["logits"]
    return make


@dataclass
class Quantised:
    """`make` gives (module, inputs, output names); `settings` are the quantiser's."""
    make: Callable
    static: bool = True
    settings: dict = field(default_factory=dict)
    free: dict = field(default_factory=dict)


def dynamic(make, weights="QInt8", **more):
    return Quantised(make, False, {"weight_type": weights}, **more)


QUANTISED = {
    "resnet50_qdq": Quantised(zoo.TORCH["resnet50"], settings={"per_channel": True}),
    "resnet50_qdq_tensor": Quantised(zoo.TORCH["resnet50"], settings={"activation": "QInt8"}),
    "resnet18_qoperator": Quantised(zoo.TORCH["resnet18"], settings={"quant_format": "QOperator"}),
    "mobilenet_v2_qdq": Quantised(zoo.TORCH["mobilenet_v2"], settings={"per_channel": True}),
    "squeezenet_qdq": Quantised(branches("squeezenet1_1")),
    "googlenet_qdq": Quantised(branches("googlenet")),
    "densenet121_qdq": Quantised(branches("densenet121"), settings={"per_channel": True}),
    "minilm_l6_qdq": Quantised(zoo.TORCH["minilm_l6"]),
    "minilm_l6_dynamic": dynamic(zoo.TORCH["minilm_l6"]),
    "minilm_l6_dynamic_u8": dynamic(zoo.TORCH["minilm_l6"], "QUInt8"),
    "lstm_lm_dynamic": dynamic(zoo.TORCH["lstm_lm"]),
    "ocr_dynamic": dynamic(ocr(), "QUInt8", free={"lines": {3: "width"}}),
}
NAMES = list(QUANTISED)


class Noise:
    """Calibration data: the inputs, and floats of other seeds in their place."""

    def __init__(self, inputs, count=4):
        self.rounds = iter([{n: self.other(a, seed) for n, a in inputs.items()} for seed in range(count)])

    @staticmethod
    def other(array, seed):
        if seed == 0 or array.dtype != np.float32:
            return array
        return np.random.default_rng(seed).standard_normal(array.shape).astype(np.float32) * array.std() + array.mean()

    def get_next(self):
        return next(self.rounds, None)


def quantise(given, out, inputs, how):
    import logging

    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process
    logging.getLogger().setLevel(logging.ERROR)
    model = out.with_suffix(".prepared.onnx")
    quant_pre_process(given, model, skip_symbolic_shape=True)
    settings = dict(how.settings)
    weights = getattr(quantization.QuantType, settings.pop("weight_type", "QInt8"))
    if how.static:
        activation = getattr(quantization.QuantType, settings.pop("activation", "QUInt8"))
        form = getattr(quantization.QuantFormat, settings.pop("quant_format", "QDQ"))
        quantization.quantize_static(model, out, Noise(inputs), quant_format=form, activation_type=activation, weight_type=weights, **settings)
    else:
        quantization.quantize_dynamic(model, out, weight_type=weights, **settings)
    model.unlink()


def f32_path(model):
    """The model that a quantised one was made of; its inputs lie beside it."""
    return model.with_name(f"{model.stem}-f32.onnx")


def export(how, path):
    import torch
    model, inputs, outputs = how.make()
    with torch.no_grad():
        torch.onnx.export(model.eval(), tuple(torch.tensor(a) for a in inputs.values()), path, input_names=list(inputs),
                          output_names=outputs, opset_version=17, dynamo=False, dynamic_axes=how.free)
    return inputs


def make(name, folder=MODELS):
    """The model's path; made when it is not there."""
    path, how = folder / f"{name}.onnx", QUANTISED[name]
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{name}.part.onnx"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inputs = export(how, f32_path(path))
            quantise(f32_path(path), part, inputs, how)
        for file in path, f32_path(path):
            np.savez(file.with_suffix(".npz"), **inputs)
        part.rename(path)
    return path


def main():
    for name in sys.argv[1:] or NAMES:
        print(make(name).name, flush=True)


if __name__ == "__main__":
    main()
