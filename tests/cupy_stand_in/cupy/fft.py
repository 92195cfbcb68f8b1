"""The stand-in's Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy

from . import _signatures
from ._array import lifted


def __getattr__(name: str) -> Any:
    if _signatures.has(f"cupy.fft.{name}"):
        return lifted(getattr(numpy.fft, name), f"cupy.fft.{name}")
    raise AttributeError(f"module 'cupy.fft' has no attribute {name!r}")
