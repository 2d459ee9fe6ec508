# SPDX-License-Identifier: Apache-2.0
"""Random numbers, control flow, sequences, optionals, texts."""
import numpy as np
from onnx import TensorProto, helper

from .row import Const, Model, Row, between, node, noise

FEW = ("small", "L2")  # where the binding copies every element


def chance():
    yield Row("Bernoulli", "", lambda s: node("Bernoulli", between(0, 1, s.cube)), random=True)
    yield Row("Multinomial", "", lambda s: node("Multinomial", noise((s.pick(4, 40, 400), 100)), sample_size=s.pick(4, 40, 400)), random=True)
    yield Row("Dropout", "training", lambda s: node("Dropout", noise(s.cube), Const(np.float32(0.5)), Const(np.bool_(True))), random=True)
    for op in ("RandomNormalLike", "RandomUniformLike"):
        yield Row(op, "", lambda s, op=op: node(op, noise(s.cube)), random=True)
    for op in ("RandomNormal", "RandomUniform"):
        yield Row(op, "", lambda s, op=op: node(op, shape=s.cube), random=True)


def value(name, elem=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, elem, shape)


def control():
    def if_(s):
        model = Model()
        x, c = model.input(noise(s.cube)), model.input(np.array(True))
        branches = [helper.make_graph([helper.make_node(op, [x], [f"in_{op}"])], op, [], [value(f"in_{op}")]) for op in ("Neg", "Abs")]
        model.outputs = [model.add("If", [c], then_branch=branches[0], else_branch=branches[1])]
        return model

    def loop(s):
        model = Model()
        x = model.input(noise(s.cube))
        body = helper.make_graph([helper.make_node("Add", ["y", x], ["sum"]), helper.make_node("Identity", ["c"], ["same"])], "body",
                                 [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []), value("y")],
                                 [value("same", TensorProto.BOOL, []), value("sum")])
        model.outputs = [model.add("Loop", [model.constant(np.int64(10)), "", x], body=body)]
        return model

    def scan(s):
        model = Model()
        x, zeros = model.input(noise(s.cube)), model.constant(np.zeros(s.cube[1:], np.float32))
        body = helper.make_graph([helper.make_node("Add", ["total", "row"], ["sum"]), helper.make_node("Identity", ["sum"], ["kept"])],
                                 "body", [value("total"), value("row")], [value("sum"), value("kept")])
        model.outputs = list(model.add("Scan", [zeros, x], 2, body=body, num_scan_inputs=1))
        return model

    yield Row("If", "", if_)
    yield Row("Loop", "10 sums", loop)
    yield Row("Scan", "sums of rows", scan)


def of_sequence(s, then):
    """A sequence of three tensors, and what is made of it."""
    model = Model()
    x, y = model.input(noise(s.cube)), model.input(between(0, 1, s.cube))
    model.outputs = [then(model, model.add("SequenceConstruct", [x, y, x]))]
    return model


def sequences():
    at = lambda model, number: model.constant(np.int64(number))
    first = lambda model, sequence: model.add("SequenceAt", [sequence, at(model, 0)])
    yield Row("SequenceAt", "of SequenceConstruct", lambda s: of_sequence(s, first))
    yield Row("SequenceLength", "", lambda s: of_sequence(s, lambda m, q: m.add("SequenceLength", [q])), FEW)
    yield Row("SequenceErase", "", lambda s: of_sequence(s, lambda m, q: first(m, m.add("SequenceErase", [q, at(m, 0)]))))
    yield Row("SequenceInsert", "", lambda s: of_sequence(s, lambda m, q: first(m, m.add("SequenceInsert", [q, "x1", at(m, 0)]))))
    yield Row("SequenceInsert", "in SequenceEmpty", lambda s: of_sequence(
        s, lambda m, q: first(m, m.add("SequenceInsert", [m.add("SequenceEmpty", []), "x1"]))))
    for axis, place in enumerate(("first", "middle", "last")):
        yield Row("ConcatFromSequence", f"{place} axis", lambda s, a=axis: of_sequence(s, lambda m, q: m.add("ConcatFromSequence", [q], axis=a)))

        def split(s, axis):
            model = Model()
            parts = model.add("SplitToSequence", [model.input(noise(s.cube)), model.constant(np.int64(s.cube[axis] // 3))], axis=axis)
            model.outputs = [first(model, parts)]
            return model
        yield Row("SplitToSequence", f"in 3, {place} axis", lambda s, a=axis: split(s, a))

    def mapped(m, q):
        body = helper.make_graph([helper.make_node("Neg", ["e"], ["n"])], "body", [value("e")], [value("n")])
        return first(m, m.add("SequenceMap", [q], body=body))
    yield Row("SequenceMap", "Neg", lambda s: of_sequence(s, mapped))

    def optional(s, reader):
        model = Model()
        inside = helper.make_tensor_type_proto(TensorProto.FLOAT, s.cube)
        held = model.add("Optional", [model.input(noise(s.cube))], type=inside)
        model.outputs = [model.add(reader, [held])]
        return model
    for reader in ("OptionalGetElement", "OptionalHasElement"):
        yield Row(reader, "of Optional", lambda s, r=reader: optional(s, r), FEW)


def words(count, seed=1):
    rng = np.random.default_rng(seed)
    return np.array(["".join(rng.choice(list("abcdeXYZ "), 8)) for _ in range(count)], object)


def texts():
    count = lambda s: s.pick(50, 5000, 50000)
    yield Row("StringConcat", "", lambda s: node("StringConcat", words(count(s)), words(count(s), 2)), FEW)
    yield Row("StringSplit", "", lambda s: node("StringSplit", words(count(s)), outputs=2), FEW)
    yield Row("StringNormalizer", "lower case", lambda s: node("StringNormalizer", words(count(s)), case_change_action="LOWER", locale="C"), FEW)
    yield Row("RegexFullMatch", "", lambda s: node("RegexFullMatch", words(count(s)), pattern="[a-e]+X.*"), FEW)
    yield Row("TfIdfVectorizer", "pairs of numbers", lambda s: node(
        "TfIdfVectorizer", between(0, 20, s.count, np.int64), mode="TF", min_gram_length=2, max_gram_length=2, max_skip_count=0,
        ngram_counts=[0, 0], ngram_indexes=list(range(20)), pool_int64s=[v // 2 if v % 2 else 19 - v // 2 for v in range(40)]))
    yield Row("ImageDecoder", "", lambda s: node("ImageDecoder", picture(), version=20), ("small",))


def picture():
    """A BMP of 2x2 pixels."""
    header = b"BM" + (70).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little") + (40).to_bytes(4, "little")
    header += b"".join(v.to_bytes(n, "little") for v, n in ((2, 4), (2, 4), (1, 2), (24, 2), (0, 4), (16, 4), (0, 4), (0, 4), (0, 4), (0, 4)))
    return np.frombuffer(header + bytes(range(16)), np.uint8)


def rows():
    for part in (chance, control, sequences, texts):
        yield from part()
