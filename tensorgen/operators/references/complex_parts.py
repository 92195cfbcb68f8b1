"""Real and imaginary parts of numbers, each kept exact."""

from __future__ import annotations

import numpy as np

from tensorgen.operators.references import Array


def is_complex(*args: Array) -> bool:
    """Whether any of the arguments is complex."""
    return any(np.iscomplexobj(arg) for arg in args)


def join(real: Array, imag: Array) -> Array:
    """Return `real + 1j * imag` with both parts kept exact."""
    real, imag = np.broadcast_arrays(real, imag)
    value = np.empty(real.shape, dtype=complex)
    value.real, value.imag = real, imag
    return value
