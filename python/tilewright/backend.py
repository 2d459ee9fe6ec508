# SPDX-License-Identifier: Apache-2.0
"""The ONNX backend protocol: prepare(model).run(inputs), run_node, supports_device."""
import numpy as np
from onnx import defs, helper
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
        return Rep(tw.compile(model))

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one node; the types of its outputs are inferred."""
        super().run_node(node, inputs, device, outputs_info, **kwargs)
        arrays = [np.asarray(x) for x in inputs]
        names = [name for name in node.input if name]
        graph = helper.make_graph(
            [node], "node",
            [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, arrays)],
            [helper.make_empty_tensor_value_info(name) for name in node.output if name])
        opset = kwargs.get("opset_version", defs.onnx_opset_version() if node.domain in ("", "ai.onnx") else 1)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])
        return cls.prepare(model, device).run(arrays)

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        return cls.supports_device(device)


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
