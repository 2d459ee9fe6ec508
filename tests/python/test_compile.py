# SPDX-License-Identifier: Apache-2.0
"""tw.compile: what it takes and what it gives."""
import subprocess
import sys

import numpy as np
import onnx
import pytest

import tilewright as tw

X = np.array([[1, 2, 3], [-1, 0, 2]], np.float32)
B = np.array([0.5, -0.5, 1, 0], np.float32)


def test_from_model_bytes_and_path(affine, affine_result, tmp_path):
    path = tmp_path / "affine.onnx"
    onnx.save(affine, path)
    for given in (affine, affine.SerializeToString(), bytearray(affine.SerializeToString()), path, str(path)):
        y, = tw.compile(given).run({"x": X, "b": B})
        np.testing.assert_array_equal(y, affine_result(X, B))


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="cannot compile a int"):
        tw.compile(3)


def test_errors_have_the_type_of_the_package():
    with pytest.raises(tw.Error, match="onnx"):
        tw.compile(b"this is no model")
    with pytest.raises(tw.Error, match="/no/such/file.onnx"):
        tw.compile("/no/such/file.onnx")


def test_an_unknown_operator_is_named(model):
    with pytest.raises(tw.Error, match="Teleport"):
        tw.compile(model("g (float[2] x) => (float[2] y) { y = Teleport(x) }"))


def test_ports_are_described(affine):
    module = tw.compile(affine)
    assert module.inputs == [("x", "f32", ("batch", 3)), ("b", "f32", (4,))]
    assert module.outputs == [("y", "f32", ("batch", 4))]


def test_emit_prints_a_stage(affine):
    assert "matmul" in tw.emit(affine, "graph")


def test_passes_can_be_skipped(affine, affine_result):
    y, = tw.compile(affine, skip=["fuse"]).run([X, B])
    np.testing.assert_array_equal(y, affine_result(X, B))


def test_reference_agrees(affine, affine_result):
    y, = tw.reference(affine, [X, B])
    np.testing.assert_allclose(y, affine_result(X, B), rtol=1e-6)


def test_slow_kernels_are_python_warnings(affine, monkeypatch):
    native = tw._native.compile
    monkeypatch.setattr(tw._native, "compile", lambda *given: (native(*given)[0], ["kernel `matmul` runs as plain loops: why"]))
    with pytest.warns(tw.PerformanceWarning, match="kernel `matmul` runs as plain loops: why") as caught:
        tw.compile(affine)
    assert caught[0].filename == __file__


def test_kernels_are_kept_in_the_cache_unless_told_not_to(affine, affine_result, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    entries = lambda: {p: p.stat().st_ino for p in (tmp_path / "cache").rglob("*") if p.is_file()}
    made = tw.compile(affine, cache=False)
    assert len(entries()) == 1  # what was measured of the machine
    tw.compile(affine)
    first = entries()
    assert len(first) == 2
    taken = tw.compile(affine)
    assert entries() == first  # nothing was written again
    np.testing.assert_array_equal(taken.run([X, B])[0], affine_result(X, B))
    for module, name in ((made, "made"), (taken, "taken")):
        module.save(tmp_path / name)
    assert (tmp_path / "made").read_bytes() == (tmp_path / "taken").read_bytes()


PEAK = """
import resource, sys, numpy as np, tilewright as tw
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
if sys.argv[1] == "bytes":
    given = open(sys.argv[2], "rb").read()
else:
    given = sys.argv[2]
before = peak()
module = tw.compile(given, cache=False)
print(peak() - before)
x = np.zeros((1, 2048), np.float32)
assert module(x).shape == (1, 8192)
"""


@pytest.mark.parametrize("kind", ["path", "bytes"])
def test_the_weights_are_not_copied_more_than_needed(model, tmp_path, kind):
    m = model("g (float[n, 2048] x) => (float[n, 8192] y) { y = MatMul(x, w) }")
    weights = np.random.default_rng(0).random((2048, 8192), np.float32)
    m.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(m, tmp_path / "m.onnx")
    out = subprocess.run([sys.executable, "-c", PEAK, kind, tmp_path / "m.onnx"], capture_output=True, text=True, check=True)
    # Packed once for the kernel; of a file, what is read of it counts too.
    most = 1 if kind == "bytes" else 2
    assert int(out.stdout) < most * weights.nbytes + (100 << 20)


def test_errors_have_parts(model):
    with pytest.raises(tw.Error) as e:
        tw.compile(model("g (float[2] x) => (float[2] y) { y = Teleport(x) }"))
    assert e.value.code == "frontend.onnx.operator" and "Teleport" in e.value.message
    assert e.value.notes and "tw.register_op" in e.value.help and e.value.help in str(e.value)


@pytest.mark.parametrize("count", [256, 257, 600])
def test_concat_of_hundreds_of_inputs_keeps_their_order(model, count):
    """More than 256 are joined in parts."""
    names = [f"x{i}" for i in range(count)]
    inputs = ", ".join(f"float[2, {1 + i % 3}] {name}" for i, name in enumerate(names))
    width = sum(1 + i % 3 for i in range(count))
    m = model(f"g ({inputs}) => (float[2, {width}] y) {{ y = Concat <axis = 1> ({', '.join(names)}) }}")
    given = [np.full((2, 1 + i % 3), i, np.float32) + np.array([[0], [0.5]], np.float32) for i in range(count)]
    np.testing.assert_array_equal(tw.compile(m).run(given)[0], np.concatenate(given, axis=1))
