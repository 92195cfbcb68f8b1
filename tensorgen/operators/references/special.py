"""What the rows of special functions mean, with SciPy's values.

Complex arguments are taken to first order in the imaginary part, with derivatives
that are written apart from those of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from tensorgen.operators.references import Array
from tensorgen.operators.references.complex_parts import is_complex, join

# Their nodes are eigenvalues, found once.
gauss_laguerre = cache(np.polynomial.laguerre.laggauss)
gauss_legendre = cache(np.polynomial.legendre.leggauss)


def special(name: str) -> Callable[..., Array]:
    """Return a function of SciPy, imported when it is called."""

    def function(*args: Array) -> Array:
        import scipy.special

        return np.asarray(getattr(scipy.special, name)(*args))

    return function


def _first_order(
    value: Callable[..., Array], *slopes: Callable[..., Array] | None
) -> Callable[..., Array]:
    """Return a function of complex arguments from its value and its slopes.

    An argument without a slope is one of which nothing is differentiated.
    """

    def function(*args: Array) -> Array:
        real = [np.real(arg) for arg in args]
        if not is_complex(*args):
            return value(*real)
        imag = sum(
            np.imag(arg) * slope(*real)
            for arg, slope in zip(args, slopes, strict=True)
            if slope is not None
        )
        return join(value(*real), imag)

    return function


def mills(x: Array) -> Array:
    """Return the pdf of the normal distribution over its cdf."""
    return np.sqrt(2 / np.pi) / special("erfcx")(-x / np.sqrt(2))


def _tail(order: int) -> Callable[[Array], Array]:
    """Return a cumulant of t with the density exp(x * t - t**2 / 2), t > 0.

    Of x less what is normal and less than x, that is. Far out, where formulas cancel,
    moments are sums over the nodes of Gauss and Laguerre.
    """

    def cumulant(x: Array) -> Array:
        top = np.maximum(x, -5.0)
        m = mills(top)
        gap = top + m
        variance = 1 - m * gap
        near = (gap, variance, m * (gap**2 - variance))[order - 1]
        t, weights = gauss_laguerre(60)
        a = np.maximum(-x, 5.0)[..., None]
        weights = weights * np.exp(-((t / a) ** 2) / 2)
        weights = weights / weights.sum(-1, keepdims=True)
        mean = (weights * t).sum(-1, keepdims=True)
        moment = t if order == 1 else (t - mean) ** order
        far = (weights * moment).sum(-1) / a[..., 0] ** order
        return np.where(x < -5, far, near)

    return cumulant


def _bell(x: Array) -> Array:
    return np.exp(-x * x / 2)


def _density(x: Array) -> Array:
    return _bell(x) / np.sqrt(2 * np.pi)


def _quantile_slope(p: Array) -> Array:
    return 1 / (p * mills(special("ndtri")(p)))


def _quantile_curve(p: Array) -> Array:
    return special("ndtri")(p) * _quantile_slope(p) ** 2


def _mills_fall(x: Array) -> Array:
    return mills(x) * mills_gap(x)


def _mills_bend(x: Array) -> Array:
    return mills(x) * (mills_variance(x) - mills_gap(x) ** 2)


def _polygamma_slope(n: Array, x: Array) -> Array:
    return special("polygamma")(n + 1, x)


ndtr = _first_order(special("ndtr"), _density)
log_ndtr = _first_order(special("log_ndtr"), mills)
inverse_mills = _first_order(mills, lambda x: -_mills_fall(x))
mills_fall = _first_order(_mills_fall, _mills_bend)
mills_gap = _first_order(_tail(1), _tail(2))
mills_variance = _first_order(_tail(2), _tail(3))
ndtri = _first_order(special("ndtri"), _quantile_slope)
ndtri_slope = _first_order(_quantile_slope, _quantile_curve)
erf = _first_order(special("erf"), lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x))
erfc = _first_order(special("erfc"), lambda x: -2 / np.sqrt(np.pi) * np.exp(-x * x))
lgamma = _first_order(special("gammaln"), special("digamma"))
polygamma = _first_order(special("polygamma"), None, _polygamma_slope)


def _polygamma_gap(n: Array, x: Array, y: Array) -> Array:
    of = special("polygamma")
    return of(n, x + y) - of(n, x)


def _moment(n: Array, x: Array) -> Array:
    """The mean of s**n * exp(-abs(x) * s) over a circle, by Kummer's function."""
    scale = 2**n / np.sqrt(np.pi) * special("gamma")(n + 0.5) / special("gamma")(n + 1)
    return scale * special("hyp1f1")(n + 0.5, n + 1, -2 * np.abs(x))


def _moment_slope(n: Array, x: Array) -> Array:
    return -np.sign(x) * _moment(n + 1, x)


def _i0e_slope(x: Array) -> Array:
    return _moment_slope(np.float64(0), x)


def _i1e_slope(x: Array) -> Array:
    return _moment(np.float64(2), x) - _moment(np.float64(1), x)


def _betaln_slope(a: Array, b: Array) -> Array:
    return special("digamma")(a) - special("digamma")(a + b)


def _gamma_density(a: Array, x: Array) -> Array:
    return np.exp((a - 1) * np.log(x) - x - special("gammaln")(a))


def _beta_density(a: Array, b: Array, x: Array) -> Array:
    return x ** (a - 1) * (1 - x) ** (b - 1) / special("beta")(a, b)


polygamma_gap = _first_order(
    _polygamma_gap,
    None,
    lambda n, x, y: _polygamma_gap(n + 1, x, y),
    lambda n, x, y: _polygamma_slope(n, x + y),
)


def _between(a: Array, b: Array, width: Array) -> tuple[Array, ...]:
    """The log of the probability between b and a, and its derivatives.

    Those by the middle, by the width, and the second ones, as integrals over the part
    of the interval where the density is not lost beside its largest value.
    """
    up = a + b > 0
    top = np.where(up, -b, a)[..., None]
    scale = np.maximum(np.maximum(-top, 0.0), 1e-9)
    most = np.maximum(top, 0.0) + np.minimum(9.0, 45 / scale)
    length = np.minimum(np.asarray(width)[..., None], most)
    nodes, weights = gauss_legendre(150)
    t = length * (nodes + 1) / 2
    far = np.where(np.isfinite(top), top, 0.0)
    mass = weights * length / 2 * np.exp(far * t - t * t / 2)
    whole = mass.sum(-1)
    mean = (mass * t).sum(-1) / whole
    spread = (mass * (t - mean[..., None]) ** 2).sum(-1) / whole
    far = far[..., 0]
    p, side = 1 / whole, np.where(up, -1.0, 1.0)
    q = np.exp(far * width - width**2 / 2) / whole
    slope, rise = side * (mean - far), (p + q) / 2
    end = np.where(q > 0, far - width, 0.0)
    return (
        np.log(whole) - far**2 / 2 - np.log(2 * np.pi) / 2,
        slope,
        rise,
        1 - spread,
        -(far * p + end * q) / 2 * side - slope * rise,
        (far * p - end * q) / 4 + rise**2,
    )


def _third(a: Array, b: Array, width: Array) -> tuple[Array, ...]:
    """The third derivatives: by the middle alone, then more and more by the width."""
    _, slope, rise, bend, twist, fall = _between(a, b, width)
    p, q = rise + slope / 2, rise - slope / 2
    odd, even = a * a * p - b * b * q, a * a * p + b * b * q
    first = bend - slope**2
    return (
        odd - slope + 2 * slope * bend + slope * first,
        even / 2 - rise + rise * first - 2 * slope * twist,
        (odd - slope) / 4 - rise * (2 * twist + slope * rise) + slope * fall,
        even / 8 - rise / 4 + rise * first / 4 + 2 * rise * fall,
    )


def _of_between(
    place: int, by_middle: Callable[..., Array], by_width: Callable[..., Array]
) -> Callable[..., Array]:
    """One of these, its slope by the middle shared by both ends."""

    def half(*args: Array) -> Array:
        return by_middle(*args) / 2

    return _first_order(lambda *args: _between(*args)[place], half, half, by_width)


def _entry(make: Callable[..., Any], place: int, sign: int = 1) -> Callable[..., Array]:
    return lambda *args: sign * make(*args)[place]


log_ndtr_between = _of_between(0, _entry(_between, 1), _entry(_between, 2))
between_slope = _of_between(1, _entry(_between, 3, -1), _entry(_between, 4))
between_rise = _of_between(2, _entry(_between, 4), _entry(_between, 5, -1))
between_bend = _of_between(3, _entry(_third, 0, -1), _entry(_third, 1, -1))
between_twist = _of_between(4, _entry(_third, 1), _entry(_third, 2))
between_fall = _of_between(5, _entry(_third, 2, -1), _entry(_third, 3, -1))


def _exprel_moment(n: Array, x: Array) -> Array:
    return special("hyp1f1")(n + 1.0, n + 2.0, x) / (n + 1)


def _bessel_moment(n: Array, x: Array) -> Array:
    angles = np.pi * (np.arange(400) + 0.5) / 400
    cosines = np.cos(angles)
    n, x = np.asarray(n)[..., None], np.asarray(x)[..., None]
    return np.mean(cosines**n * np.exp(x * cosines), -1)


def _log_i0(x: Array) -> Array:
    size = np.abs(x)
    small = np.log1p(_bessel_moment(0, x) - 1)
    return np.where(size < 1, small, np.log(special("i0e")(x)) + size)


def _bessel_ratio(x: Array) -> Array:
    return special("i1e")(x) / special("i0e")(x)


def _bessel_ratio_slope(x: Array) -> Array:
    mean = _moment(1, x) / special("i0e")(x)
    return _moment(2, x) / special("i0e")(x) - mean**2


exprel = _first_order(partial(_exprel_moment, 0), partial(_exprel_moment, 1))
exprel_moment = _first_order(
    _exprel_moment, None, lambda n, x: _exprel_moment(n + 1, x)
)
i0 = _first_order(special("i0"), special("i1"))
i1 = _first_order(special("i1"), partial(_bessel_moment, 2))
i0_moment = _first_order(_bessel_moment, None, lambda n, x: _bessel_moment(n + 1, x))
log_i0 = _first_order(_log_i0, _bessel_ratio)
bessel_ratio = _first_order(_bessel_ratio, _bessel_ratio_slope)
lrising = _first_order(
    lambda a, n: special("gammaln")(a + n) - special("gammaln")(a),
    lambda a, n: special("digamma")(a + n) - special("digamma")(a),
    lambda a, n: special("digamma")(a + n),
)
betaln = _first_order(
    special("betaln"), _betaln_slope, lambda a, b: _betaln_slope(b, a)
)
gammainc = _first_order(special("gammainc"), None, _gamma_density)
betainc = _first_order(special("betainc"), None, None, _beta_density)
i0e = _first_order(special("i0e"), _i0e_slope)
i1e = _first_order(special("i1e"), _i1e_slope)
i0e_moment = _first_order(_moment, None, _moment_slope)
