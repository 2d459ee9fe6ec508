# SPDX-License-Identifier: Apache-2.0
"""`compile --emit-c`: plain C gives the numbers of the module, on every kind of machine."""
import re
import subprocess

import numpy as np
import pytest
from onnx import numpy_helper

import tilewright as tw
from emitted import Refused, compile_model, run_c

CNN = """g (float[1, 2, 12, 12] x) => (float[1, 5] y)
         { a = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w1, b1)
           r = Relu(a)
           p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)
           c = Conv<kernel_shape = [3, 3]>(p, w2)
           t = Tanh(c)
           m = GlobalAveragePool(t)
           f = Flatten(m)
           d = Gemm<transB = 1>(f, w3, b3)
           y = Softmax(d) }"""


def with_weights(model, **shapes):
    random = np.random.default_rng(3)
    for name, shape in shapes.items():
        weight = (random.standard_normal(shape) * 0.4).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, name))
    return model


@pytest.fixture
def cnn(model):
    return with_weights(model(CNN), w1=(6, 2, 3, 3), b1=(6,), w2=(8, 6, 3, 3), w3=(5, 8), b3=(5,))


def agree(found, wanted):
    for a, b in zip(found, wanted):
        assert a.shape == b.shape
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("machine", ["host", "aarch64", "riscv64", "cortex-m"])
def test_a_convolutional_network(cnn, tmp_path, machine):
    x = np.random.default_rng(1).standard_normal((1, 2, 12, 12)).astype(np.float32)
    expected = tw.compile(cnn).run([x])
    compile_model(cnn, tmp_path, "--emit-c", "m.c")
    agree(run_c(tmp_path, machine, [x], expected), expected)


MODELS = {
    "views and copies": ("g (float[2, 6] x) => (float[3, 4] v, float[2, 6] same, int64[2] c)"
                         "<int64[2] shape = {3, 4}> { v = Reshape(x, shape) same = Identity(x) c = Identity(shape) }",
                         {"x": np.arange(12, dtype=np.float32).reshape(2, 6)}),
    "one value twice": ("g (float[4] x) => (float[4] a, float[4] b) { a = Neg(x) b = Identity(a) }",
                        {"x": np.arange(4, dtype=np.float32)}),
    "integers": ("g (int64[3, 4] x, int32[3, 4] k) => (int64[4] s, int32[3, 4] q, bool[3, 4] l)"
                 "<int64[1] axes = {0}, int32[1] three = {3}>"
                 "{ s = ReduceSum<keepdims = 0>(x, axes) q = Div(k, three) z = Cast<to = 7>(k) l = Less(x, z) }",
                 {"x": np.arange(12).reshape(3, 4) - 5, "k": np.arange(12, dtype=np.int32).reshape(3, 4)}),
    "small floats": ("g (float16[2, 8] x) => (float16[2, 8] y) <float16[8] w = {1, 2, 3, 4, 5, 6, 7, 8}>"
                     "{ m = Mul(x, w) y = Sigmoid(m) }",
                     {"x": np.linspace(-2, 2, 16).astype(np.float16).reshape(2, 8)}),
    "special values": ("g (float[4] x) => (float[4] y) <float[4] w = {1, 1, 1, 1}> "
                       "{ y = Min(x, w) }", {"x": np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)}),
    "joined parts": ("g (float[2, 3] x, float[2, 5] z) => (float[2, 8] c, float[8, 2] t)"
                     "{ c = Concat<axis = 1>(x, z) e = Exp(c) t = Transpose(e) }",
                     {"x": np.ones((2, 3), np.float32), "z": np.full((2, 5), 2, np.float32)}),
    "a scalar": ("g (float x) => (float y) { y = Sqrt(x) }", {"x": np.array(2, np.float32)}),
    "no elements": ("g (float[0, 3] x) => (float[0, 3] y, float[3] s) <int64[1] axes = {0}>"
                    "{ y = Relu(x) s = ReduceSum<keepdims = 0>(x, axes) }", {"x": np.zeros((0, 3), np.float32)}),
    "names of C": ("g (float[3] int, float[3] arena) => (float[3] weights0) <float[3] w = {1, 2, 3}>"
                   "{ s = Add(int, arena) weights0 = Mul(s, w) }",
                   {"int": np.ones(3, np.float32), "arena": np.ones(3, np.float32)}),
    "normalised rows": ("g (float[4, 16] x) => (float[4, 16] y) <float[16] scale = {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2}>"
                        "{ y = LayerNormalization(x, scale) }",
                        {"x": np.random.default_rng(2).standard_normal((4, 16)).astype(np.float32)}),
}


@pytest.mark.parametrize("what", MODELS)
def test_agrees_with_the_module(model, tmp_path, what):
    text, inputs = MODELS[what]
    given = model(text)
    expected = tw.compile(given).run(inputs)
    compile_model(given, tmp_path, "--emit-c", ".")
    agree(run_c(tmp_path, "host", list(inputs.values()), expected), expected)


def test_ram_and_flash_are_exact(cnn, tmp_path):
    printed = compile_model(cnn, tmp_path, "--emit-c", "m.c", "--cc", "gcc")
    arena, stack = map(int, re.search(r"RAM: +(\d+) bytes for the arena, (\d+) bytes of stack", printed).groups())
    weights, code = map(int, re.search(r"flash: (\d+) bytes of weights, (\d+) bytes of code", printed).groups())
    assert f"#define M_ARENA_BYTES {arena}\n" in (tmp_path / "m.h").read_text()
    # At least the model's; some are padded where a kernel reads them in pairs.
    arrays = re.findall(r"static const float \w+\[(\d+)\]", (tmp_path / "m.c").read_text())
    assert weights == 4 * sum(map(int, arrays)) >= 4 * (6 * 2 * 9 + 6 + 8 * 6 * 9 + 5 * 8 + 5)
    assert stack > 0
    subprocess.run(["gcc", "-std=c11", "-Os", "-ffreestanding", "-c", "m.c"], cwd=tmp_path, check=True)
    row = subprocess.run(["size", "m.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()[1]
    text, data, bss = map(int, row.split()[:3])
    assert (weights + code, data + bss) == (text, 0)


def test_nothing_is_imported_but_copying(cnn, tmp_path):
    compile_model(cnn, tmp_path, "--emit-c", "m.c")
    subprocess.run(["gcc", "-std=c11", "-O2", "-ffreestanding", "-c", "m.c"], cwd=tmp_path, check=True)
    listed = subprocess.run(["nm", "-u", "m.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"U (\w+)", listed)) <= {"memcpy", "memset", "_GLOBAL_OFFSET_TABLE_"}


def test_without_a_compiler_the_files_are_written(cnn, tmp_path):
    printed = compile_model(cnn, tmp_path, "--emit-c", "m.c", "--cc", "no-such-compiler")
    assert "not measured" in printed and (tmp_path / "m.c").exists()


@pytest.mark.parametrize("code, named, remedy, text", [
    ("driver.emit_c.input_shape", "`x`", "--dim n=1", "g (float[n] x) => (float[n] y) { y = Relu(x) }"),
    ("driver.emit_c.size", "NonZero", "--emit-library",
     "g (float[4] x) => (int64[1, k] y) { y = NonZero(x) }"),
    ("driver.emit_c.control", "If", "--emit-library",
     "g (bool c, float[2] x) => (float[2] y) { y = If<then_branch = t () => (float[2] a) { a = Relu(x) },"
     " else_branch = e () => (float[2] b) { b = Neg(x) }>(c) }"),
    ("driver.emit_c.type", "`x`", "--emit-library", "g (string[2] x) => (string[2] y) { y = Identity(x) }"),
    ("driver.emit_c.host", "SequenceConstruct", "--emit-library",
     "g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x, x) }"),
])
def test_what_has_no_fixed_plan_is_refused_by_name(model, tmp_path, code, named, remedy, text):
    with pytest.raises(Refused) as refused:
        compile_model(model(text), tmp_path, "--emit-c", "m.c")
    said = str(refused.value)
    assert code in said and named in said and remedy in said


def test_a_dimension_can_be_chosen(affine, affine_result, tmp_path):
    compile_model(affine, tmp_path, "--emit-c", "m.c", "--dim", "batch=2")
    x, b = np.array([[1, 2, 3], [-1, 0, 2]], np.float32), np.array([0.5, -0.5, 1, 0], np.float32)
    agree(run_c(tmp_path, "host", [x, b], [affine_result(x, b)]), [affine_result(x, b)])
