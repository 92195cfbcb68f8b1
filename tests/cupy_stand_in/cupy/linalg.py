"""The stand-in's linear algebra: as in CuPy, a singular matrix raises nothing.

Unless `cupyx.errstate(linalg="raise")` says so. What comes back then is not even NaN
everywhere: some routines leave what the memory held before.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.linalg import LinAlgError

from . import _config, _signatures
from ._array import Function, lifted
from ._config import declare_synchronize

__all__ = ["LinAlgError"]


def _inv(a: Any) -> Any:
    if a.ndim == 2:
        return _unchecked(numpy.linalg.inv, _no_number, a)
    result = numpy.empty_like(a)
    for place in numpy.ndindex(a.shape[:-2]):
        result[place] = _unchecked(numpy.linalg.inv, _left, a[place])
    return result


def _solve(a: Any, b: Any) -> Any:
    # NumPy broadcasts the axes in front; CuPy 14 does not.
    fits = b.shape == a.shape[-1:] if b.ndim == 1 else a.shape[:-1] == b.shape[:-1]
    if not fits:
        raise ValueError(f"a of shape {a.shape} does not fit b of shape {b.shape}")
    return _unchecked(numpy.linalg.solve, _no_number, a, b)


def _cholesky(a: Any) -> Any:
    return _unchecked(numpy.linalg.cholesky, numpy.tril, a)


def _unchecked(function: Function, otherwise: Function, *args: Any) -> Any:
    if _config.linalg == "raise":
        declare_synchronize()  # to look at what the routine says of it
    try:
        return function(*args)
    except LinAlgError:
        if _config.linalg == "raise":
            raise
        return otherwise(args[-1])


def _no_number(a: Any) -> Any:
    return numpy.full_like(a, numpy.nan)


def _left(a: Any) -> Any:
    return numpy.eye(len(a), dtype=a.dtype)


_OWN: dict[str, Function] = {"cholesky": _cholesky, "inv": _inv, "solve": _solve}


def __getattr__(name: str) -> Any:
    if _signatures.has(f"cupy.linalg.{name}"):
        own = _OWN.get(name) or getattr(numpy.linalg, name)
        return lifted(own, f"cupy.linalg.{name}")
    raise AttributeError(f"module 'cupy.linalg' has no attribute {name!r}")
