# SPDX-License-Identifier: Apache-2.0
"""Templates of kernel authors in Python, and the search over them."""
import numpy as np
import pytest

import tilewright as tw
from tilewright import te


def product(m=24, n=32, k=16):
    a, b = te.placeholder("A", "f32", (m, k)), te.placeholder("B", "f32", (k, n))
    r = te.reduce_axis(k, "r")
    return te.program("product", [a, b], te.compute("C", (m, n), lambda y, x: te.sum(a[y, r] * b[r, x], r)))


def tiled(s, k):
    y, x, r = s.loops("C")
    (rows,) = k.split("rows", 24, most=6)
    (columns,) = k.split("columns", 32, most=16)
    order = k.order("order", 2)
    lanes = k.choice("lanes", ["none", "vector"])
    unroll = k.boolean("unroll")
    k.number("unused", [3])
    k.require("rows * columns <= 48", ["rows", "columns"], lambda rows, columns: rows[0] * columns[0] <= 48)
    k.require("vectors are of 4 or more", ["columns", "lanes"], lambda columns, lanes: lanes == "none" or columns[0] >= 4)
    y0, y1 = s.split(y, [None, rows])
    x0, x1 = s.split(x, [None, columns])
    outer = [y0, x0]
    s.reorder([outer[i] for i in order] + [r, y1, x1])
    if lanes == "vector":
        s.vectorize(x1)
    if unroll:
        s.unroll(y1)


def test_space_says_what_it_is():
    space = tw.tune.Space(product(), tiled)
    assert space.knobs["rows"] == [(1,), (2,), (3,), (4,), (6,)]
    assert space.knobs["order"] == [(0, 1), (1, 0)]
    assert space.knobs["lanes"] == ["none", "vector"]
    assert space.knobs["unroll"] == [False, True]
    assert space.knobs["unused"] == [3]
    fits = [(r, c) for r in (1, 2, 3, 4, 6) for c in (1, 2, 4, 8, 16) if r * c <= 48]
    assert space.size == 2 * 2 * sum(2 if c >= 4 else 1 for _, c in fits)
    assert "where rows * columns <= 48" in str(space)


def test_points_are_schedules_that_compute_the_same():
    space = tw.tune.Space(product(), tiled)
    a = np.arange(24 * 16, dtype=np.float32).reshape(24, 16) % 7
    b = np.arange(16 * 32, dtype=np.float32).reshape(16, 32) % 5
    for seed in range(6):
        np.testing.assert_array_equal(space.apply(space.random(seed)).interpret(a, b), a @ b)
    s = space.apply("rows=4 columns=8 order=1.0 lanes=vector unroll=yes unused=3")
    assert "split %y [?, 4]" in s.trace and "vectorized" in str(s)
    np.testing.assert_array_equal(s.build(threads=1)(a, b), a @ b)
    with pytest.raises(tw.Error) as wrong:
        space.apply("rows=6 columns=16 order=1.0 lanes=vector unroll=yes unused=3")
    assert wrong.value.code == "tune.space.point"


def test_search_finds_measures_and_keeps(tmp_path):
    space = tw.tune.Space(product(96, 128, 64), sized(96, 128))
    seen = []
    result = space.search(trials=10, seed=3, strategy="random", records=tmp_path / "mine.db", progress=seen.append)
    assert len(seen) == 10
    assert [t.point for t in result.trials[:10]] == [t.point for t in seen]
    assert all(t.verdict == "ok" and 0 < t.seconds[1] <= t.seconds[0] <= t.seconds[2] for t in seen)
    assert result.best.point in {t.point for t in seen}
    assert result.schedule.trace == result.best.trace
    a, b = np.ones((96, 64), np.float32), np.ones((64, 128), np.float32)
    np.testing.assert_array_equal(result.schedule.build(threads=1)(a, b), a @ b)
    # The next one goes on: nothing that is known is measured again, but for the best.
    more = []
    again = space.search(trials=4, seed=3, strategy="random", records=tmp_path / "mine.db", progress=more.append)
    assert len(again.trials) > len(result.trials)
    assert not {t.point for t in more} & {t.point for t in seen}


def sized(m, n):
    def sized_tiles(s, k):
        y, x, r = s.loops("C")
        (rows,) = k.split("rows", m, most=8)
        (columns,) = k.split("columns", n, most=32)
        vector = k.boolean("vector")
        y0, y1 = s.split(y, [None, rows])
        x0, x1 = s.split(x, [None, columns])
        s.reorder([y0, x0, r, y1, x1])
        if vector:
            s.vectorize(x1)
        s.unroll(y1)
    return sized_tiles


def test_what_a_template_does_wrong():
    def raises(s, k):
        k.boolean("b")
        raise RuntimeError("of its own")

    def depends(s, k):
        if k.boolean("first"):
            k.boolean("second")

    def refused(s, k):
        if k.boolean("outside"):
            s.reorder(list(reversed(s.loops("C")[:2])))
            s.vectorize(s.loops("C")[0])
            s.parallel(s.loops("C")[0])  # not legal on what is vectorized

    def empty(s, k):
        k.number("none", [])

    def never(s, k):
        k.require("never", ["b"] if k.boolean("b") in (True, False) else [], lambda b: False)

    with pytest.raises(tw.Error) as wrong:
        tw.tune.Space(product(), raises)
    assert wrong.value.code == "tune.space.template" and "of its own" in str(wrong.value)
    with pytest.raises(tw.Error) as wrong:
        tw.tune.Space(product(), depends).apply("first=yes")
    assert wrong.value.code == "tune.space.template" and "tune.space.changed" in str(wrong.value)
    result = tw.tune.Space(product(), refused).search(trials=4)
    assert result.refused == 1 and result.why_done
    for template in (empty, never):
        space = tw.tune.Space(product(), template)
        assert space.size == 0 and space.random() is None
        result = space.search(trials=4)
        assert result.best is None and result.schedule is None and "empty" in result.why_done


def test_knobs_end_with_the_template():
    kept = []
    tw.tune.Space(product(), lambda s, k: (kept.append(k), k.boolean("b")))
    with pytest.raises(ValueError, match="ended"):
        kept[0].boolean("late")
