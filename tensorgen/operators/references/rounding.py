"""How far two computations of one thing may differ: by what rounding explains.

What a reference is off by is what the last bits of its inputs move, for its own steps
round no less than these.
"""

from __future__ import annotations

import numpy as np

from tensorgen.operators.references import Array

LAST_BITS = 4e-16
LEAST = 1e-6
"""Smaller numbers are none to points of the order of one."""
LEEWAY = 4
"""Of what a reference is off by, how much others may be."""
DOUBT = 1e-3
"""A reference that is off by more than this part of what it tells, tells nothing."""


def moved(x: Array) -> Array:
    """Return numbers whose last bits differ, up and down in turn."""
    signs = np.where(np.arange(np.size(x)) % 2, 1.0, -1.0).reshape(np.shape(x))
    return x * (1 + LAST_BITS * signs)


def largest(array: Array) -> float:
    """Return the largest absolute value, of what is finite."""
    found = np.abs(array)
    return float(np.max(found, initial=0.0, where=np.isfinite(found)))


def furthest(new: Array, old: Array) -> float:
    """Return the largest difference, of what is finite."""
    return largest(new - old)


def explains(difference: float, tolerance: float, size: float, error: float) -> bool:
    """Whether two agree, relative to a size, but for what a reference is off by."""
    return difference <= tolerance * max(size, LEAST) + LEEWAY * error


def is_doubtful(error: float, size: float) -> bool:
    """Whether a reference is off by so much that it tells nothing."""
    return error > DOUBT * size
