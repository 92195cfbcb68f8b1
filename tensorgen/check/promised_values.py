"""Whether values at random points are what a user promises of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorgen.check.reals import Reals
from tensorgen.check.residues import PRIME, Residues, inverse, sign
from tensorgen.operators.promise_calls import PROMISES

Array = Any


def holds(field: Residues | Reals, what: str, matrices: Array) -> bool:
    """Whether matrices in the last two axes are symmetric, or positive definite.

    What is no promise of matrices holds of all arrays.
    """
    if what not in PROMISES:
        return True
    if not np.array_equal(matrices, np.swapaxes(matrices, -1, -2)):
        return False
    if what == "symmetric":
        return True
    if isinstance(field, Reals):
        return bool(np.all(np.linalg.eigvalsh(matrices) > 0))
    batch = np.ndindex(*matrices.shape[:-2])
    return all(_has_positive_pivots(matrices[place]) for place in batch)


def _has_positive_pivots(matrix: Array) -> bool:
    """Whether elimination meets positive residues alone, of which there are roots."""
    rest = matrix.copy()
    while len(rest):
        pivot, column = rest[0, 0], rest[1:, 0]
        if sign(pivot) <= 0:
            return False
        rest = (rest[1:, 1:] - np.outer(column, column) * inverse(pivot)) % PRIME
    return True
