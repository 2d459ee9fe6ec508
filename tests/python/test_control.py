# SPDX-License-Identifier: Apache-2.0
"""If and Loop: whose memory their results are in, and the types of what is carried."""
import numpy as np
import pytest

import tilewright as tw

# `a` is handed through; whatever comes after it must not be put in its place.
HANDED_THROUGH = """
    m (float[8, 8] x, float[8, 8] z, bool c, int64 trips) => (float[8, 8] y)
    { a = MatMul(x, x)
      k = %s
      b = MatMul(x, z)
      d = MatMul(b, z)
      e = MatMul(d, b)
      y = Add(k, e) }"""
IF = """If(c) <then_branch = g () => (float[8, 8] t) { t = Identity(a) },
                else_branch = h () => (float[8, 8] n) { n = Neg(a) }>"""
NESTED_IF = """If(c) <then_branch = f () => (float[8, 8] o) {
          o = If(c) <then_branch = g () => (float[8, 8] t) { t = Identity(a) },
                     else_branch = h () => (float[8, 8] n) { n = Neg(a) }> },
        else_branch = i () => (float[8, 8] m) { m = Neg(a) }>"""
LOOP = """Loop(trips, , a) <body = g (int64 i, bool go, float[8, 8] v) => (bool on, float[8, 8] w) {
          on = Identity(go)
          w = Neg(v) }>"""


@pytest.mark.parametrize("node", [IF, NESTED_IF, LOOP], ids=["if", "nested_if", "loop"])
def test_what_is_handed_through_is_kept(model, node):
    module = tw.compile(model(HANDED_THROUGH % node))
    x, z = np.random.default_rng(1).integers(-2, 3, (2, 8, 8)).astype(np.float32)
    a, b = x @ x, x @ z
    for handed in (True, False):
        given = [x, z, np.array(handed), np.array(0 if handed else 1, np.int64)]
        np.testing.assert_array_equal(module.run(given)[0], (a if handed else -a) + b @ z @ b)


def test_extents_that_grow_one_by_one(model):
    """Each carried value takes the extent of the one before: types that fit are found long before each was seen to change.
    Lengths of lists of integers stay known: `s` is a shape."""
    count = 12
    carried = ", ".join(f"float[d{i}] a{i}" for i in range(count))
    body = "\n".join(["k = Identity(go)", "b0 = Concat<axis = 0>(a0, x)", "q = Shape(a3)", "o = Sub(q, q)", "t = Add(s, o)", "w = Reshape(v, s)"] +
                     [f"b{i} = Identity(a{i - 1})" for i in range(1, count)])
    given = ", ".join(f"float[e{i}] b{i}" for i in range(count))
    module = tw.compile(model(f"""
        m (float[n] x, int64 trips, int64[2] shape, float[2, 3] u) => (float[p] y, float[q] z, int64[2] last, float[r, t] uu)
        {{ {', '.join(f'c{i}' for i in range(count))}, last, f = Loop(trips, , {', '.join(['x'] * count)}, shape, u)
             <body = g (int64 i, bool go, {carried}, int64[2] s, float[g0, g1] v)
                  => (bool k, {given}, int64[2] t, float[h0, h1] w) {{ {body} }}>
           y = Neg(c0)
           z = Neg(c{count - 1})
           uu = Neg(f) }}"""))
    x, u = np.arange(2, dtype=np.float32), np.arange(6, dtype=np.float32)
    for trips in (0, 1, 3, 14):
        y, z, last, uu = module.run([x, np.array(trips, np.int64), np.array([3, 2], np.int64), u.reshape(2, 3)])
        np.testing.assert_array_equal(y, -np.tile(x, trips + 1))
        np.testing.assert_array_equal(z, -np.tile(x, max(1, trips - count + 2)))
        np.testing.assert_array_equal(last, [3, 2])
        np.testing.assert_array_equal(uu, -u.reshape((3, 2) if trips else (2, 3)))
