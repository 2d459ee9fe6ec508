# SPDX-License-Identifier: Apache-2.0
"""Mistakes of the user: errors with a code that docs/errors.md explains, and what to do instead."""
import operator
import os
from collections.abc import Iterable
from typing import SupportsIndex

from . import _native

Error = _native.Error
ArgumentError = _native.ArgumentError


def wrong_value(code, message, help):
    """An Error, which is a ValueError too."""
    return _native.mistake(code, message, help, False)


def wrong_kind(code, message, help):
    """An ArgumentError, which is a TypeError too."""
    return _native.mistake(code, message, help, True)


def taken(name, value, kinds, wanted):
    """The value of an argument, which is of one of these kinds."""
    if not isinstance(value, kinds):
        raise wrong_kind("python.argument.kind", f"`{name}` is {value!r}, a {type(value).__name__}", f"give {wanted}")
    return value


def count(name, value):
    """A whole number, also one of NumPy's."""
    return operator.index(taken(name, value, SupportsIndex, "a whole number"))


def names(name, value):
    """A list of names; a name alone is none."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise wrong_kind("python.argument.kind", f"`{name}` is {value!r}, a {type(value).__name__}", "give a list of names")
    return [taken(name, v, str, "a list of names") for v in value]


def path(name, value):
    return os.fspath(taken(name, value, (str, os.PathLike), "a path"))
