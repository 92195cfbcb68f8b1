"""Sums of elementwise functions: value and gradient in few passes over the memory."""

from typing import Any

import numpy as np

Array = Any
CHUNK = 16384  # entries that stay in the cache with their temporaries


def quartic(x: Array) -> tuple[Array, Array]:
    """The square serves the value and the slope."""

    def chunk(x: Array, slope: Array, q: Array) -> Any:
        np.multiply(x, x, out=q)
        np.multiply(q, x, out=slope)
        slope *= 4
        return np.vdot(q, q)

    return _by_chunks(chunk, x)


def softplus(x: Array) -> tuple[Array, Array]:
    """One exponential, which does not overflow; a logarithm for the value."""

    def chunk(x: Array, slope: Array, e: Array) -> Any:
        np.abs(x, out=e)
        np.negative(e, out=e)
        np.exp(e, out=e)
        np.maximum(x, 0, out=slope)
        value = slope.sum()
        np.log1p(e, out=slope)
        value += slope.sum()
        np.copyto(slope, e)
        np.copyto(slope, 1.0, where=x >= 0)
        e += 1
        slope /= e
        return value

    return _by_chunks(chunk, x)


def huber(x: Array) -> tuple[Array, Array]:
    """The slope is the clipped entry, and the value follows from it."""

    def chunk(x: Array, slope: Array, rest: Array) -> Any:
        np.clip(x, -1, 1, out=slope)
        np.multiply(slope, -0.5, out=rest)
        rest += x
        return np.vdot(slope, rest)

    return _by_chunks(chunk, x)


def waves(x: Array) -> tuple[Array, Array]:
    """The product of an exponential and a sine; both come back in the slope."""

    def chunk(x: Array, slope: Array, e: Array) -> Any:
        np.multiply(x, x, out=e)
        e *= -0.5
        np.exp(e, out=e)
        s = np.sin(x)
        value = np.vdot(e, s)
        np.cos(x, out=slope)
        s *= x
        slope -= s
        slope *= e
        return value

    return _by_chunks(chunk, x)


def _by_chunks(chunk: Any, x: Array) -> tuple[Array, Array]:
    """Add up what a function gives of each chunk; it writes the slope of it."""
    slope = np.empty_like(x)
    buffer = np.empty(min(CHUNK, len(x)))
    value = 0.0
    for start in range(0, len(x), CHUNK):
        part = x[start : start + CHUNK]
        stop = start + len(part)
        value += chunk(part, slope[start:stop], buffer[: len(part)])
    return value, slope
