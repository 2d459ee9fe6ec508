# SPDX-License-Identifier: Apache-2.0
"""Inputs that are initializers too: a run may give them or leave them out."""
import subprocess

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
from emitted import Refused, command, compile_model
from test_emit_library import run_program

X = np.arange(12, dtype=np.float32).reshape(4, 3)
W = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
B = np.array([0.5, -0.5], np.float32)


def affine(ir_version=9, columns=2, elem=TensorProto.FLOAT, weights=W, biases=B):
    """y = x * w + b, where w and b have defaults."""
    inputs = [helper.make_tensor_value_info("w", elem, [3, columns]), helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3]),
              helper.make_tensor_value_info("b", TensorProto.FLOAT, [columns])]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])], "affine", inputs,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", columns])],
                              [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(biases, "b")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=ir_version)


def test_taken_and_overridden():
    module = tw.compile(affine())
    assert [name for name, _, _ in module.inputs] == ["x", "w", "b"]
    assert module.defaults == ["w", "b"]
    for given in ({}, {"w": 2 * W}, {"b": B + 1}, {}, {"w": -W, "b": 3 * B}, {}):
        want = X @ given.get("w", W) + given.get("b", B)
        np.testing.assert_allclose(module.run({"x": X, **given})[0], want, rtol=1e-6)
        listed = [X, given.get("w"), given.get("b")]
        np.testing.assert_allclose(module.run(listed)[0], want, rtol=1e-6)
        np.testing.assert_allclose(tw.reference(affine(), listed)[0], want, rtol=1e-6)
    np.testing.assert_allclose(module(X), X @ W + B, rtol=1e-6)
    np.testing.assert_allclose(tw.reference(affine(), [X])[0], X @ W + B, rtol=1e-6)


def test_required_inputs_must_be_given():
    module = tw.compile(affine())
    with pytest.raises(tw.Error) as e:
        module.run({"w": W})
    assert e.value.code == "python.run.names" and "'x'" in str(e.value)
    with pytest.raises(tw.Error):
        module.run([])
    with pytest.raises(tw.Error):
        module.run([None])


def test_another_shape():
    module = tw.compile(affine(columns="m"))
    wide, biases = np.ones((3, 5), np.float32), np.arange(5, dtype=np.float32)
    np.testing.assert_allclose(module(X), X @ W + B, rtol=1e-6)
    np.testing.assert_allclose(module(X, wide, biases), X @ wide + biases, rtol=1e-6)
    np.testing.assert_allclose(module(X), X @ W + B, rtol=1e-6)
    with pytest.raises(tw.Error) as e:
        module(X, wide)  # the default of b has two elements
    assert "must be 5" in str(e.value)


def test_a_saved_module_keeps_them(tmp_path):
    tw.compile(affine()).save(tmp_path / "m.twm")
    module = tw.load(tmp_path / "m.twm")
    np.testing.assert_allclose(module(X), X @ W + B, rtol=1e-6)
    np.testing.assert_allclose(module(X, -W), B - X @ W, rtol=1e-6)


def test_old_models_have_constants():
    module = tw.compile(affine(ir_version=3))
    assert [name for name, _, _ in module.inputs] == ["x"] and module.defaults == []
    np.testing.assert_allclose(module(X), X @ W + B, rtol=1e-6)


def test_another_type_is_refused():
    with pytest.raises(tw.Error) as e:
        tw.compile(affine(elem=TensorProto.INT64))
    assert e.value.code == "frontend.onnx.default_type" and "`w`" in str(e.value)
    with pytest.raises(tw.Error):
        tw.compile(affine())(X, W.astype(np.float64))


def test_shapes_that_are_defaults():
    """What a run may change is not folded, though it is known what it is by default."""
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "s"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3]), helper.make_tensor_value_info("s", TensorProto.INT64, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(np.array([2, -1]), "s")])
    module = tw.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    np.testing.assert_array_equal(module(X), X.reshape(2, 6))
    np.testing.assert_array_equal(module(X, np.array([12, 1])), X.reshape(12, 1))
    np.testing.assert_array_equal(module(X), X.reshape(2, 6))


def test_large_defaults_are_warned_of():
    weights = np.ones((3, 100_000), np.float32)
    with pytest.warns(tw.PerformanceWarning, match="inputs have defaults, 1 MiB"):
        tw.compile(affine(columns=100_000, weights=weights, biases=np.ones(100_000, np.float32)))


def test_command_line(tmp_path):
    compile_model(affine(), tmp_path, "-o", "m.twm")
    np.savez(tmp_path / "x.npz", x=X)
    np.savez(tmp_path / "xw.npz", x=X, w=-W)
    np.savez(tmp_path / "w.npz", w=-W)

    def run(*arguments):
        return subprocess.run([command(), *arguments], cwd=tmp_path, capture_output=True, text=True)
    for inputs, want in (("x.npz", X @ W + B), ("xw.npz", B - X @ W)):
        for model in ("m.twm", "m.onnx"):
            done = run("run", model, "--inputs", inputs, "--outputs", "out.npz")
            assert done.returncode == 0, done.stderr
            np.testing.assert_allclose(np.load(tmp_path / "out.npz")["y"], want, rtol=1e-6)
        done = run("check", "m.onnx", "--inputs", inputs)
        assert done.returncode == 0, done.stdout + done.stderr
    for verb in ("run", "check"):
        done = run(verb, "m.onnx", "--inputs", "w.npz")
        assert done.returncode == 1 and "input `x` is missing" in done.stderr
    for arguments in (("bench", "m.twm", "--seconds", "0.1"), ("explain", "m.onnx")):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr


def test_library(tmp_path):
    compile_model(affine(), tmp_path, "--emit-library", "libaffine.so")
    printed = run_program(tmp_path, "libaffine.so", """
#include <stdio.h>
#include "libaffine.h"
int main(void) {
  const float x[] = {1, 2, 3}, b[] = {1, 2};
  float y[2];
  affine* model;
  if (affine_create(1, &model) != 0) return 1;
  if (affine_run(model, 1, x, 0, b, y) != 0) return 2;
  printf("%g %g ", y[0], y[1]);
  if (affine_run(model, 1, x, 0, 0, y) != 0) return 3;
  printf("%g %g", y[0], y[1]);
  affine_release(model);
  return 0;
}
""")
    assert printed == "23 30 22.5 27.5"


def test_c_without_a_runtime_refuses(tmp_path):
    with pytest.raises(Refused, match="driver.emit_c.default"):
        compile_model(affine(), tmp_path, "--emit-c", "m.c", "--dim", "n=1")
