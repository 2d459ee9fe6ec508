# SPDX-License-Identifier: Apache-2.0
"""Models made by PyTorch from seeds: architectures that people deploy, with random weights.

A maker gives (module, {input name: array}, output names). Batch norms get the statistics of seeded noise, so that values
stay finite and differ from channel to channel.
"""
import json

import numpy as np


def vision(name):
    def make():
        import torch
        import torchvision
        torch.manual_seed(0)
        model = getattr(torchvision.models, name)(weights=None)
        settle_batch_norms(model, lambda: torch.randn(4, 3, 224, 224))
        return model, {"input": torch.randn(1, 3, 224, 224).numpy()}, ["logits"]
    return make


def settle_batch_norms(model, noise, rounds=4):
    import torch
    for m in model.modules():
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.momentum = None  # the average over all rounds
            torch.nn.init.uniform_(m.weight, 0.5, 1.5)
            torch.nn.init.normal_(m.bias, 0, 0.1)
    model.train()
    with torch.no_grad():
        for _ in range(rounds):
            model(noise())
    model.eval()


def empty():
    """What calling a model costs."""
    import torch
    return torch.nn.ReLU(), {"x": np.zeros(1, np.float32)}, ["y"]


def dqn():
    """The network of Mnih et al. 2015 that plays Atari games."""
    import torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                          nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(),
                          nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 18))
    return model, {"frames": torch.rand(1, 4, 84, 84).numpy()}, ["q"]


def dcgan():
    """The generator of Radford et al. 2016: 64 x 64 pictures from 100 numbers."""
    import torch
    from torch import nn
    torch.manual_seed(0)

    def up(i, o, stride, border):
        return [nn.ConvTranspose2d(i, o, 4, stride, border, bias=False), nn.BatchNorm2d(o), nn.ReLU()]
    model = nn.Sequential(*up(100, 512, 1, 0), *up(512, 256, 2, 1), *up(256, 128, 2, 1), *up(128, 64, 2, 1),
                          nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh())
    settle_batch_norms(model, lambda: torch.randn(16, 100, 1, 1))
    return model, {"z": torch.randn(1, 100, 1, 1).numpy()}, ["image"]


def lstm_lm():
    """A language model of two LSTM layers over 35 words (Zaremba et al. 2014, medium)."""
    import torch
    from torch import nn
    torch.manual_seed(0)

    class Model(nn.Module):
        def __init__(self, vocabulary=10000, hidden=650, layers=2):
            super().__init__()
            self.embed = nn.Embedding(vocabulary, hidden)
            self.lstm = nn.LSTM(hidden, hidden, layers)
            self.out = nn.Linear(hidden, vocabulary)

        def forward(self, ids, h, c):
            y, (h, c) = self.lstm(self.embed(ids), (h, c))
            return self.out(y), h, c
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 10000, (35, 1)).astype(np.int64)
    h, c = ((rng.standard_normal((2, 1, 650)) * 0.1).astype(np.float32) for _ in range(2))
    return Model(), {"ids": ids, "h0": h, "c0": c}, ["logits", "hn", "cn"]


def bert(config=None, weights=None, words=128):
    """The encoder of Devlin et al. 2018 with its pooler; `config` and `weights` are files."""
    def make():
        import torch
        from torch import nn
        from transformers import BertConfig, BertModel
        torch.manual_seed(0)
        settings = BertConfig(**bert_settings(config)) if config else BertConfig()
        settings._attn_implementation = "eager"
        encoder = BertModel(settings, add_pooling_layer=True)
        if weights:
            from safetensors.torch import load_file
            encoder.load_state_dict({k.removeprefix("bert."): v for k, v in load_file(weights).items()}, strict=False)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = encoder

            def forward(self, ids, mask, types):
                added = (1.0 - mask[:, None, None, :].to(torch.float32)) * -1e4
                h = self.encoder.embeddings(input_ids=ids, token_type_ids=types)
                for layer in self.encoder.encoder.layer:
                    h = layer(h, added)
                    h = h[0] if isinstance(h, tuple) else h
                return h, self.encoder.pooler(h)
        ids = np.random.default_rng(0).integers(1000, settings.vocab_size, (1, words)).astype(np.int64)
        mask = np.ones((1, words), np.int64)
        mask[:, words - words // 8:] = 0
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros((1, words), np.int64)}
        return Model(), inputs, ["hidden", "pooled"]
    return make


def bert_settings(config):
    given = json.loads(config.read_text())
    return {k: given[k] for k in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size",
                                  "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "hidden_act")}


def gpt2(new, past):
    """GPT-2 small: `new` words at once, after `past` ones whose keys and values are inputs."""
    def make():
        import torch
        from torch import nn
        torch.manual_seed(0)
        width, heads, layers, vocabulary, positions = 768, 12, 12, 50257, 1024

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
                self.gelu = nn.GELU(approximate="tanh")

            def forward(self, x, past_k, past_v, mask):
                words = x.shape[1]
                q, k, v = (t.reshape(1, words, heads, width // heads).transpose(1, 2)
                           for t in self.qkv(self.norm1(x)).split(width, dim=2))
                if past_k is not None:
                    k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
                scores = (q @ k.transpose(-1, -2)) * (width // heads) ** -0.5
                scores = scores if mask is None else scores + mask
                y = scores.softmax(-1) @ v
                x = x + self.project(y.transpose(1, 2).reshape(1, words, width))
                return x + self.down(self.gelu(self.up(self.norm2(x)))), k, v

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
                self.blocks = nn.ModuleList(Block() for _ in range(layers))
                self.norm = nn.LayerNorm(width)
                self.head = nn.Linear(width, vocabulary, bias=False)
                for p in self.parameters():
                    if p.dim() > 1:
                        nn.init.normal_(p, 0, 0.02)
                self.head.weight = self.words.weight
                self.register_buffer("mask", torch.full((new, new), -1e4).triu(1) if new > 1 else None)

            def forward(self, ids, places, *before):
                x, made = self.words(ids) + self.places(places), []
                for i, block in enumerate(self.blocks):
                    k, v = (before[2 * i], before[2 * i + 1]) if before else (None, None)
                    x, k, v = block(x, k, v, self.mask)
                    made += [k, v]
                return (self.head(self.norm(x)), *made)
        rng = np.random.default_rng(0)
        inputs = {"ids": rng.integers(0, vocabulary, (1, new)).astype(np.int64),
                  "pos": np.arange(past, past + new, dtype=np.int64)[None]}
        for i in range(layers if past else 0):
            for n in "kv":
                inputs[f"past_{n}{i}"] = (rng.standard_normal((1, heads, past, width // heads)) * 0.5).astype(np.float32)
        return Model(), inputs, ["logits"] + [f"{n}{i}" for i in range(layers) for n in "kv"]
    return make
