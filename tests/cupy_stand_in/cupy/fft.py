"""The stand-in's Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy

from ._array import lifted

_FUNCTIONS = "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfftn irfftn fftfreq rfftfreq"


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS.split():
        return lifted(getattr(numpy.fft, name), name)
    raise AttributeError(f"module 'cupy.fft' has no attribute {name!r}")
