"""What the rows of both tables mean, written in NumPy apart from the emission.

These are the callables of the reference interpreter (`tensorgen.ir.interpret`). Each
takes complex arrays too and continues its function analytically near the real axis,
so that `f(x + 1j*h).imag / h` with h = 1e-30 is the derivative to the last digit.
Kinks choose their branch by the real part. NumPy's own complex functions are used
where they keep both parts exact; `log1p`, `expm1` and powers do not.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

# An array or NumPy scalar, real or complex: NumPy's types know no more of arithmetic.
Array = Any
Axes = tuple[int, ...]


def _is_complex(*args: Array) -> bool:
    return any(np.iscomplexobj(arg) for arg in args)


def _join(real: Array, imag: Array) -> Array:
    """Return `real + 1j * imag` with both parts kept exact."""
    real, imag = np.broadcast_arrays(real, imag)
    value = np.empty(real.shape, dtype=complex)
    value.real, value.imag = real, imag
    return value


# Exponentials, logarithms, powers


def expm1(x: Array) -> Array:
    """Return `exp(x) - 1` without cancellation."""
    if not _is_complex(x):
        return np.expm1(x)
    a, b = x.real, x.imag
    return _join(
        np.expm1(a) * np.cos(b) - 2 * np.sin(b / 2) ** 2, np.exp(a) * np.sin(b)
    )


def log1p(x: Array) -> Array:
    """Return `log(1 + x)` without cancellation."""
    if not _is_complex(x):
        return np.log1p(x)
    a, b = x.real, x.imag
    return _join(np.log1p(a * (2 + a) + b * b) / 2, np.arctan2(b, 1 + a))


def integer_power(x: Array, n: int) -> Array:
    """Return `x**n` by repeated multiplication, exact in both parts."""
    base = x if n >= 0 else 1 / x
    value = np.ones_like(base)
    for _ in range(abs(n)):
        value = value * base
    return value


def pow_(x: Array, y: Array) -> Array:
    """Return `x**y`; for negative x where y is a small integer."""
    if not _is_complex(x, y):
        return np.power(x * 1.0, y)
    x, y = np.broadcast_arrays(x, y)
    value = np.exp(y * np.log(x + 0j))
    for n in np.unique(y.real[(y.imag == 0) & (y.real == np.round(y.real))]):
        if abs(n) <= 64:
            chosen = (y.imag == 0) & (y.real == n)
            value = np.where(chosen, integer_power(x, int(n)), value)
    return value


def cbrt(x: Array) -> Array:
    """Return the real cube root."""
    if not _is_complex(x):
        return np.cbrt(x)
    sign = np.sign(x.real)
    return sign * np.exp(np.log(sign * x) / 3)


def _is_zero(x: Array) -> Array:
    # The square of a complex step from 0 is no step at all.
    return (x.real == 0) | (np.abs(x) < 1e-50)


def root(x: Array) -> Array:
    """Return the square root, constant at 0."""
    return np.where(_is_zero(x), 0.0, np.sqrt(x))


def rroot(x: Array) -> Array:
    """Return the reciprocal of the square root, and 0 at 0."""
    return np.where(_is_zero(x), 0.0, 1 / np.sqrt(x))


def xlogy(x: Array, y: Array) -> Array:
    """Return `x * log(y)`, and 0 where x is 0."""
    return np.where(x == 0, 0.0, x * np.log(y))


def xlogx(x: Array) -> Array:
    """Return `x * log(x)`, and 0 where x is 0."""
    return xlogy(x, x)


# Logistic functions


def softplus(x: Array) -> Array:
    """Return `log(1 + exp(x))`."""
    large = x.real > 0
    return np.where(large, x, 0.0) + log1p(np.exp(np.where(large, -x, x)))


def sigmoid(x: Array) -> Array:
    """Return `1 / (1 + exp(-x))`."""
    small = np.exp(np.where(x.real > 0, -x, x))
    return np.where(x.real > 0, 1.0, small) / (1 + small)


def sech2(x: Array) -> Array:
    """1 / cosh(x)**2, even, so from the side that does not overflow."""
    e = np.exp(-2 * x * np.where(np.real(x) < 0, -1, 1))
    return 4 * e / (1 + e) ** 2


def log_sigmoid(x: Array) -> Array:
    """Return `log(sigmoid(x))`."""
    return -softplus(-x)


def logaddexp(x: Array, y: Array) -> Array:
    """Return `log(exp(x) + exp(y))`."""
    return y + softplus(x - y)


# Angles and lengths


def atan2(y: Array, x: Array) -> Array:
    """Return the angle of the point (x, y)."""
    if not _is_complex(x, y):
        return np.arctan2(y, x)
    # Turned by the real angle, the point lies near the positive axis.
    a, b = x.real, y.real
    return np.arctan2(b, a) + np.arctan((y * a - x * b) / (x * a + y * b))


def hypot(x: Array, y: Array) -> Array:
    """Return `sqrt(x**2 + y**2)`, constant at 0."""
    return root(x * x + y * y)


# Kinks


def abs_(x: Array) -> Array:
    """Return the absolute value by the sign of the real part."""
    return x * np.sign(x.real)


def maximum(x: Array, y: Array) -> Array:
    """Return the larger one, and the mean of equals."""
    equal = np.where(x.real == y.real, (x + y) / 2, y)
    return np.where(x.real > y.real, x, equal)


def minimum(x: Array, y: Array) -> Array:
    """Return the smaller one, and the mean of equals."""
    return -maximum(-x, -y)


def where(condition: Array, x: Array, y: Array) -> Array:
    """Return x where the condition is not 0, else y."""
    return np.where(condition.real != 0, x, y)


def _by_real(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a piecewise constant function of the real parts, as numbers."""

    def constant(*args: Array) -> Array:
        return np.asarray(function(*(arg.real for arg in args))) * 1.0

    return constant


# Special functions


def _special(name: str) -> Callable[..., Array]:
    def function(*args: Array) -> Array:
        import scipy.special

        return np.asarray(getattr(scipy.special, name)(*args))

    return function


def erf(x: Array) -> Array:
    """Return the error function; to first order in the imaginary part."""
    value = _special("erf")(x.real)
    if not _is_complex(x):
        return value
    return _join(value, x.imag * 2 / np.sqrt(np.pi) * np.exp(-x.real * x.real))


def erfc(x: Array) -> Array:
    """Return `1 - erf(x)` without cancellation; likewise."""
    value = _special("erfc")(x.real)
    return _join(value, -erf(x).imag) if _is_complex(x) else value


def lgamma(x: Array) -> Array:
    """Return `log|gamma(x)|`; likewise."""
    value = _special("gammaln")(x.real)
    if not _is_complex(x):
        return value
    return _join(value, x.imag * _special("digamma")(x.real))


def polygamma(n: Array, x: Array) -> Array:
    """Return derivative n of digamma; to first order in the imaginary part."""
    derivative = _special("polygamma")
    value = derivative(n.real, x.real)
    if not _is_complex(x):
        return value
    return _join(value, x.imag * derivative(n.real + 1, x.real))


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "exp": np.exp,
    "expm1": expm1,
    "log": np.log,
    "log1p": log1p,
    "log2": lambda x: np.log(x) / np.log(2.0),
    "log10": lambda x: np.log(x) / np.log(10.0),
    "sqrt": np.sqrt,
    "root": root,
    "rroot": rroot,
    "cbrt": cbrt,
    "pow": pow_,
    "xlogy": xlogy,
    "xlogx": xlogx,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": atan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sech2": sech2,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "log_sigmoid": log_sigmoid,
    "logaddexp": logaddexp,
    "abs": abs_,
    "sign": _by_real(np.sign),
    "relu": lambda x: np.where(x.real > 0, x, 0.0),
    "maximum": maximum,
    "minimum": minimum,
    "step": _by_real(lambda x: np.heaviside(x, 0.5)),
    "floor": _by_real(np.floor),
    "hypot": hypot,
    "less": _by_real(np.less),
    "less_equal": _by_real(np.less_equal),
    "greater": _by_real(np.greater),
    "greater_equal": _by_real(np.greater_equal),
    "equal": _by_real(np.equal),
    "not_equal": _by_real(np.not_equal),
    "logical_and": _by_real(np.logical_and),
    "logical_or": _by_real(np.logical_or),
    "logical_not": _by_real(np.logical_not),
    "where": where,
    "erf": erf,
    "erfc": erfc,
    "lgamma": lgamma,
    "digamma": _special("digamma"),
    "polygamma": polygamma,
}


# Functions of whole arrays


def logdet(a: Array) -> Array:
    """Return `log|det a|` over the last two axes."""
    sign, size = np.linalg.slogdet(a)
    if not _is_complex(a):
        return np.asarray(size)
    return np.asarray(_join(size, np.angle(sign * np.sign(sign.real))))


def _top(x: Array, axes: Axes) -> Array:
    """The largest real part along the axes, 0 where it is not finite."""
    top = np.max(x.real, axis=axes, keepdims=True)
    return np.where(np.isfinite(top), top, 0.0)


def logsumexp(x: Array, axes: Axes) -> Array:
    """Return `log(sum(exp(x)))` along the axes."""
    top = _top(x, axes)
    total = np.sum(np.exp(x - top), axis=axes)
    return np.log(total) + np.squeeze(top, axis=axes)


def softmax(x: Array, axes: Axes) -> Array:
    """Return `exp(x) / sum(exp(x))` along the axes."""
    weights = np.exp(x - _top(x, axes))
    return weights / np.sum(weights, axis=axes, keepdims=True)


def max_(x: Array, axes: Axes) -> Array:
    """Return the mean of the largest entries along the axes."""
    hit = x.real == np.max(x.real, axis=axes, keepdims=True)
    return np.sum(np.where(hit, x, 0.0), axis=axes) / np.sum(hit, axis=axes)


def min_(x: Array, axes: Axes) -> Array:
    """Return the mean of the smallest entries along the axes."""
    return -max_(-x, axes)


def prod(x: Array, axes: Axes) -> Array:
    """Return the product along the axes."""
    return np.asarray(np.prod(x, axis=axes))


def prod_others(x: Array, axes: Axes) -> Array:
    """Return for each entry the product of the others along the axes."""
    value = np.ones_like(x)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    for at, other in product(np.ndindex(x.shape), repeat=2):
        if at != other and all(at[axis] == other[axis] for axis in kept):
            value[at] *= x[other]
    return value


def running_logsumexp(z: Array, along: Axes) -> Array:
    """Return the logarithms of the running sums of `exp(z)` along an axis."""
    sums = [
        logsumexp(part, along)
        for part in (
            np.take(z, range(k + 1), axis=along[0]) for k in range(z.shape[along[0]])
        )
    ]
    return np.stack(sums, axis=along[0]) if sums else z


def running_mean(z: Array, level: Array, v: Array, along: Axes) -> Array:
    """Return the sums of `exp(z[j] - level[i]) * v[j]` over j <= i."""
    z, level, v = (np.moveaxis(x, along[0], -1) for x in (z, level, v))
    difference = z[..., None, :] - level[..., :, None]
    counts = np.tri(z.shape[-1], dtype=bool)
    triangle = np.where(counts, np.exp(np.where(counts, difference, 0.0)), 0.0)
    return np.moveaxis(np.sum(triangle * v[..., None, :], axis=-1), -1, along[0])


def running_share(z: Array, level: Array, w: Array, along: Axes) -> Array:
    """Return the sums of `exp(z[j] - level[i]) * w[i]` over i >= j."""
    z, level, w = (np.flip(x, along) for x in (z, level, w))
    return np.flip(running_mean(-level, -z, w, along), along)


def cholesky(a: Array) -> Array:
    """Return the lower Cholesky factor; complex arguments are not conjugated."""
    factor = np.zeros_like(a)
    for j in range(a.shape[-1]):
        rest = factor[..., j:, :j] @ factor[..., j, :j, None]
        column = a[..., j:, j] - rest[..., 0]
        factor[..., j:, j] = column / np.sqrt(column[..., :1])
    return factor


def expm(a: Array) -> Array:
    """Return the matrix exponential over the last two axes."""
    import scipy.linalg

    return np.asarray(scipy.linalg.expm(a))


def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    """Return the entries in C order in another shape."""
    return np.reshape(x, shape)


OPERATORS: dict[str, Callable[..., Array]] = {
    "cholesky": cholesky,
    "expm": expm,
    "reshape": reshape,
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "logdet": logdet,
    "logsumexp": logsumexp,
    "softmax": softmax,
    "max": max_,
    "min": min_,
    "prod": prod,
    "prod_others": prod_others,
    "running_logsumexp": running_logsumexp,
    "running_mean": running_mean,
    "running_share": running_share,
}
