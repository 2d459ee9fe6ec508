# SPDX-License-Identifier: Apache-2.0
from typing import Any

class Error(ValueError):
    """What is wrong with a model or program, and what to do instead."""
    code: str         # one of docs/errors.md
    message: str
    notes: list[str]
    help: str

class Instruction:
    @property
    def name(self) -> str: ...

def __getattr__(name: str) -> Any: ...
