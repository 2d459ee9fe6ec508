# SPDX-License-Identifier: Apache-2.0
"""Makes the models of this folder with PyTorch's two exporters: python export.py (needs torch and onnx)."""
import math
import pathlib

import onnx
import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).parent


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def layer_norm():
    norm = nn.LayerNorm(16, eps=1e-6)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    return norm


def written_softmax(x):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


class Attention(nn.Module):
    def __init__(self, whole):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(16, 16) for _ in range(4))
        self.whole = whole

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = (f(x).view(b, t, 2, 8).transpose(1, 2) for f in (self.q, self.k, self.v))
        if self.whole:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            y = (q @ k.transpose(-1, -2) / math.sqrt(8) + mask).softmax(-1) @ v
        return self.o(y.transpose(1, 2).reshape(b, t, c))


def rotary(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


torch.manual_seed(0)
X, TOKENS, MASK = torch.randn(2, 5, 16), torch.randn(2, 6, 16), torch.randn(1, 1, 6, 6)
MODELS = {
    "layer_norm": (layer_norm(), (X,)),
    "rms_norm": (RmsNorm(), (X,)),
    "gelu": (Of(F.gelu), (X,)),
    "gelu_tanh": (Of(lambda x: F.gelu(x, approximate="tanh")), (X,)),
    "swish": (Of(F.silu), (X,)),
    "hard_swish": (Of(F.hardswish), (X,)),
    "softmax": (Of(written_softmax), (X,)),
    "attention": (Attention(False), (TOKENS, MASK)),
    "sdpa": (Attention(True), (TOKENS, MASK)),
    "rotary": (Of(rotary), (torch.randn(2, 4, 6, 8), torch.randn(6, 8), torch.randn(6, 8))),
}


def plain(model):
    """Without what tells about the machine that exported it."""
    def strip(message):
        for field in ("doc_string", "metadata_props"):
            message.ClearField(field)
    for message in (model, model.graph, *model.graph.node, *model.graph.input, *model.graph.output,
                    *model.graph.value_info, *model.graph.initializer):
        strip(message)
    return model


for name, (module, args) in MODELS.items():
    for dynamo, opset in ((False, 14), (False, 17), (True, 18), (True, 20)):
        path = HERE / f"{name}_{'dynamo' if dynamo else 'script'}_{opset}.onnx"
        more = {"external_data": False} if dynamo else {}
        torch.onnx.export(module.eval(), args, path, opset_version=opset, dynamo=dynamo, **more)
        onnx.save(plain(onnx.load(path)), path)
