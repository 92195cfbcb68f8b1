"""What exponentials and logarithms of the table mean where they would cancel."""

from __future__ import annotations

import numpy as np

from tensorgen.operators.references import Array
from tensorgen.operators.references.complex_parts import is_complex, join

# An array or NumPy scalar, real or complex: NumPy's types know no more of arithmetic.


def expm1(x: Array) -> Array:
    """Return `exp(x) - 1` without cancellation."""
    if not is_complex(x):
        return np.expm1(x)
    a, b = x.real, x.imag
    return join(np.expm1(a) * np.cos(b) - 2 * np.sin(b / 2) ** 2, np.exp(a) * np.sin(b))


def log1p(x: Array) -> Array:
    """Return `log(1 + x)` without cancellation."""
    if not is_complex(x):
        return np.log1p(x)
    a, b = x.real, x.imag
    return join(np.log1p(a * (2 + a) + b * b) / 2, np.arctan2(b, 1 + a))


def log1mexp(x: Array) -> Array:
    """Return `log(1 - exp(x))`."""
    near = x.real > -1
    far = log1p(-np.exp(np.where(near, -1.0, x)))
    return np.where(near, np.log(-expm1(np.where(near, x, -1.0))), far)


def log_icloglog(x: Array) -> Array:
    """Return `log(1 - exp(-exp(x)))`."""
    far = x.real < -40
    return np.where(far, x, log1mexp(-np.exp(np.where(far, -40.0, x))))


def log_cosh(x: Array) -> Array:
    """Return `log(cosh(x))`."""
    a = x * np.sign(x.real)
    small = a.real < 1
    near = log1p(2 * np.sinh(np.where(small, a, 0.0) / 2) ** 2)
    return np.where(small, near, a + log1p(np.exp(-2 * a)) - np.log(2.0))


def csch(x: Array) -> Array:
    """Return `1 / sinh(x)`."""
    sign = np.where(x.real < 0, -1.0, 1.0)
    return -2 * sign * np.exp(-sign * x) / expm1(-2 * sign * x)


def finite_exp(x: Array) -> Array:
    """Return `exp(x)`, held so small that its cube is finite."""
    top = np.log(np.finfo(float).max) / 3
    return np.exp(np.where(x.real > top, top, x))


def large_exp(x: Array) -> Array:
    """Return `exp(x)`, held so small that sums of it are finite."""
    top = np.log(np.finfo(float).max) - 40
    return np.exp(np.where(x.real > top, top, x))


def acosh1p(t: Array) -> Array:
    """Return `acosh(1 + t)`."""
    return log1p(t + np.sqrt(t) * np.sqrt(t + 2))
