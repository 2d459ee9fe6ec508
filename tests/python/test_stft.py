# SPDX-License-Identifier: Apache-2.0
"""STFT of signals with and without a last dimension, which PyTorch's exporter leaves out."""
import numpy as np
import pytest

import tilewright as tw


@pytest.mark.parametrize("samples", [64, "n"])
@pytest.mark.parametrize("rank", [2, 3])
def test_a_real_signal_needs_no_last_dimension(model, rank, samples):
    last = ", 1" if rank == 3 else ""
    m = model(f"""g (float[2, {samples}{last}] x) => (float[2, frames, 9, 2] y)
        <int64 step = {{5}}, float[16] window = {{{', '.join(map(str, np.hanning(16)))}}}>
        {{ y = STFT <onesided = 1> (x, step, window) }}""")
    x = np.random.default_rng(3).standard_normal((2, 64)).astype(np.float32)
    frames = np.stack([x[:, i:i + 16] * np.hanning(16) for i in range(0, 64 - 15, 5)], 1)
    expected = np.fft.rfft(frames)
    y = tw.compile(m)(x[..., None] if rank == 3 else x)
    np.testing.assert_allclose(y[..., 0] + 1j * y[..., 1], expected, rtol=1e-4, atol=1e-4)


def test_other_ranks_are_refused(model):
    with pytest.raises(tw.Error, match="ops.input.rank"):
        tw.compile(model("g (float[64] x) => (float[1, 7, 9, 2] y) <int64 step = {8}, int64 n = {16}> { y = STFT(x, step, , n) }"))
