# SPDX-License-Identifier: Apache-2.0
"""If and Loop: whose memory their results are in."""
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
