# SPDX-License-Identifier: Apache-2.0
"""A random valid model of 3 to 25 nodes for a seed, now and then with a pattern at its end, with inputs. Some are for products
of bf16, some for indices out of range: their metadata says how `check` runs them."""
import random

from onnx import helper

import compute
import control
import elementwise
import feature_maps
import indices
import layers
import movement
import narrow
import patterns
import quantized
import resampling
from check import HOW
from graph import Graph

EMITTERS = {**elementwise.EMITTERS, **movement.EMITTERS, **compute.EMITTERS, **layers.EMITTERS, **quantized.EMITTERS,
            **control.EMITTERS}
PATTERNS = {**patterns.EMITTERS, **resampling.EMITTERS, feature_maps.feature_maps: 5}


def any_graph(g):
    rng = g.rng
    for _ in range(rng.randint(1, 2)):
        g.input(g.float, [g.extent() for _ in range(rng.choices([0, 1, 2, 3, 4], [1, 2, 5, 6, 6])[0])])
    if rng.random() < 0.4:
        g.input(rng.choice(["i32", "i64"]), [g.extent() for _ in range(rng.randint(0, 3))])
    if rng.random() < 0.2:
        g.input(rng.choice(["i8", "u8"]), [g.extent() for _ in range(rng.randint(0, 3))], 100)
    if rng.random() < 0.3:
        g.input("bool", [g.extent() for _ in range(rng.randint(0, 3))])
    wanted = rng.randint(3, 25)
    emitters, weights = list(EMITTERS), list(EMITTERS.values())
    for _ in range(6 * wanted):
        if len(g.nodes) >= wanted:
            break
        rng.choices(emitters, weights)[0](g)
    if rng.random() < 0.45:
        rng.choices(list(PATTERNS), list(PATTERNS.values()))[0](g)


#        kind: (share, what makes the graph, how it is run)
KINDS = {"any": (15, any_graph, ""), "free": (5, any_graph, ""), "bf16": (3, narrow.graph, "bf16"), "in range": (1, lambda g: indices.indexed(g, False), ""),
         "out of range": (1, lambda g: indices.indexed(g, True), "refusal")}


def generate(seed):
    """(model, inputs, inputs of other sizes)"""
    kind, = random.Random(f"kind {seed}").choices(list(KINDS), [share for share, _, _ in KINDS.values()])
    _, fill, how = KINDS[kind]
    g = Graph(seed, free=kind == "free")
    fill(g)
    model, feeds = g.model()
    if how:
        helper.set_model_props(model, {HOW: how})
    others = {"any": 1, "free": 2}.get(kind, 0)
    return model, feeds, g.other_feeds(feeds, g.rng, others)
