# SPDX-License-Identifier: Apache-2.0
"""Networks of torchvision and transformers for exports with free dimensions: random weights, and sizes reduced so that a run
takes some tens of milliseconds at most.

A maker gives (module, output names); `Free` adds the inputs for a size, and which of their axes are free.
"""
from dataclasses import dataclass
from typing import Callable

import numpy as np

import zoo_torch

VOCABULARY = 4096


@dataclass
class Free:
    """`inputs` makes the arrays for a size, `free` names their free axes; `traced` is the size that the exporters see."""
    make: Callable
    inputs: Callable
    free: dict
    traced: dict
    sizes: list


def noise(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def words(*shape):
    return np.random.default_rng(0).integers(10, VOCABULARY, shape).astype(np.int64)


def pictures(name, sizes, whole=False, **settings):
    """A network of torchvision on pictures of any size; `whole` is for those that give a map for each."""
    def make():
        import torch
        from torchvision import models
        torch.manual_seed(0)
        folder = models.segmentation if whole else models
        given = {"weights": None, **({"weights_backbone": None} if whole else {}), **settings}
        network = getattr(folder, name)(**given)
        zoo_torch.settle_batch_norms(network, lambda: torch.randn(4, 3, 96, 96), rounds=1)
        return (only(network, "out") if whole else network), ["map" if whole else "logits"]
    return Free(make, lambda batch, height, width: {"images": noise(batch, 3, height, width)},
                {"images": {0: "batch", 2: "height", 3: "width"}}, {"batch": 2, "height": 96, "width": 128},
                [{"batch": 1, "height": h, "width": w} for h, w in sizes])


def only(network, key):
    """A network that gives one of its results."""
    import torch

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, *given):
            return self.network(*given)[key]
    return Module()


def video(sizes):
    """The residual network of 3-D convolutions of Tran et al. 2018 with one block in each stage."""
    def make():
        import torch
        from torchvision.models.video.resnet import BasicBlock, BasicStem, Conv3DSimple, VideoResNet
        torch.manual_seed(0)
        network = VideoResNet(BasicBlock, [Conv3DSimple] * 4, [1, 1, 1, 1], BasicStem)
        zoo_torch.settle_batch_norms(network, lambda: torch.randn(2, 3, 8, 32, 32), rounds=1)
        return network, ["logits"]
    return Free(make, lambda batch, frames, height, width: {"clip": noise(batch, 3, frames, height, width)},
                {"clip": {0: "batch", 2: "frames", 3: "height", 4: "width"}}, {"batch": 2, "frames": 6, "height": 48, "width": 64},
                [{"batch": 1, "frames": n, "height": h, "width": w} for n, h, w in sizes])


def vit(batches):
    """The transformer over patches of Dosovitskiy et al. 2021, narrow: torchvision's is for one size of picture."""
    def make():
        import torch
        from torchvision.models.vision_transformer import VisionTransformer
        torch.manual_seed(0)
        network = VisionTransformer(image_size=160, patch_size=16, num_layers=6, num_heads=3, hidden_dim=192, mlp_dim=768)
        torch.nn.init.normal_(network.heads.head.weight, 0, 0.02)  # torchvision begins with zeros
        return network, ["logits"]
    return Free(make, lambda batch: {"images": noise(batch, 3, 160, 160)}, {"images": {0: "batch"}}, {"batch": 2},
                [{"batch": n} for n in batches])


def sentences(batch, length):
    mask = np.ones((batch, length), np.int64)
    mask[:, length - length // 8:] = 0
    return {"input_ids": words(batch, length), "attention_mask": mask}


SENTENCE = {n: {0: "batch", 1: "length"} for n in ("input_ids", "attention_mask")}


def bert(lengths):
    """An encoder as wide as MiniLM."""
    def make():
        import torch
        from transformers import BertConfig, BertModel
        torch.manual_seed(0)
        settings = BertConfig(vocab_size=VOCABULARY, hidden_size=384, num_hidden_layers=4, num_attention_heads=12, intermediate_size=1536)
        return only(BertModel(settings, add_pooling_layer=False), 0), ["hidden"]
    return Free(make, sentences, SENTENCE, {"batch": 2, "length": 24}, [{"batch": 1, "length": n} for n in lengths])


def t5(lengths):
    """The encoder of Raffel et al. 2020: relative positions in buckets, RMS norms."""
    def make():
        import torch
        from transformers import T5Config, T5EncoderModel
        torch.manual_seed(0)
        settings = T5Config(vocab_size=VOCABULARY, d_model=384, d_kv=64, d_ff=1024, num_layers=4, num_heads=6, feed_forward_proj="gated-gelu")
        return only(T5EncoderModel(settings), 0), ["hidden"]
    return Free(make, sentences, SENTENCE, {"batch": 2, "length": 24}, [{"batch": 1, "length": n} for n in lengths])


LAYERS, KEY_HEADS, HEAD = 4, 2, 64


def llama(sizes):
    """A decoder with grouped queries and rotary embeddings: `length` words after `past` ones, whose keys and values are inputs."""
    def make():
        import torch
        from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM
        torch.manual_seed(0)
        settings = LlamaConfig(vocab_size=VOCABULARY, hidden_size=512, intermediate_size=1376, num_hidden_layers=LAYERS, num_attention_heads=8,
                               num_key_value_heads=KEY_HEADS, max_position_embeddings=2048)

        class Decoder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.network = LlamaForCausalLM(settings)

            def forward(self, ids, mask, *before):
                cache = DynamicCache(config=settings)
                for i in range(LAYERS):
                    cache.update(before[2 * i], before[2 * i + 1], i)
                out = self.network(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True)
                kept = out.past_key_values
                return (out.logits, *(t for layer in kept.layers for t in (layer.keys, layer.values)))
        return Decoder(), ["logits"] + [f"{n}{i}" for i in range(LAYERS) for n in "kv"]

    def inputs(batch, length, past):
        out = {"ids": words(batch, length), "mask": np.ones((batch, past + length), np.int64)}
        return out | {f"past_{n}{i}": 0.5 * noise(batch, KEY_HEADS, past, HEAD) for i in range(LAYERS) for n in "kv"}
    free = {"ids": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "all"}}
    free |= {f"past_{n}{i}": {0: "batch", 2: "past"} for i in range(LAYERS) for n in "kv"}
    return Free(make, inputs, free, {"batch": 2, "length": 5, "past": 11}, [{"batch": 1, "length": n, "past": p} for n, p in sizes])


def whisper(frames):
    """The speech encoder of Radford et al. 2022: 1-D convolutions, then attention over half as many frames. Its own `forward` is for
    3,000 frames only; this one takes as many positions as there are frames."""
    def make():
        import torch
        from transformers import WhisperConfig
        from transformers.models.whisper.modeling_whisper import WhisperEncoder
        torch.manual_seed(0)
        settings = WhisperConfig(d_model=192, encoder_layers=2, encoder_attention_heads=3, encoder_ffn_dim=768, num_mel_bins=80)

        class Encoder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.network = WhisperEncoder(settings)

            def forward(self, mels):
                e, gelu = self.network, torch.nn.functional.gelu
                h = gelu(e.conv2(gelu(e.conv1(mels)))).transpose(1, 2)
                h = h + e.embed_positions.weight[:h.shape[1]]
                for layer in e.layers:
                    h = layer(h, None)
                    h = h[0] if isinstance(h, tuple) else h
                return e.layer_norm(h)
        return Encoder(), ["hidden"]
    return Free(make, lambda batch, frames: {"mels": noise(batch, 80, frames)}, {"mels": {0: "batch", 2: "frames"}},
                {"batch": 2, "frames": 120}, [{"batch": 1, "frames": n} for n in frames])


def lstm_lm(lengths):
    """The language model of zoo_torch.py, narrower."""
    def make():
        import torch
        torch.manual_seed(0)

        class Model(torch.nn.Module):
            def __init__(self, vocabulary=VOCABULARY, hidden=384):
                super().__init__()
                self.embed = torch.nn.Embedding(vocabulary, hidden)
                self.lstm = torch.nn.LSTM(hidden, hidden, 2, batch_first=True)
                self.out = torch.nn.Linear(hidden, vocabulary)

            def forward(self, ids, h, c):
                y, (h, c) = self.lstm(self.embed(ids), (h, c))
                return self.out(y), h, c
        return Model(), ["logits", "hn", "cn"]
    return Free(make, lambda batch, length: {"ids": words(batch, length), "h0": 0.1 * noise(2, batch, 384), "c0": 0.1 * noise(2, batch, 384)},
                {"ids": {0: "batch", 1: "length"}, "h0": {1: "batch"}, "c0": {1: "batch"}}, {"batch": 2, "length": 6},
                [{"batch": 1, "length": n} for n in lengths])


NETWORKS = {
    "resnet18": pictures("resnet18", [(160, 160), (224, 224), (200, 300)]),
    "mobilenet_v3": pictures("mobilenet_v3_large", [(160, 160), (224, 224), (250, 330)]),
    "regnet_y": pictures("regnet_y_400mf", [(160, 160), (224, 224), (250, 330)]),
    "shufflenet_v2": pictures("shufflenet_v2_x1_0", [(160, 160), (224, 224), (250, 330)]),
    "lraspp": pictures("lraspp_mobilenet_v3_large", [(160, 160), (224, 224), (250, 330)], whole=True),
    "video_resnet": video([(4, 48, 48), (8, 56, 56), (7, 50, 70)]),
    "vit": vit([1, 2, 3]),
    "bert": bert([17, 64, 128]),
    "t5": t5([17, 64, 128]),
    "llama": llama([(1, 128), (1, 500), (40, 0)]),
    "whisper": whisper([601, 1500, 3000]),
    "lstm_lm": lstm_lm([1, 20, 50]),
}
# Those that are raced in larger batches, too, with the rest of the size as given.
BATCHED = {"shufflenet_v2": {"height": 160, "width": 160}, "regnet_y": {"height": 96, "width": 96}, "bert": {"length": 17},
           "llama": {"length": 1, "past": 128}, "lstm_lm": {"length": 10}}


def export(name, exporter, path):
    import torch
    network = NETWORKS[name]
    module, outputs = network.make()
    inputs = network.inputs(**network.traced)
    given = tuple(torch.tensor(a) for a in inputs.values())
    with torch.no_grad():
        if exporter == "dynamo":
            free = tuple(network.free.get(n, {}) for n in inputs)
            torch.onnx.export(module.eval(), given, path, input_names=list(inputs), output_names=outputs, dynamo=True,
                              dynamic_shapes=shapes(module, free), external_data=False, verbose=False)
        else:
            torch.onnx.export(module.eval(), given, path, input_names=list(inputs), output_names=outputs, dynamo=False,
                              opset_version=17, dynamic_axes=network.free)


def shapes(module, free):
    """As torch.export wants them: what *before takes is one tuple."""
    import inspect
    parameters = inspect.signature(module.forward).parameters.values()
    plain = sum(p.kind != p.VAR_POSITIONAL for p in parameters)
    return free if plain == len(parameters) else (*free[:plain], tuple(free[plain:]))
