# SPDX-License-Identifier: Apache-2.0
"""Module.run: inputs, outputs and their memory."""
import threading

import numpy as np
import pytest

import tilewright as tw

B = np.array([0.5, -0.5, 1, 0], np.float32)


def rows(n):
    return np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32)


@pytest.fixture
def module(affine):
    return tw.compile(affine)


def test_dict_list_and_call(module, affine_result):
    x = rows(3)
    expected = affine_result(x, B)
    np.testing.assert_allclose(module.run({"b": B, "x": x})[0], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(module.run([x, B])[0], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(module(x, B), expected, rtol=1e-5, atol=1e-6)


def test_every_size(module, affine_result):
    for n in (0, 1, 2, 7, 8, 33, 300):
        y = module(rows(n), B)
        assert y.shape == (n, 4)
        np.testing.assert_allclose(y, affine_result(rows(n), B), rtol=1e-5, atol=1e-5)


def test_declared_range(affine, affine_result):
    module = tw.compile(affine, dims={"batch": (1, 32)})
    for n in (1, 32):
        np.testing.assert_allclose(module(rows(n), B), affine_result(rows(n), B), rtol=1e-5, atol=1e-5)
    for n in (0, 33):
        with pytest.raises(ValueError, match="`x`"):
            module(rows(n), B)


def test_declared_value(affine):
    module = tw.compile(affine, dims={"batch": 5})
    assert module.inputs[0] == ("x", "f32", (5, 3))


@pytest.mark.parametrize("x, words", [
    (np.zeros((2, 4), np.float32), "`x`"),
    (np.zeros((2, 3, 1), np.float32), "`x`"),
    (np.zeros((2, 3), np.float64), "`x`.*f64.*f32"),
    (np.zeros((2, 3), np.int32), "`x`.*i32.*f32"),
    (np.array([["a", "b", "c"]]), "`x`"),
    (None, "`x`"),
    ([np.zeros((2, 3), np.float32)], "`x`"),
])
def test_wrong_inputs_are_named(module, x, words):
    with pytest.raises(tw.Error, match=words):
        module.run({"x": x, "b": B})
    assert module(rows(1), B).shape == (1, 4)  # and the module still runs


def test_wrong_names(module):
    with pytest.raises(ValueError, match="missing.*'b'.*not known.*'c'"):
        module.run({"x": rows(1), "c": B})
    with pytest.raises(ValueError, match="has 2 inputs, 1 were given"):
        module.run([rows(1)])


def test_unknown_dtype_has_a_remedy(module):
    with pytest.raises(TypeError, match=r"datetime64.*\n.*astype"):
        module(np.zeros((1, 3), "datetime64[s]"), B)


def test_strided_and_unaligned_inputs(module, affine_result):
    x = rows(6)
    np.testing.assert_allclose(module(x[::2], B), affine_result(x[::2], B), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(module(np.asfortranarray(x), B), affine_result(x, B), rtol=1e-5, atol=1e-6)
    odd = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)
    odd[:] = x
    np.testing.assert_array_equal(module(odd, B), module(x, B))
    x.flags.writeable = False
    assert module(x, B).shape == (6, 4)


def test_inputs_are_not_copied():
    from tilewright._arrays import to_native
    x = rows(4)
    assert to_native(x)[2].__array_interface__["data"][0] == x.__array_interface__["data"][0]


def test_dlpack_inputs_are_not_copied(module, affine_result):
    class Foreign:
        """Knows DLPack and nothing else."""
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()
    from tilewright._arrays import to_native
    x = rows(4)
    assert to_native(Foreign(x))[2].__array_interface__["data"][0] == x.__array_interface__["data"][0]
    np.testing.assert_allclose(module(Foreign(x), B), affine_result(x, B), rtol=1e-5, atol=1e-6)


def test_outputs_own_their_memory(affine, affine_result):
    module = tw.compile(affine)
    results = [module(rows(n), B) for n in (3, 4, 3, 5)]
    del module
    for n, y in zip((3, 4, 3, 5), results):
        np.testing.assert_allclose(y, affine_result(rows(n), B), rtol=1e-5, atol=1e-6)
        y[:] = 0  # theirs to write
    assert np.from_dlpack(results[0]).shape == (3, 4)


def test_an_output_that_is_an_input_or_a_constant(model):
    module = tw.compile(model("g (float[n] x) => (float[n] y, float[2] c) <float[2] c = {1, 2}> { y = Identity(x) }"))
    x = np.array([3, 4], np.float32)
    y, c = module.run([x])
    y[:] = 0
    c[:] = 0
    np.testing.assert_array_equal(x, [3, 4])
    np.testing.assert_array_equal(module.run([x])[1], [1, 2])


def test_same_bits_for_every_number_of_threads(model):
    source = model("""g (float[n, 64] x, float[64, 96] w) => (float[n, 96] y, float[n] r)
        { p = MatMul(x, w)  y = Softmax(p)  q = ReduceSum<keepdims = 0>(y, a)  r = Tanh(q) }""".replace(
        "=> (float[n, 96] y, float[n] r)", "=> (float[n, 96] y, float[n] r) <int64[1] a = {1}>"))
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((77, 64)).astype(np.float32), rng.standard_normal((64, 96)).astype(np.float32)
    first = tw.compile(source, threads=1).run([x, w])
    two = tw.compile(source, threads=2)
    for _ in range(100):
        for a, b in zip(first, two.run([x, w])):
            assert a.tobytes() == b.tobytes()


def test_python_threads_share_a_module(module, affine_result):
    wrong = []

    def work(seed):
        for n in range(seed, seed + 40):
            if not np.allclose(module(rows(n), B), affine_result(rows(n), B), rtol=1e-5, atol=1e-5):
                wrong.append(n)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in (0, 50, 100)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_save_and_load(module, tmp_path):
    path = tmp_path / "affine.twm"
    module.save(path)
    for given in (path, str(path), path.read_bytes()):
        loaded = tw.load(given, threads=1)
        assert loaded.inputs == module.inputs
        np.testing.assert_array_equal(loaded(rows(9), B), module(rows(9), B))


def test_damaged_modules_are_refused(module, tmp_path):
    path = tmp_path / "affine.twm"
    module.save(path)
    good = path.read_bytes()
    for bad in (b"", good[:100], good[:-5000], b"x" * len(good), good[:200] + bytes([good[200] ^ 1]) + good[201:]):
        with pytest.raises(ValueError):
            tw.load(bad)
    with pytest.raises(ValueError, match="nowhere.twm"):
        tw.load(tmp_path / "nowhere.twm")
