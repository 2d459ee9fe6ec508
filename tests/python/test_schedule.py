# SPDX-License-Identifier: Apache-2.0
"""tw.Schedule: steps, what they refuse, the interpreter and built kernels."""
import threading

import numpy as np
import pytest

import tilewright as tw
from tilewright import te
from tilewright._steps import Steps

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def matmul(m=32, n=24, k=16):
    A, B = te.placeholder("A", "f32", (m, k)), te.placeholder("B", "f32", (k, n))
    kk = te.reduce_axis(k, "k")
    return te.program("matmul", [A, B], te.compute("C", (m, n), lambda y, x: te.sum(A[y, kk] * B[kk, x], kk)))


def relu_of_sum(n=64):
    A, B = te.placeholder("A", "f32", (n,)), te.placeholder("B", "f32", (n,))
    S = te.compute("S", (n,), lambda i: A[i] + B[i])
    return te.program("relu_of_sum", [A, B], te.compute("R", (n,), lambda i: te.max(S[i], 0)))


def test_matmul_made_fast():
    s = tw.Schedule(matmul())
    y, x, k = s.loops("C")
    y0, y1 = s.split(y, [None, s.decide("rows", 4, [4, 8])])
    x0, x1 = s.split(x, [None, 8])
    s.reorder([y0, x0, k, y1, x1])
    out = s.cache_write("C", "C", "register")
    s.reverse_compute_at(out, x0)
    s.decompose_reduction("C", k)
    s.vectorize(x1)
    s.unroll(y1)
    s.parallel(y0)
    a, b = floats(32, 16), floats(16, 24)
    np.testing.assert_allclose(s.interpret(a, b), a @ b, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(s.build()(a, b), a @ b, rtol=1e-5, atol=1e-5)
    assert "vectorized for" in str(s) and "parallel for" in s.program
    assert s.trace.startswith("trace matmul {\n  decide rows = 4 of [4, 8]\n")
    assert "split %y [?, $rows]" in s.trace


def test_the_program_can_be_seen_after_each_step():
    s = tw.Schedule(matmul())
    before = str(s)
    y, _, _ = s.loops("C")
    assert str(s).count("for ") == before.count("for ")
    s.split(y, [None, 8])
    assert str(s).count("for ") == before.count("for ") + 1


def test_a_refused_step_says_why_and_changes_nothing():
    s = tw.Schedule(matmul())
    y, x, k = s.loops("C")
    before = str(s)
    with pytest.raises(tw.Error) as e:
        s.parallel(k)
    assert e.value.code.startswith("schedule.") and e.value.help and e.value.message in str(e.value)
    assert any("parallel %k" in note for note in e.value.notes)
    assert str(s) == before and "parallel" not in s.trace


def test_handles():
    s, other = tw.Schedule(matmul()), tw.Schedule(matmul())
    c = s.block("C")
    y = s.loops(c)[0]
    assert repr(y) == "%y" and repr(c) == "%C"
    with pytest.raises(ValueError, match="another schedule"):
        other.split(y, [None, 4])
    with pytest.raises(TypeError, match="no loop"):
        s.split("y", [None, 4])
    with pytest.raises(tw.Error, match="`Q`"):
        s.loops("Q")


def test_wrong_arguments_are_type_errors():
    s = tw.Schedule(matmul())
    y = s.loops("C")[0]
    for wrong in (lambda: s.split(y, ["4"]), lambda: s.split(y, [2.5, 2]), lambda: s.bind(y, "thread x } trace"),
                  lambda: s.cache_read("C", 3, "register"), lambda: s.split(y)):
        with pytest.raises((TypeError, AttributeError)):
            wrong()


def test_blocks_move_and_melt():
    s = tw.Schedule(relu_of_sum())
    i, = s.loops("R")
    s.compute_at("S", i)
    a, b = floats(64), floats(64)
    np.testing.assert_array_equal(s.build()(a, b), np.maximum(a + b, 0))
    t = tw.Schedule(relu_of_sum())
    t.compute_inline("S")
    with pytest.raises(tw.Error):
        t.block("S")
    np.testing.assert_array_equal(t.interpret(a, b), np.maximum(a + b, 0))


def test_index_maps_are_functions():
    s = tw.Schedule(relu_of_sum())
    s.transform_layout("S", "S", lambda i: (i % 8, i // 8))
    assert "(i) -> [i % 8, i / 8]" in s.trace and "f32[8, 8]" in str(s)
    a, b = floats(64), floats(64)
    np.testing.assert_array_equal(s.interpret(a, b), np.maximum(a + b, 0))


def test_specialize_gives_what_it_was_given():
    n = te.symbol("n")
    A = te.placeholder("A", "f32", (n,))
    program = te.program("double", [A], te.compute("B", (n,), lambda i: A[i] * 2))
    s = tw.Schedule(program)
    fast, _ = s.specialize(s.loops("B")[0], "n % 8 == 0")
    s.vectorize(s.split(fast, [None, 8])[1])
    t = tw.Schedule(program)
    assert [type(b).__name__ for b in t.specialize(t.block("B"), "n % 8 == 0")] == ["Block", "Block"]
    for size in (16, 13):
        a = floats(size)
        np.testing.assert_array_equal(s.build()(a), a * 2)


def test_every_step_of_the_catalogue_is_a_method():
    from pathlib import Path
    import re
    header = Path(__file__).parents[2] / "src/schedule/steps.h"
    names = re.findall(r'name = "(\w+)"', header.read_text())
    assert len(names) > 40 and [n for n in names if not hasattr(Steps, n)] == []
    assert "for i_0 in 0..ceil(n/f)" in tw.Schedule.split.__doc__


def test_a_loop_function_as_text():
    s = tw.Schedule("""loops scale(A: inout f32[n]) where n in 1..64 {
        for i in 0..n { A[i] = A[i] * 2.0 } }""")
    a = floats(5)
    kept = a.copy()
    np.testing.assert_array_equal(s.build()(a), kept * 2)
    np.testing.assert_array_equal(s.interpret(a), kept * 2)
    np.testing.assert_array_equal(a, kept)  # what is updated in place is a copy of the caller's


GEMM = "instr fill_zero(c: out f32[8, 8] acc.result) { compute { for y in 0..8 { for x in 0..8 { c[y, x] = 0.0 } } } }"


def test_instructions_from_te_and_text():
    A, B = te.placeholder("A", "f32", (8, 8)), te.placeholder("B", "f32", (8, 8))
    k = te.reduce_axis(8, "k")
    C = te.compute("C", (8, 8), lambda y, x: te.sum(A[y, k] * B[k, x], k))
    gemm = tw.instruction(te.program("gemm8x8", [A, B], C), scopes={"C": "acc.result"})
    zero = tw.instruction(GEMM)
    assert (gemm.name, zero.name) == ("gemm8x8", "fill_zero") and "acc.result" in str(gemm)
    s = tw.Schedule(matmul(16, 16, 16), instructions=[gemm, zero])
    y, x, k = s.loops("C")
    y0, y1 = s.split(y, [None, 8])
    x0, x1 = s.split(x, [None, 8])
    k0, k1 = s.split(k, [None, 8])
    s.reorder([y0, x0, k0, y1, x1, k1])
    result = s.cache_write("C", "C", "acc.result")
    s.reverse_compute_at(result, x0)
    init = s.decompose_reduction("C", k0)
    s.tensorize(y1, "gemm8x8")
    s.tensorize(s.loops(init)[-2], "fill_zero")
    assert "call gemm8x8" in str(s) and "call fill_zero" in str(s)
    a, b = floats(16, 16), floats(16, 16)
    np.testing.assert_allclose(s.interpret(a, b), a @ b, rtol=1e-5, atol=1e-5)
    with pytest.raises(tw.Error, match="`gemm9x9`"):
        s.tensorize(k1, "gemm9x9")


def test_a_text_of_instructions_holds_one():
    with pytest.raises(ValueError, match="2 instructions"):
        tw.instruction(GEMM + GEMM.replace("fill_zero", "other"))
    with pytest.raises(tw.Error):
        tw.instruction("instr broken(")


@pytest.fixture
def kernel():
    n = te.symbol("n", max=1000)
    A, B = te.placeholder("A", "f32", (n, 3)), te.placeholder("B", "f32", (3,))
    return tw.Schedule(te.program("plus", [A, B], te.compute("C", (n, 3), lambda i, j: A[i, j] + B[j]))).build()


def test_kernels_take_every_kind_of_array(kernel):
    a, b = floats(6, 3), floats(3)
    for given in (a, np.asfortranarray(a), np.ascontiguousarray(a)[:], a[::1]):
        np.testing.assert_array_equal(kernel(given, b), a + b)
    np.testing.assert_array_equal(kernel(a[::2], b), a[::2] + b)
    odd = np.zeros(a.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(a.shape)
    odd[:] = a
    np.testing.assert_array_equal(kernel(odd, b), a + b)
    assert np.from_dlpack(kernel(a, b)).shape == (6, 3)


def test_kernels_write_into_given_memory(kernel):
    a, b, out = floats(6, 3), floats(3), np.zeros((6, 3), np.float32)
    address = out.ctypes.data
    assert kernel(a, b, out=out) is out and out.ctypes.data == address
    np.testing.assert_array_equal(out, a + b)
    with pytest.raises(ValueError, match="overlaps"):
        kernel(a, b, out=a)
    with pytest.raises(ValueError, match="48 bytes, it needs 72"):
        kernel(a, b, out=np.zeros((4, 3), np.float32))
    with pytest.raises(ValueError, match="contiguous"):
        kernel(a, b, out=np.zeros((12, 3), np.float32)[::2])


@pytest.mark.parametrize("arrays, words", [
    ([floats(6, 3)], "takes 2 arrays, 1"),
    ([floats(6, 4), floats(3)], r"`A`.*\[6, 4\].*\[6, 3\]"),
    ([floats(6), floats(3)], "`A`"),
    ([floats(6, 3).astype(np.float64), floats(3)], "`A`.*f64"),
    ([floats(1001, 3), floats(3)], r"`n` is 1001.*1\.\.1000"),
])
def test_wrong_arrays_are_named(kernel, arrays, words):
    with pytest.raises(ValueError, match=words):
        kernel(*arrays)


def test_python_threads_share_a_kernel(kernel):
    wrong = []

    def work(seed):
        a, b = np.full((seed, 3), seed, np.float32), np.ones(3, np.float32)
        for _ in range(50):
            if not (kernel(a, b) == seed + 1).all():
                wrong.append(seed)
    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 10, 100)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
