# SPDX-License-Identifier: Apache-2.0
"""Every mistake is a tw.Error with a code that docs/errors.md lists, in the user's words, with a remedy."""
import pathlib
import re

import numpy as np
import pytest

import tilewright as tw

ROOT = pathlib.Path(__file__).parents[2]
X, B = np.ones((2, 3), np.float32), np.ones(4, np.float32)


@pytest.fixture
def module(affine):
    return tw.compile(affine)


def program():
    a = tw.te.placeholder("A", "f32", (4,))
    return tw.te.program("p", [a], tw.te.compute("C", (4,), lambda i: a[i] + 1.0))


MISTAKES = {
    "a dimension as text": (lambda m, a: tw.compile(a, dims={"batch": "x"}), "the dimension 'batch' is given as 'x'", TypeError),
    "a dimension as float": (lambda m, a: tw.compile(a, dims={"batch": 2.5}), "the dimension 'batch' is given as 2.5", TypeError),
    "half a range": (lambda m, a: tw.compile(a, dims={"batch": (1,)}), r"'batch' is given as \(1,\)", TypeError),
    "a range of text": (lambda m, a: tw.compile(a, dims={"batch": ("1", "2")}), "'batch' is given", TypeError),
    "points that are none": (lambda m, a: tw.compile(a, dims={"batch": (1, 2, 3)}), "'batch' is given", TypeError),
    "a negative dimension": (lambda m, a: tw.compile(a, dims={"batch": -1}), "batch", ValueError),
    "a dimension that is too large": (lambda m, a: tw.compile(a, dims={"batch": (1, 1 << 40)}), "batch", ValueError),
    "an empty range": (lambda m, a: tw.compile(a, dims={"batch": (5, 1)}), "batch", ValueError),
    "no such dimension": (lambda m, a: tw.compile(a, dims={"bitch": 1}), "`bitch`", ValueError),
    "dims that are none": (lambda m, a: tw.compile(a, dims=5), "dims is 5", TypeError),
    "no model": (lambda m, a: tw.compile(5), "cannot compile a int", TypeError),
    "a model that is not there": (lambda m, a: tw.compile("none.onnx"), "`none.onnx`", ValueError),
    "no module": (lambda m, a: tw.load("none.twm"), "`none.twm`", ValueError),
    "a module of garbage": (lambda m, a: tw.load(b"x" * 100), "module", ValueError),
    "too many threads": (lambda m, a: tw.compile(a, threads=100000), "100000 threads", ValueError),
    "threads below none": (lambda m, a: tw.compile(a, threads=-7), "-7 threads", ValueError),
    "threads of a kernel": (lambda m, a: tw.Schedule(program()).build(-3), "-3 threads", ValueError),
    "no inputs": (lambda m, a: m.run(None), r"the inputs are None.*\n.*\['x', 'b'\]", TypeError),
    "a number for inputs": (lambda m, a: m.run(5), "the inputs are 5", TypeError),
    "too few inputs": (lambda m, a: m.run([X]), "has 2 inputs, 1 were given", ValueError),
    "another name": (lambda m, a: m.run({"x": X, "c": B}), "missing.*'b'.*not known.*'c'", ValueError),
    "None": (lambda m, a: m(None, B), "input `x` is None", TypeError),
    "a sequence": (lambda m, a: m([X], B), "input `x`", ValueError),
    "another shape": (lambda m, a: m(X[0], B), "`x`", ValueError),
    "another type": (lambda m, a: m(X.astype(int), B), "`x`.*i64.*f32", ValueError),
    "no element type": (lambda m, a: m(np.zeros((2, 3), "M8[s]"), B), r"`x`.*datetime64.*\n.*astype", TypeError),
    "a ragged list": (lambda m, a: m([[1, 2], [3]], B), "input `x`", ValueError),
    "no function": (lambda m, a: tw.register_op("d", "n", te=5), "the te of d::n is 5", TypeError),
    "no program": (lambda m, a: tw.Schedule(5), "the program is `5`", TypeError),
    "no shape": (lambda m, a: tw.te.placeholder("A", "f32", "ab"), "the shape of 'A' is 'ab', a str", TypeError),
    "threads as text": (lambda m, a: tw.compile(a, threads="x"), "`threads` is 'x', a str", TypeError),
    "threads in part": (lambda m, a: tw.load(b"", threads=1.5), "`threads` is 1.5", TypeError),
    "a target that is none": (lambda m, a: tw.compile(a, target=5), "`target` is 5", TypeError),
    "a target of a schedule": (lambda m, a: tw.Schedule(program(), 5), "`target` is 5", TypeError),
    "no instructions": (lambda m, a: tw.Schedule(program(), instructions=["x"]), "`instructions` is 'x'", TypeError),
    "passes that are none": (lambda m, a: tw.compile(a, skip=5), "`skip` is 5", TypeError),
    "one pass": (lambda m, a: tw.compile(a, skip="fuse"), "`skip` is 'fuse'.*\n.*list of names", TypeError),
    "a precision that is none": (lambda m, a: tw.compile(a, precision=16), "`precision` is 16", TypeError),
    "records that are none": (lambda m, a: tw.compile(a, records=5), "`records` is 5", TypeError),
    "a stage that is none": (lambda m, a: tw.emit(a, 5), "`stage` is 5", TypeError),
    "a place that is none": (lambda m, a: m.save(5), "`path` is 5", TypeError),
    "a module that is none": (lambda m, a: tw.load(5), "`twm` is 5", TypeError),
    "an unknown precision": (lambda m, a: tw.compile(a, precision="f8"), "f8", ValueError),
    "an unknown target": (lambda m, a: tw.compile(a, target="vax"), "vax", ValueError),
    "an unknown stage": (lambda m, a: tw.emit(a, "soup"), "soup", ValueError),
    "an unknown pass": (lambda m, a: tw.compile(a, skip=["soup"]), "soup", ValueError),
    "inputs of a kernel": (lambda m, a: tw.Schedule(program()).interpret(X), "`A`", ValueError),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_an_error_with_a_remedy(module, affine, mistake):
    call, words, kind = MISTAKES[mistake]
    with pytest.raises(tw.Error, match=words) as e:
        call(module, affine)
    assert isinstance(e.value, kind), type(e.value)
    assert e.value.help and e.value.message
    assert f"- `{e.value.code}`:" in (ROOT / "docs/errors.md").read_text()


def test_no_plain_exception_is_raised():
    """The package raises its own errors, apart from the protocols of Python that ask for others."""
    for file in [*ROOT.glob("python/tilewright/*.py"), *ROOT.glob("python/bindings/*.cpp")]:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            plain = re.search(r"raise (?!BufferError|NotImplementedError)(\w*Error|\w*Exception)\b|nb::(type|value|index|key)_error\b|std::runtime_error", line)
            assert not plain, f"{file.name}:{number}: {line.strip()}"
