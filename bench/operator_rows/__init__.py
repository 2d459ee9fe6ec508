# SPDX-License-Identifier: Apache-2.0
"""The rows of the sweep over operators; each module has those of a kind of operator. `ms.` stands for com.microsoft."""
from . import contrib, elementwise, movement, others, products, reductions, windows
from .row import SIZES

PARTS = (elementwise, movement, reductions, windows, products, others, contrib)


def all_rows():
    """(row, size), in the order of the parts."""
    return [(row, size) for part in PARTS for row in part.rows() for size in SIZES if size.name in row.sizes]
