"""A stand-in for CuPy on machines without a GPU: NumPy behind CuPy's interface.

It is stricter than it is complete. Only names that CuPy has exist, and take what CuPy's
take: `signatures.json` says what that is. Device arrays and NumPy arrays do not mix;
nothing leaves the device but by `get`, `asnumpy`, `item` and the conversion of a single
entry. The folder above goes in front of the import path.
"""

from __future__ import annotations

from typing import Any

import numpy

from . import _signatures, cuda, fft, lib, linalg
from ._array import lifted, ndarray, unwrap, wrap
from ._config import launch
from ._kernels import ElementwiseKernel
from ._reductions import ReductionKernel

__all__ = [
    "ElementwiseKernel",
    "ReductionKernel",
    "array",
    "asarray",
    "asnumpy",
    "broadcast",
    "cuda",
    "fft",
    "lib",
    "linalg",
    "ndarray",
]
__version__ = "0.0 (stand-in)"


def asarray(a: Any, dtype: Any = None) -> Any:
    """Return a device array; what is on the host is copied."""
    if isinstance(a, ndarray):
        data = numpy.asarray(unwrap(a), dtype=dtype)
        return a if data is unwrap(a) else wrap(data)
    return array(a, dtype)


def array(obj: Any, dtype: Any = None) -> Any:
    """Return a new device array; a copy of one is made there."""
    if isinstance(obj, ndarray):
        launch("array")
    return wrap(numpy.array(unwrap(obj, host=True), dtype=dtype))


def asnumpy(a: Any) -> Any:
    """Return an array on the host."""
    return a.get() if isinstance(a, ndarray) else numpy.asarray(a)


def broadcast(*arrays: Any) -> Any:
    """Return the shape that arrays have together, and how many entries."""
    shapes = [unwrap(x).shape for x in arrays if isinstance(x, ndarray)]
    return numpy.broadcast(*(numpy.broadcast_to(0, shape) for shape in shapes))


def _take(a: Any, indices: Any, axis: int | None = None, **others: Any) -> Any:
    length = a.size if axis is None else a.shape[axis]
    return numpy.take(a, numpy.asarray(indices) % max(length, 1), axis, **others)


def _diagonal(a: Any, *args: Any, **kwargs: Any) -> Any:
    found = numpy.diagonal(a, *args, **kwargs)
    if a.flags.writeable:
        found.flags.writeable = True
    return found


_OWN = {"diagonal": _diagonal, "take": _take}
"""What CuPy does otherwise: diagonals may be written to, places are wrapped."""


def __getattr__(name: str) -> Any:
    if not _signatures.has(f"cupy.{name}"):
        raise AttributeError(f"module 'cupy' has no attribute {name!r}")
    own = _OWN.get(name) or getattr(numpy, name)
    # What is no function of arrays, CuPy has from NumPy as it is.
    borrowed = isinstance(own, type) or not callable(own)
    return own if borrowed else lifted(own, f"cupy.{name}")
