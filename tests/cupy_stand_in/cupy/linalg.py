"""The stand-in's linear algebra: as in CuPy, a singular matrix raises nothing."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.linalg import LinAlgError

from ._array import Function, lifted

__all__ = ["LinAlgError"]

_FUNCTIONS = """
    det eigh eigvalsh lstsq matrix_power matrix_rank norm pinv qr slogdet svd tensorinv
    tensorsolve
"""
# CuPy does not look whether these succeeded: their results then hold no numbers.
_UNCHECKED = "cholesky inv solve"


def _unchecked(function: Function) -> Function:
    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except LinAlgError:
            return numpy.full_like(args[-1], numpy.nan)

    return call


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS.split():
        return lifted(getattr(numpy.linalg, name), name)
    if name in _UNCHECKED.split():
        return lifted(_unchecked(getattr(numpy.linalg, name)), name)
    raise AttributeError(f"module 'cupy.linalg' has no attribute {name!r}")
