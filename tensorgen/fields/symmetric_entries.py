"""Arrays of which axes may be exchanged, made of arrays of any numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def exchangeable(made: Any, groups: Iterable[Sequence[int]]) -> Any:
    """Return an array whose entries depend on the indices along each group as a set.

    Each entry is one of those that `made` has at these indices in some order, so that
    this works in any field.
    """
    groups = [*groups]
    if not groups:
        return made
    at = [*np.indices(made.shape)]
    for group in groups:
        rising = np.sort([at[axis] for axis in group], axis=0)
        for axis, places in zip(group, rising, strict=True):
            at[axis] = places
    return made[tuple(at)]
