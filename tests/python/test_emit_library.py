# SPDX-License-Identifier: Apache-2.0
"""`compile --emit-library`: a C program runs the model with the library and its header alone."""
import subprocess

import numpy as np
import pytest

import tilewright as tw
from emitted import Refused, compile_model

X = np.array([[1, 2, 3], [-1, 0, 2]], np.float32)
B = np.array([0.5, -0.5, 1, 0], np.float32)


def run_program(folder, library, main):
    """What a C program prints that is linked with the library and nothing of ours besides."""
    (folder / "main.c").write_text(main)
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "main.c", library, "-lm", "-lpthread",
                    "-Wl,-rpath,$ORIGIN", "-o", "main"], cwd=folder, check=True)
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


AFFINE_MAIN = """
#include <stdio.h>
#include "libaffine.h"
int main(void) {
  const float x[] = {1, 2, 3, -1, 0, 2}, b[] = {0.5f, -0.5f, 1, 0};
  float y[8];
  int64_t sizes[1];
  affine* model;
  if (affine_create(2, &model) != 0) return 1;
  if (affine_sizes(model, 2, sizes) != 0 || sizes[0] != 8) return 2;
  for (int run = 0; run < 2; ++run)
    if (affine_run(model, 2, x, b, y) != 0) return 3;
  for (int i = 0; i < 8; ++i) printf("%a ", y[i]);
  if (affine_run(model, -1, x, b, y) == 0) return 4;
  fprintf(stderr, "%s\\n", affine_error(model));
  affine_release(model);
  return 0;
}
"""


@pytest.mark.parametrize("library", ["libaffine.so", "libaffine.a"])
def test_the_numbers_of_the_module(affine, tmp_path, library):
    expected, = tw.compile(affine).run([X, B])
    compile_model(affine, tmp_path, "--emit-library", library)
    printed = run_program(tmp_path, library, AFFINE_MAIN)
    np.testing.assert_array_equal([float.fromhex(v) for v in printed.split()], expected.ravel())


def test_the_library_needs_nothing_but_libc(affine, tmp_path):
    compile_model(affine, tmp_path, "--emit-library", "libaffine.so")
    needed = subprocess.run(["readelf", "-d", "libaffine.so"], cwd=tmp_path, capture_output=True, text=True,
                            check=True).stdout
    names = {line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line}
    assert names <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"}
    exported = subprocess.run(["nm", "-D", "--defined-only", "libaffine.so"], cwd=tmp_path, capture_output=True,
                              text=True, check=True).stdout
    names = {line.split()[-1] for line in exported.splitlines()}
    assert "affine_run" in names and "tw_run" in names
    assert all(n.startswith(("affine_", "tw_")) for n in names)


def test_an_output_whose_size_only_a_run_can_tell(model, tmp_path):
    compile_model(model("g (float[4] x) => (int64[1, k] y) { y = NonZero(x) }"), tmp_path,
                  "--emit-library", "libfind.a")
    assert run_program(tmp_path, "libfind.a", """
#include <stdio.h>
#include "libfind.h"
int main(void) {
  const float x[4] = {0, 3, 0, 1};
  const int64_t* y;
  int64_t dims[2];
  find* model;
  if (find_create(1, &model) != 0 || find_run(model, x, &y, dims) != 0) return 1;
  printf("%d %d: %d %d", (int)dims[0], (int)dims[1], (int)y[0], (int)y[1]);
  find_release(model);
  return 0;
}
""") == "1 2: 1 3"


def test_two_models_in_one_program(model, tmp_path):
    for name, op in (("up", "Exp"), ("down", "Log")):
        compile_model(model(f"g (float[1] x) => (float[1] y) {{ y = {op}(x) }}"), tmp_path,
                      "--emit-library", f"lib{name}.a")
    (tmp_path / "both.ld").write_text("INPUT(libup.a libdown.a)\n")
    printed = run_program(tmp_path, "both.ld", """
#include <stdio.h>
#include "libup.h"
#include "libdown.h"
int main(void) {
  up* a;
  down* b;
  float x = 2, y, z;
  if (up_create(1, &a) || down_create(1, &b) || up_run(a, &x, &y) || down_run(b, &y, &z)) return 1;
  printf("%f", z);
  up_release(a);
  down_release(b);
  return 0;
}
""")
    assert float(printed) == pytest.approx(2, abs=1e-6)


def test_sequences_go_through_the_runtimes_own_functions(model, tmp_path):
    compile_model(model("g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x, x) }"), tmp_path,
                  "--emit-library", "libpair.so")
    header = (tmp_path / "libpair.h").read_text()
    assert "pair_run" not in header and "`y` is no tensor" in header and "pair_context" in header


def test_refusals(affine, tmp_path):
    for code, arguments in (("driver.emit_library.name", ["libaffine.dll"]),
                            ("driver.emit_library.target", ["libaffine.so", "--target", "riscv64"]),
                            ("driver.emit_library.compiler", ["libaffine.so", "--cc", "no-such-compiler"])):
        with pytest.raises(Refused, match=code):
            compile_model(affine, tmp_path, "--emit-library", *arguments)
