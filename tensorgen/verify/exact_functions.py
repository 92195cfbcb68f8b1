"""Functions in mpmath's numbers, on arrays of them: elementwise, and of whole arrays.

What only compares, adds and multiplies is that of the reference itself: NumPy does so
with numbers of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tensorgen.operators.matrices.capacitance import NAMES as CAPACITANCE
from tensorgen.operators.references import Array
from tensorgen.operators.references.places import PLACES
from tensorgen.operators.references.walks import WALKS
from tensorgen.operators.references.whole_arrays import OPERATORS

Axes = tuple[int, ...]
Table = dict[str, Callable[..., Array]]

LARGEST_EXPONENT = float(np.log(np.finfo(float).max))
"""Whose exponential is the largest double."""


@cache
def functions() -> Table:
    """Return the functions by the names of their rows."""
    every = {**_plain(), **_made(), **_kinks(), **_special(), **_between()}
    return {name: _elementwise(function) for name, function in every.items()}


def _elementwise(function: Callable[..., Any]) -> Callable[..., Array]:
    def applied(*args: Array) -> Array:
        return np.frompyfunc(function, len(args), 1)(*args)

    return applied


def _plain() -> Table:
    """What mpmath has itself."""
    import mpmath as mp

    names = {
        **{x: x for x in ("exp", "expm1", "log", "log1p", "sqrt", "cbrt")},
        **{x: x for x in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2")},
        **{x: x for x in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
        **{x: x for x in ("hypot", "csch", "erf", "erfc", "digamma")},
        "ndtr": "ncdf",
        "lgamma": "loggamma",
    }
    return {name: getattr(mp, own) for name, own in names.items()}


def _made() -> Table:
    """What is one formula of these."""
    import mpmath as mp

    exp, log, log1p, expm1 = mp.exp, mp.log, mp.log1p, mp.expm1

    def power(x: Any, y: Any) -> Any:
        return mp.mpf(x) ** y

    def xlogy(x: Any, y: Any) -> Any:
        return mp.mpf(0) if x == 0 else x * log(y)

    def softplus(x: Any) -> Any:
        return (x if x > 0 else mp.mpf(0)) + log1p(exp(-abs(x)))

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + exp(-x))

    return {
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        "log2": lambda x: log(x, 2),
        "log10": mp.log10,
        "pow": power,
        "power_slope": lambda x, y: y * power(x, y - 1) if y else mp.mpf(0),
        "power_curve": lambda x, y: (
            y * (y - 1) * power(x, y - 2) if y * (y - 1) else mp.mpf(0)
        ),
        "xlogy": xlogy,
        "xlog_ratio": lambda x, y: xlogy(x, x / y) if x else mp.mpf(0),
        "exprel": lambda x: expm1(x) / x if x else mp.mpf(1),
        "exprel_moment": lambda n, x: mp.hyp1f1(n + 1, n + 2, x) / (n + 1),
        "xlogx": lambda x: xlogy(x, x),
        "rexpm1": lambda x: 1 / expm1(x),
        "log1mexp": lambda x: log(-expm1(x)),
        "log_icloglog": lambda x: log(-expm1(-exp(x))),
        "log_cosh": lambda x: abs(x) + log1p(exp(-2 * abs(x))) - log(2),
        "low_exp": exp,
        "finite_exp": lambda x: exp(min(x, LARGEST_EXPONENT / 3)),
        "large_exp": lambda x: exp(min(x, LARGEST_EXPONENT - 40)),
        "level": lambda x: x,
        "finite": lambda x: x,
        "gap": lambda x, y: mp.mpf(0) if x == y else x - y,
        "stated_gap": lambda x, y: mp.mpf(0) if x == y else x - y,
        "nonzero": lambda x: x if x else mp.mpf(1),
        "acosh1p": lambda x: mp.acosh(1 + x),
        "one_minus_square": lambda x: (1 - x) * (1 + x),
        "atan_slope": lambda x: 1 / (1 + mp.mpf(x) ** 2),
        "tilt": lambda x: x / (1 + mp.mpf(x) ** 2),
        "sech2": lambda x: mp.sech(x) ** 2,
        "sigmoid": sigmoid,
        "sigmoid_slope": lambda x: sigmoid(x) * sigmoid(-x),
        "softplus": softplus,
        "log_sigmoid": lambda x: -softplus(-x),
        "logaddexp": lambda x, y: max(x, y)
        + softplus(min(x, y) - max(x, y) if x != y else mp.mpf(0)),
        "cosine": lambda x, y: x / mp.hypot(x, y) if x or y else mp.mpf(0),
        "rhypot": lambda x, y: 1 / mp.hypot(x, y) if x or y else mp.mpf(0),
        "inverse": lambda x: 1 / mp.mpf(x) if x else mp.mpf(0),
    }


def _kinks() -> Table:
    """What is made of parts, and truth values as numbers."""
    import mpmath as mp

    def truth(test: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: mp.mpf(bool(test(*args)))

    return {
        "abs": lambda x: abs(mp.mpf(x)),
        "sign": mp.sign,
        "relu": lambda x: x if x > 0 else mp.mpf(0),
        "maximum": lambda x, y: max(x, y),
        "minimum": lambda x, y: min(x, y),
        "fmax": lambda x, y: max(x, y),
        "fmin": lambda x, y: min(x, y),
        "clamp": lambda x, low, high: min(max(x, low), high),
        "step": lambda x: (mp.sign(x) + 1) / 2,
        "floor": mp.floor,
        "round": lambda x: mp.nint(x),
        "mod": lambda x, y: x - y * mp.floor(mp.mpf(x) / y),
        "floor_divide": lambda x, y: mp.floor(mp.mpf(x) / y),
        "where": lambda condition, x, y: x if condition != 0 else y,
        "less": truth(lambda x, y: x < y),
        "less_equal": truth(lambda x, y: x <= y),
        "greater": truth(lambda x, y: x > y),
        "greater_equal": truth(lambda x, y: x >= y),
        "equal": truth(lambda x, y: x == y),
        "not_equal": truth(lambda x, y: x != y),
        "logical_and": truth(lambda x, y: x and y),
        "logical_or": truth(lambda x, y: x or y),
        "logical_not": truth(lambda x: not x),
    }


def _between() -> Table:
    """What is normal and lies between two numbers, whose difference is the third."""
    import mpmath as mp

    def between(place: int) -> Callable[..., Any]:
        """One of the derivatives of log(cdf(a) - cdf(b)) by middle and width."""

        def function(a: Any, b: Any, width: Any) -> Any:
            a, b = (-b, -a) if a + b > 0 else (a, b)
            whole = mp.ncdf(a) - mp.ncdf(b)
            p, q = mp.npdf(a) / whole, mp.npdf(b) / whole
            slope, rise, odd, even = p - q, (p + q) / 2, a * p - b * q, a * p + b * q
            return (
                mp.log(whole),
                slope,
                rise,
                odd + slope**2,
                -even / 2 - slope * rise,
                odd / 4 + rise**2,
            )[place]

        if place not in (1, 4):
            return function
        return lambda a, b, z: function(a, b, z) * (-1 if a + b > 0 else 1)

    derivatives = (f"between_{x}" for x in ("slope", "rise", "bend", "twist", "fall"))
    names = ("log_ndtr_between", *derivatives)
    return {name: between(place) for place, name in enumerate(names)}


def _special() -> Table:
    """Distributions and what comes of them."""
    import mpmath as mp

    def mills(x: Any) -> Any:
        return mp.npdf(x) / mp.ncdf(x)

    def quantile(p: Any) -> Any:
        return mp.sqrt(2) * mp.erfinv(2 * mp.mpf(p) - 1)

    def order(n: Any) -> int:
        return int(n)

    return {
        "gauss": lambda x: mp.exp(-mp.mpf(x) ** 2),
        "bell": lambda x: mp.exp(-mp.mpf(x) ** 2 / 2),
        "log_ndtr": lambda x: mp.log(mp.ncdf(x)),
        "inverse_mills": mills,
        "mills_fall": lambda x: mills(x) * (x + mills(x)),
        "mills_gap": lambda x: x + mills(x),
        "mills_variance": lambda x: 1 - mills(x) * (x + mills(x)),
        "ndtri": quantile,
        "ndtri_slope": lambda p: 1 / mp.npdf(quantile(p)),
        "polygamma": lambda n, x: mp.psi(order(n), x),
        "polygamma_gap": lambda n, x, y: mp.psi(order(n), x + y) - mp.psi(order(n), x),
        "lrising": lambda a, n: mp.loggamma(a + n) - mp.loggamma(a),
        "i0": lambda x: mp.besseli(0, x),
        "i1": lambda x: mp.besseli(1, x),
        "log_i0": lambda x: mp.log(mp.besseli(0, x)),
        "bessel_ratio": lambda x: mp.besseli(1, x) / mp.besseli(0, x),
        "betaln": lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
        "gammainc": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
        "betainc": lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        "i0e": lambda x: mp.exp(-abs(x)) * mp.besseli(0, x),
        "i1e": lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
    }


OF_ANY_NUMBERS = (
    *("spd", "symmetric", "stop_gradient", "reshape", "packed", "unpacked"),
    *CAPACITANCE,
    *("max", "min", "supremum", "lower_median", "upper_median", "median"),
    *("prod", "prod_others"),
    *("max_by_key", "min_by_key", "prod_by_key", "prod_others_by_key"),
    *PLACES,
    *WALKS,
)


@cache
def operators() -> Table:
    """Return the functions by the names of their rows."""
    return {
        **{name: OPERATORS[name] for name in OF_ANY_NUMBERS},
        **_reductions(),
        **_matrices(),
    }


def _reductions() -> Table:
    exp, log, sqrt = (functions()[name] for name in ("exp", "log", "sqrt"))

    def logsumexp(x: Array, axes: Axes) -> Array:
        return np.asarray(log(np.sum(exp(x), axis=axes)))

    def softmax(x: Array, axes: Axes) -> Array:
        weights = exp(x)
        return weights / np.sum(weights, axis=axes, keepdims=True)

    def norm(x: Array, axes: Axes) -> Array:
        return np.asarray(sqrt(np.sum(x * x, axis=axes)))

    def rnorm(x: Array, axes: Axes) -> Array:
        return functions()["inverse"](norm(x, axes))

    def unit(x: Array, axes: Axes) -> Array:
        return x * np.expand_dims(np.asarray(rnorm(x, axes)), axes)

    def running_logsumexp(z: Array, along: Axes) -> Array:
        return log(np.cumsum(exp(z), axis=along[0]))

    return {
        "logsumexp": logsumexp,
        "softmax": softmax,
        "log_softmax": lambda x, axes: log(softmax(x, axes)),
        "norm": norm,
        "rnorm": rnorm,
        "unit": unit,
        "any": lambda x, axes: np.any(x != 0, axis=axes) * 1.0,
        "running_logsumexp": running_logsumexp,
    }


def _matrices() -> Table:
    import mpmath as mp

    def log_of_det(a: Any) -> Any:
        return mp.log(abs(mp.det(a)))

    def of_eigenvalues(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def found(a: Any) -> Any:
            values, vectors = mp.eigsy((a + a.T) / 2)
            return vectors * mp.diag([function(x) for x in values]) * vectors.T

        return found

    def eigenvalues(a: Any) -> Any:
        return mp.matrix(sorted(mp.eigsy((a + a.T) / 2, eigvals_only=True)))

    def pinv(a: Any) -> Any:
        return a.T * (a * a.T) ** -1 if a.cols > a.rows else (a.T * a) ** -1 * a.T

    return {
        "inv": _each(lambda a: a**-1),
        "det": _each(mp.det),
        "logdet": _each(log_of_det),
        "cholesky": _each(lambda a: mp.cholesky((a + a.T) / 2)),
        "cholesky_inverse": _each(lambda a: (a * a.T) ** -1),
        "expm": _each(mp.expm),
        "sqrtm": _each(of_eigenvalues(mp.sqrt)),
        "logm": _each(of_eigenvalues(mp.log)),
        "eigvalsh": _each(eigenvalues, vectors=True),
        "svdvals": lambda a, count: _each(
            lambda one: mp.svd_r(one, compute_uv=False), vectors=True
        )(a),
        "pinv": _each(pinv),
    }


def _each(
    function: Callable[[Any], Any], vectors: bool = False
) -> Callable[[Array], Array]:
    """Return a function of each of the matrices in the last two axes."""
    import mpmath as mp

    def entries(found: Any) -> Array:
        if not isinstance(found, mp.matrix):
            return np.array(found, dtype=object)
        rows = np.array(found.tolist(), dtype=object).reshape(found.rows, found.cols)
        return rows.ravel() if vectors else rows

    def applied(a: Array) -> Array:
        a = np.asarray(a)
        flat = a.reshape(-1, *a.shape[-2:])
        made = [entries(function(mp.matrix(one.tolist()))) for one in flat]
        whole = np.stack(made) if made else np.empty(0, dtype=object)
        return whole.reshape((*a.shape[:-2], *whole.shape[1:]))

    return applied
