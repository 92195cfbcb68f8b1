"""The stand-in's linear operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Product = Callable[[Any], Any]


class LinearOperator:
    """A matrix that is known by its products."""

    def __init__(
        self,
        shape: tuple[int, int],
        matvec: Product,
        rmatvec: Product | None = None,
        matmat: Product | None = None,
        dtype: Any = None,
        rmatmat: Product | None = None,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.matvec = matvec
        self.rmatvec = rmatvec
        self.matmat = matmat
        self.rmatmat = rmatmat
