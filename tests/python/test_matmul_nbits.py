# SPDX-License-Identifier: Apache-2.0
"""Products with weights of a few bits, against their definition and ONNX Runtime."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

ort = pytest.importorskip("onnxruntime")


def packed(numbers, bits):
    """Rows of numbers as bytes, the first in the low bits."""
    per = 8 // bits
    whole = np.zeros((*numbers.shape[:-1], -(-numbers.shape[-1] // per) * per), np.uint8)
    whole[..., :numbers.shape[-1]] = numbers
    return sum(whole[..., i::per] << np.uint8(i * bits) for i in range(per)).astype(np.uint8)


class Weights:
    """Random weights [n, k]: what the operator takes, and what they stand for."""

    def __init__(self, k, n, bits=4, block=32, zeros=None, bias=False, mixed=False, kind=np.float32, seed=0):
        rng = np.random.default_rng(seed)
        blocks, top = -(-k // block), 1 << bits
        self.k, self.n, self.bits, self.block = k, n, bits, block
        q = rng.integers(0, top, (n, blocks * block)).astype(np.uint8)  # also behind K, where nobody may look
        scale = rng.uniform(0.01, 0.1, (n, blocks)).astype(kind)
        self.inputs = {"w": packed(q, bits).reshape(n, blocks, -1), "s": scale.reshape(-1)}
        zero = np.full((n, blocks), top // 2, kind)
        if zeros == "packed":
            zero = rng.integers(0, top, (n, blocks)).astype(np.uint8)
            self.inputs["z"] = packed(zero, bits).reshape(-1)
        elif zeros == "floats":
            zero = self.inputs["z"] = rng.uniform(0, top, (n, blocks)).astype(kind)
        group = np.arange(k) // block
        if mixed:
            group = rng.permutation(group)
            self.inputs["g"] = group.astype(np.int32)
        self.bias = rng.standard_normal(n).astype(kind) if bias else np.zeros(n, kind)
        if bias:
            self.inputs["b"] = self.bias
        self.values = (q[:, :k].astype(np.float64) - zero[:, group]) * scale[:, group]

    def model(self, shape, kind=TensorProto.FLOAT, given=(), **changed):
        """`given` are inputs of the model, not constants."""
        names = ["x", *(name if name in self.inputs else "" for name in "wszgb")]
        while not names[-1]:
            names.pop()
        attributes = {"K": self.k, "N": self.n, "bits": self.bits, "block_size": self.block} | changed
        node = helper.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", **attributes)
        ports = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(self.inputs[name].dtype), self.inputs[name].shape)
                 for name in given]
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", kind, [*shape, self.k]), *ports],
                                  [helper.make_tensor_value_info("y", kind, [*shape, self.n])],
                                  [numpy_helper.from_array(v, name) for name, v in self.inputs.items() if name not in given])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def expected(self, x):
        return x.astype(np.float64) @ self.values.T + self.bias


def expect_near(got, expected, rounding=1e-6):
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=rounding * np.abs(expected).max(initial=1))


def noise(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("zeros", [None, "packed", "floats"])
@pytest.mark.parametrize("k, n, block", [(256, 128, 32), (100, 37, 32), (72, 5, 16), (16, 300, 64)])
@pytest.mark.parametrize("m", [1, 3, 16, 130])
def test_as_onnx_runtime_computes_it(m, k, n, block, zeros, tmp_path):
    weights, path, x = Weights(k, n, block=block, zeros=zeros, bias=m == 3), tmp_path / "m.onnx", noise(m, k)
    onnx.save(weights.model((m,)), path)
    got = tw.compile(path, threads=2).run({"x": x})[0]
    expect_near(got, weights.expected(x))
    expect_near(got, ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0], 5e-6)


@pytest.mark.parametrize("zeros", [None, "packed", "floats"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_any_bits_and_free_rows(bits, zeros, tmp_path):
    weights, path = Weights(90, 70, bits, 32, zeros, bias=True), tmp_path / "m.onnx"
    onnx.save(weights.model((2, "rows")), path)
    module = tw.compile(path)
    for rows in (1, 2, 9, 40):
        x = noise(2, rows, 90)
        expect_near(module.run({"x": x})[0], weights.expected(x))


@pytest.mark.parametrize("zeros", [None, "packed", "floats"])
@pytest.mark.parametrize("m", [1, 20])
def test_scales_in_another_order(m, zeros, tmp_path):
    weights, path, x = Weights(90, 70, zeros=zeros, mixed=True), tmp_path / "m.onnx", noise(m, 90)
    onnx.save(weights.model((m,)), path)
    expect_near(tw.compile(path).run({"x": x})[0], weights.expected(x))


@pytest.mark.parametrize("m", [1, 20])
def test_weights_of_the_run(m, tmp_path):
    weights, path, x = Weights(96, 70, zeros="packed"), tmp_path / "m.onnx", noise(m, 96)
    onnx.save(weights.model((m,), given="wsz"), path)
    expect_near(tw.compile(path).run({"x": x} | {name: weights.inputs[name] for name in "wsz"})[0], weights.expected(x))


def test_narrow_floats(tmp_path):
    weights, path, x = Weights(96, 70, zeros="floats", kind=np.float16), tmp_path / "m.onnx", noise(5, 96).astype(np.float16)
    onnx.save(weights.model((5,), TensorProto.FLOAT16), path)
    expect_near(tw.compile(path).run({"x": x})[0], weights.expected(x), 1e-3)


def test_no_weights_are_kept_unpacked(tmp_path):
    """One row: there is no second copy for several."""
    weights, path = Weights(512, 512), tmp_path / "m.onnx"
    onnx.save(weights.model((1,)), path)
    tw.compile(path).save(tmp_path / "m.twm")
    assert (tmp_path / "m.twm").stat().st_size < 2 * path.stat().st_size


@pytest.mark.parametrize("changed, said", [
    ({"bits": 3}, "bits 3"), ({"block_size": 0}, "block_size 0"), ({"K": 0}, "K is 0"), ({"N": 71}, "input 1 is u8[70, 3, 16]"),
    ({"bits": 2}, "input 1 is u8[70, 3, 16]"), ({"K": 65}, "K")])
def test_what_does_not_fit_is_refused(changed, said, tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(Weights(96, 70).model((2,), **changed), path)
    with pytest.raises(tw.Error) as error:
        tw.compile(path)
    assert said in str(error.value)


@pytest.mark.parametrize("name, value, said", [
    ("w", np.zeros((70, 3, 16), np.int8), "input 1 is i8[70, 3, 16]"), ("z", np.zeros((70, 3), np.int8), "input 3 is i8[70, 3]"),
    ("z", np.zeros(70, np.uint8), "input 3 is u8[70]"), ("g", np.full(96, 3, np.int32), "g_idx is i32[96]"),
    ("g", np.zeros(95, np.int32), "g_idx is i32[95]")])
def test_other_types_and_groups_are_refused(name, value, said, tmp_path):
    weights, path = Weights(96, 70), tmp_path / "m.onnx"
    weights.inputs[name] = value
    onnx.save(weights.model((2,)), path)
    with pytest.raises(tw.Error) as error:
        tw.compile(path)
    assert said in str(error.value)


def test_groups_of_the_run_are_refused(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(Weights(96, 70, mixed=True).model((2,), given="g"), path)
    with pytest.raises(tw.Error) as error:
        tw.compile(path)
    assert "ops.matmul_nbits.g_idx" in str(error.value)
