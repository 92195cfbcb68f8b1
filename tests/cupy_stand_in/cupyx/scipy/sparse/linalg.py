"""The stand-in's linear operators, and elimination of sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse.linalg

from . import _lifted, csc_matrix

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


class SuperLU:
    """The factors of a sparse matrix."""

    def __init__(self, factors: Any) -> None:
        self._factors = factors
        self.L, self.U = csc_matrix(factors.L), csc_matrix(factors.U)
        self.perm_r = _lifted("wrap")(factors.perm_r)
        self.perm_c = _lifted("wrap")(factors.perm_c)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve for one or several right-hand sides."""
        name = "cupyx.scipy.sparse.linalg.SuperLU.solve"
        return _lifted("lifted")(self._factors.solve, name)(rhs, trans)


def splu(A: csc_matrix, **options: Any) -> SuperLU:
    """Factorise a sparse matrix."""
    return SuperLU(scipy.sparse.linalg.splu(A._matrix, **options))
