# SPDX-License-Identifier: Apache-2.0
"""Models that ask for much by few bytes end soon, in little memory, with a result or a diagnostic."""
import resource
import subprocess

import hostile_chains  # noqa: F401
import pytest
from hostile_models import MODELS, model
from test_command_line import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="the program is not built")

MEMORY = 512 << 20
HANGS = 120  # seconds, of a thing that takes less than three


def limited():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


@pytest.mark.parametrize("stage", ["graph", "fused"])  # all types inferred; through all graph passes
@pytest.mark.parametrize("name", MODELS)
def test_ends_with_a_result_or_a_diagnostic(name, stage, tmp_path):
    (tmp_path / "m.onnx").write_bytes(model(name, 1 << 16))
    result = subprocess.run([PROGRAM, "compile", "m.onnx", "--no-cache", "--emit", stage, "-o", "graph.tw"], cwd=tmp_path, text=True,
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=HANGS, preexec_fn=limited)
    assert result.returncode in (0, 1), result.stderr
    if result.returncode == 0:
        assert (tmp_path / "graph.tw").stat().st_size > 0
    else:
        assert result.stderr.startswith("error[") and "help:" in result.stderr and "internal" not in result.stderr
