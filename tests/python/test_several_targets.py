# SPDX-License-Identifier: Apache-2.0
"""`compile --target a,b`: one module with code for several machines; the runtime takes the best that runs here."""
import platform
import subprocess

import numpy as np
import pytest
from onnx import numpy_helper

import tilewright as tw
from emitted import Refused, compile_model, tool

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the targets are kinds of x86-64")

MAIN = """
#include <stdio.h>
#include "libm.h"
const char* tw_module_features(const struct tw_module* module);
int main(void) {
  float x[48], y[12];
  for (int i = 0; i < 48; ++i) x[i] = (float)(i % 7) - 2;
  m* model;
  if (m_create(1, &model) != 0) return printf("%s", m_error(0)), 3;
  if (m_run(model, x, y) != 0) return 4;
  printf("%s\\n", tw_module_features(m_module(model)));
  for (int i = 0; i < 12; ++i) printf("%a ", y[i]);
  m_release(model);
  return 0;
}
"""


@pytest.fixture
def product(model):
    given = model("g (float[3, 16] x) => (float[3, 4] y) { y = MatMul(x, w) }")
    w = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)
    given.graph.initializer.append(numpy_helper.from_array(w, "w"))
    return given


def run_on(folder, cpu):
    done = subprocess.run(["qemu-x86_64", "-cpu", cpu, "./main"], cwd=folder, capture_output=True, text=True,
                          timeout=120)
    return done.returncode, done.stdout


def test_each_machine_gets_its_code(product, tmp_path):
    tool("gcc", "qemu-x86_64")
    compile_model(product, tmp_path, "--emit-library", "libm.a", "--target", "x86-64-v3,x86-64-v4")
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run(["gcc", "-std=c11", "-static", "main.c", "libm.a", "-lm", "-lpthread", "-o", "main"],
                   cwd=tmp_path, check=True)
    x = ((np.arange(48) % 7) - 2).astype(np.float32).reshape(3, 16)
    expected, = tw.compile(product).run([x])
    code, printed = run_on(tmp_path, "Haswell")
    features, numbers = printed.splitlines()
    assert code == 0 and "avx2" in features and "avx512f" not in features
    np.testing.assert_allclose([float.fromhex(v) for v in numbers.split()], expected.ravel(), rtol=1e-5)
    code, printed = run_on(tmp_path, "Nehalem")
    assert code == 3 and "avx2" in printed


def test_weights_are_stored_once(model, tmp_path):
    given = model("g (int64[2] i) => (float[2, 64] y) { y = Gather(table, i) }")
    table = np.arange(4096 * 64, dtype=np.float32).reshape(4096, 64)
    given.graph.initializer.append(numpy_helper.from_array(table, "table"))
    sizes = []
    for targets in ("x86-64-v3", "x86-64-v3,x86-64-v4,aarch64"):
        compile_model(given, tmp_path, "-o", "m.twm", "--target", targets)
        sizes.append((tmp_path / "m.twm").stat().st_size)
    assert table.nbytes < sizes[0] < sizes[1] < sizes[0] + table.nbytes


def test_an_unknown_name_among_them(product, tmp_path):
    with pytest.raises(Refused, match="x86-64-v9"):
        compile_model(product, tmp_path, "-o", "m.twm", "--target", "x86-64-v3,x86-64-v9")
