# SPDX-License-Identifier: Apache-2.0
"""What `compile` takes for a model, as a path or the bytes of an ONNX model."""
import contextlib
import os
import sys
import tempfile

from ._errors import wrong_kind


def _is_torch_module(model):
    torch = sys.modules.get("torch")  # a torch module cannot be there without it
    return torch is not None and isinstance(model, torch.nn.Module)


@contextlib.contextmanager
def _exported(module, example_inputs, dynamic_shapes):
    """The path of a torch module's ONNX export."""
    import torch
    if example_inputs is None:
        raise wrong_kind("python.model.inputs", "a torch module is compiled by running it once, and no example_inputs were given",
                         "tw.compile(module, example_inputs=(x,))")
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(module.eval(), inputs, path, dynamo=True, external_data=True, dynamic_shapes=dynamic_shapes, verbose=False)
        yield path


@contextlib.contextmanager
def path_or_bytes(model, example_inputs=None, dynamic_shapes=None):
    if isinstance(model, (str, os.PathLike)):
        yield os.fspath(model)
    elif isinstance(model, (bytes, bytearray, memoryview)):
        yield bytes(model)
    elif hasattr(model, "SerializeToString"):
        yield model.SerializeToString()
    elif _is_torch_module(model):
        with _exported(model, example_inputs, dynamic_shapes) as path:
            yield path
    else:
        raise wrong_kind("python.model.kind", f"cannot compile a {type(model).__name__}", "give a path, bytes, an onnx.ModelProto or a torch.nn.Module")
