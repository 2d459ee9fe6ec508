# SPDX-License-Identifier: Apache-2.0
"""The ONNX backend protocol: prepare(model).run(inputs), run_node, supports_device."""
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep as _BackendRep

import tilewright as tw


class Rep(_BackendRep):
    def __init__(self, module):
        self.module = module

    def run(self, inputs, **kwargs):
        return tuple(self.module.run(inputs if isinstance(inputs, dict) else list(inputs)))


class Backend(_Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        super().prepare(model, device, **kwargs)
        return Rep(tw.compile(model))

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
