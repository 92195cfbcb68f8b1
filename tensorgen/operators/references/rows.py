"""What the rows of both tables mean, written in NumPy apart from the emission.

The check of emitted code and the interpreter that tests have call these. Each
takes complex arrays too and continues its function analytically near the real axis,
so that `f(x + 1j*h).imag / h` with h = 1e-30 is the derivative to the last digit.
Kinks choose their branch by the real part. NumPy's own complex functions are used
where they keep both parts exact; `log1p`, `expm1` and powers do not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorgen.operators.references import Array, exponential, special
from tensorgen.operators.references.complex_parts import is_complex, join
from tensorgen.operators.references.whole_arrays import OPERATORS

# An array or NumPy scalar, real or complex: NumPy's types know no more of arithmetic.


# Exponentials, logarithms, powers


def integer_power(x: Array, n: int) -> Array:
    """Return `x**n` by repeated multiplication, exact in both parts."""
    base = x if n >= 0 else 1 / x
    value = np.ones_like(base)
    for _ in range(abs(n)):
        value = value * base
    return value


def pow_(x: Array, y: Array) -> Array:
    """Return `x**y`; for negative x where y is a small integer."""
    if not is_complex(x, y):
        return np.power(x * 1.0, y)
    x, y = np.broadcast_arrays(x, y)
    value = np.exp(y * np.log(x + 0j))
    for n in np.unique(y.real[(y.imag == 0) & (y.real == np.round(y.real))]):
        if abs(n) <= 64:
            chosen = (y.imag == 0) & (y.real == n)
            value = np.where(chosen, integer_power(x, int(n)), value)
    return value


def power_slope(x: Array, y: Array) -> Array:
    """Return `y * x**(y - 1)`, and 0 where y is 0."""
    return y * pow_(np.where(y == 0, 1.0, x), y - 1)


def power_curve(x: Array, y: Array) -> Array:
    """Return `y * (y - 1) * x**(y - 2)`, and 0 where y is 0 or 1."""
    scale = y * (y - 1)
    return scale * pow_(np.where(scale == 0, 1.0, x), y - 2)


def cbrt(x: Array) -> Array:
    """Return the real cube root."""
    if not is_complex(x):
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


def xlog_ratio(x: Array, y: Array) -> Array:
    """Return `x * log(x / y)`, and 0 where x is 0."""
    return xlogy(x, np.where(x == 0, 1.0, x / y))


# Logistic functions


def softplus(x: Array) -> Array:
    """Return `log(1 + exp(x))`."""
    large = x.real > 0
    return np.where(large, x, 0.0) + exponential.log1p(np.exp(np.where(large, -x, x)))


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
    first = x.real >= y.real
    most: Array = np.where(first, x, y)
    least: Array = np.where(first, y, x)
    # Of two that are infinite and the same, the difference is nothing.
    same = np.isinf(most.real) & (most.real == least.real)
    return most + softplus(np.where(same, 0.0, least - most))


# Angles and lengths


def atan2(y: Array, x: Array) -> Array:
    """Return the angle of the point (x, y)."""
    if not is_complex(x, y):
        return np.arctan2(y, x)
    # Turned by the real angle, the point lies near the positive axis.
    a, b = x.real, y.real
    return np.arctan2(b, a) + np.arctan((y * a - x * b) / (x * a + y * b))


def hypot(x: Array, y: Array) -> Array:
    """Return `sqrt(x**2 + y**2)`, constant at 0."""
    return root(x * x + y * y)


def cosine(x: Array, y: Array) -> Array:
    """Return `x / hypot(x, y)`, and 0 at 0."""
    return x * rroot(x * x + y * y)


def inverse(x: Array) -> Array:
    """Return `1 / x`, and 0 at 0."""
    return np.where(x == 0, 0.0, 1 / np.where(x == 0, 1.0, x))


def rhypot(x: Array, y: Array) -> Array:
    """Return `1 / hypot(x, y)`, and 0 at 0."""
    return rroot(x * x + y * y)


# Kinks


def abs_(x: Array) -> Array:
    """Return the absolute value by the sign of the real part."""
    return x * np.sign(x.real)


def maximum(x: Array, y: Array) -> Array:
    """Return the larger one, the mean of equals, and no number beside none."""
    below = np.where(x.real < y.real, y, (x + y) / 2)
    return np.where(x.real > y.real, x, below)


def minimum(x: Array, y: Array) -> Array:
    """Return the smaller one, likewise."""
    return -maximum(-x, -y)


def mod(x: Array, y: Array) -> Array:
    """Return what is left of x / y."""
    value = np.mod(x.real, y.real)
    if not is_complex(x, y):
        return value
    return join(value, x.imag - y.imag * np.floor_divide(x.real, y.real))


def where(condition: Array, x: Array, y: Array) -> Array:
    """Return x where the condition is not 0, else y."""
    return np.where(condition.real != 0, x, y)


def _by_real(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a piecewise constant function of the real parts, as numbers."""

    def constant(*args: Array) -> Array:
        return np.asarray(function(*(arg.real for arg in args))) * 1.0

    return constant


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "exp": np.exp,
    "expm1": exponential.expm1,
    "log": np.log,
    "log1p": exponential.log1p,
    "log1mexp": exponential.log1mexp,
    "rexpm1": lambda x: 1 / exponential.expm1(x),
    "log_icloglog": exponential.log_icloglog,
    "log_cosh": exponential.log_cosh,
    "finite_exp": exponential.finite_exp,
    "low_exp": np.exp,
    "large_exp": exponential.large_exp,
    "level": _by_real(np.nan_to_num),
    "finite": lambda x: x,
    "gap": lambda x, y: x - y,
    "stated_gap": lambda x, y: x - y,
    "nonzero": lambda x: x + (x == 0),
    "acosh1p": exponential.acosh1p,
    "log2": lambda x: np.log(x) / np.log(2.0),
    "log10": lambda x: np.log(x) / np.log(10.0),
    "sqrt": np.sqrt,
    "cbrt": cbrt,
    "pow": pow_,
    "power_slope": power_slope,
    "power_curve": power_curve,
    "xlogy": xlogy,
    "xlogx": xlogx,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "one_minus_square": lambda x: (1 - x) * (1 + x),
    "atan_slope": lambda x: 1 / (1 + x * x),
    "tilt": lambda x: x / (1 + x * x),
    "atan2": atan2,
    "sinh": np.sinh,
    "csch": exponential.csch,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sech2": sech2,
    "sigmoid": sigmoid,
    "sigmoid_slope": lambda x: sigmoid(x) * sigmoid(-x),
    "softplus": softplus,
    "log_sigmoid": log_sigmoid,
    "logaddexp": logaddexp,
    "abs": abs_,
    "sign": _by_real(np.sign),
    "relu": lambda x: np.where(x.real <= 0, 0.0, x),
    "maximum": maximum,
    "minimum": minimum,
    "fmax": maximum,
    "fmin": minimum,
    "clamp": lambda x, low, high: minimum(maximum(x, low), high),
    "step": _by_real(lambda x: np.heaviside(x, 0.5)),
    "floor": _by_real(np.floor),
    "round": _by_real(np.round),
    "mod": mod,
    "floor_divide": _by_real(np.floor_divide),
    "hypot": hypot,
    "cosine": cosine,
    "rhypot": rhypot,
    "inverse": inverse,
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
    "xlog_ratio": xlog_ratio,
    "exprel": special.exprel,
    "exprel_moment": special.exprel_moment,
    "erf": special.erf,
    "erfc": special.erfc,
    "gauss": lambda x: np.exp(-x * x),
    "bell": lambda x: np.exp(-x * x / 2),
    "ndtr": special.ndtr,
    "log_ndtr": special.log_ndtr,
    "inverse_mills": special.inverse_mills,
    "mills_fall": special.mills_fall,
    "mills_gap": special.mills_gap,
    "mills_variance": special.mills_variance,
    "log_ndtr_between": special.log_ndtr_between,
    "between_slope": special.between_slope,
    "between_rise": special.between_rise,
    "between_bend": special.between_bend,
    "between_twist": special.between_twist,
    "between_fall": special.between_fall,
    "ndtri": special.ndtri,
    "ndtri_slope": special.ndtri_slope,
    "lgamma": special.lgamma,
    "lrising": special.lrising,
    "digamma": special.special("digamma"),
    "polygamma": special.polygamma,
    "polygamma_gap": special.polygamma_gap,
    "betaln": special.betaln,
    "gammainc": special.gammainc,
    "betainc": special.betainc,
    "i0": special.i0,
    "i1": special.i1,
    "i0_moment": special.i0_moment,
    "log_i0": special.log_i0,
    "bessel_ratio": special.bessel_ratio,
    "i0e": special.i0e,
    "i1e": special.i1e,
    "i0e_moment": special.i0e_moment,
}

__all__ = ["FUNCTIONS", "OPERATORS"]
