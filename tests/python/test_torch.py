# SPDX-License-Identifier: Apache-2.0
"""tw.compile of a torch.nn.Module, where torch is there; no copies on the way in or out."""
import numpy as np
import pytest

import tilewright as tw

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")


@pytest.fixture
def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))


def test_a_module_with_example_inputs(net):
    x = torch.randn(3, 8)
    for given in (x, (x,)):
        y = tw.compile(net, example_inputs=given)(x)
        np.testing.assert_allclose(y, net(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_dynamic_shapes(net):
    module = tw.compile(net, example_inputs=torch.randn(3, 8), dynamic_shapes=({0: torch.export.Dim("batch")},))
    for n in (1, 7):
        x = torch.randn(n, 8)
        np.testing.assert_allclose(module(x), net(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_example_inputs_are_asked_for(net):
    with pytest.raises(TypeError, match="example_inputs"):
        tw.compile(net)


def test_bf16_goes_in_and_out(identity):
    module = tw.compile(identity(16, ("n", 3)))
    x = torch.randn(4, 3).bfloat16()
    for given in (x, x.T.contiguous().T, x[::2]):
        assert torch.equal(torch.from_dlpack(module(given)), given)
    with pytest.raises(tw.Error, match="input `x`.*grad"):
        module(x.requires_grad_())


def test_tensors_go_in_and_out_without_copies(net):
    from tilewright._arrays import to_native
    x = torch.randn(3, 8)
    assert to_native(x)[2].ctypes.data == x.data_ptr()
    y = tw.compile(net, example_inputs=x)(x)
    assert torch.from_dlpack(y).data_ptr() == y.ctypes.data
