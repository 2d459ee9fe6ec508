# SPDX-License-Identifier: Apache-2.0
"""Operators that users add."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _native
from ._arrays import from_native
from ._errors import wrong_kind

_functions: dict[tuple[str, str], Callable[..., Any]] = {}


def register_op(domain: str, name: str, te: Callable[..., Any], injective: bool = False) -> None:
    """Lets models use an operator of your own, which `te` defines:

        def scaled_relu(x, bias=None, *, alpha=1.0):
            y = te.max(x, 0.0) * alpha
            return y if bias is None else y + bias
        tw.register_op("my.ops", "ScaledRelu", te=scaled_relu)

    The function is given the node's inputs as te.Tensors (None for one that is left out) and its attributes by name, and
    gives a te.Tensor or a tuple of them; the types and shapes of the results follow from these. Shapes may be symbolic.
    It is called more than once for a node and must always give the same. `injective` says that each element of the result
    comes from one element of each input, so that the operator joins its neighbours' kernels. An operator that was
    registered before is replaced.
    """
    if not callable(te):
        raise wrong_kind("python.op.function", f"the te of {domain}::{name} is {te!r}, which cannot be called", "give a function from te.Tensors to te.Tensors")
    _native.register_op(domain, name, injective)
    _functions[domain, name] = te


def define(domain, name, inputs, attributes, node):
    """What the operator computes at a node; called by the compiler."""
    values = {k: from_native(v) if isinstance(v, tuple) else v for k, v in attributes.items()}
    full_name = f"{domain}::{name}"
    try:
        results = _functions[domain, name](*inputs, **values)
    except Exception as e:
        raise _native.custom_op_error(full_name, node, f"raised {type(e).__name__}: {e}") from e
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    for result in results:
        if not isinstance(result, _native.te.Tensor):
            raise _native.custom_op_error(full_name, node, f"gave a {type(result).__name__}, not a te.Tensor")
    return results
