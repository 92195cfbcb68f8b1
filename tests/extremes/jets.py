"""Numbers of many digits with their gradient and Hessian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp

Number = Any
"""A `Jet` or an mpmath number: mpmath has no types to speak of."""


class Terms(NamedTuple):
    """How large the terms are of which a jet is the sum, and so what rounding costs.

    `error` is that of the value in units of rounding. Functions are exact for arguments
    that are rounded, and so are sums with a number, so that nothing is granted to
    `exp(t) - 1` or `log(1 + t)`; a sum of two things that vary is rounded.
    """

    error: Number
    gradient: list[Number]
    hessian: list[Number]


class Jet:
    """A value, its gradient and the upper triangle of its Hessian, row by row."""

    __slots__ = ("gradient", "hessian", "terms", "value")

    def __init__(
        self,
        value: Number,
        gradient: list[Number],
        hessian: list[Number],
        terms: Terms,
    ) -> None:
        self.value = value
        self.gradient = gradient
        self.hessian = hessian
        self.terms = terms

    def mapped(
        self, value: Number, first: Number, second: Number, linear: bool = False
    ) -> Jet:
        """A function of this jet, by its value and its first two derivatives."""
        size = mp.mpf(0) if linear else abs(self.value)
        slope = abs(first) + abs(second) * size
        curve = abs(second) * (slope / abs(first) if first else 1)
        terms = Terms(
            abs(first) * (self.terms.error + size),
            [slope * a for a in self.terms.gradient],
            _chained(slope, curve, self.terms.gradient, self.terms.hessian),
        )
        return Jet(
            value,
            [first * a for a in self.gradient],
            _chained(first, second, self.gradient, self.hessian),
            terms,
        )

    def __add__(self, other: Number) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.gradient, self.hessian, self.terms)
        value, a, b = self.value + other.value, self.terms, other.terms
        error = abs(value) + a.error + b.error
        terms = Terms(error, _plus(a.gradient, b.gradient), _plus(a.hessian, b.hessian))
        gradient = _plus(self.gradient, other.gradient)
        return Jet(value, gradient, _plus(self.hessian, other.hessian), terms)

    def __mul__(self, other: Number) -> Jet:
        if not isinstance(other, Jet):
            factor = mp.mpf(other)
            return self.mapped(self.value * factor, factor, mp.mpf(0), linear=True)
        a, b = self.value, other.value
        value, p, q = a * b, self.terms, other.terms
        error = abs(value) + p.error * abs(b) + q.error * abs(a)
        sizes = _multiplied(abs(a), abs(b), p, q)
        return Jet(value, *_multiplied(a, b, self, other), Terms(error, *sizes))

    def __pow__(self, k: Number) -> Number:
        if isinstance(k, Jet):
            return unary("exp", unary("log", self) * k)
        v = self.value
        if v == 0 and k > 0:
            powers = [mp.mpf(1) if k == m else mp.mpf(0) for m in range(3)]
            return self.mapped(mp.mpf(0), powers[1], 2 * powers[2])
        return self.mapped(v**k, k * v ** (k - 1), k * (k - 1) * v ** (k - 2))

    def __rpow__(self, base: Number) -> Number:
        return unary("exp", self * mp.log(base))

    def __neg__(self) -> Number:
        return self * mp.mpf(-1)

    def __sub__(self, other: Number) -> Number:
        return self + -other

    def __rsub__(self, other: Number) -> Number:
        return -self + other

    def __truediv__(self, other: Number) -> Number:
        return self * other**-1

    def __rtruediv__(self, other: Number) -> Number:
        return self**-1 * other

    __radd__ = __add__
    __rmul__ = __mul__


def _plus(a: list[Number], b: list[Number]) -> list[Number]:
    return [p + q for p, q in zip(a, b, strict=True)]


def _chained(
    first: Number, second: Number, g: list[Number], h: list[Number]
) -> list[Number]:
    """The second derivatives of a function of a jet."""
    pairs = [p * q for k, p in enumerate(g) for q in g[k:]]
    return [first * p + second * q for p, q in zip(h, pairs, strict=True)]


def _multiplied(
    a: Number, b: Number, left: Jet | Terms, right: Jet | Terms
) -> tuple[list[Number], list[Number]]:
    """First and second derivatives of a product of a and b."""
    f, g = left.gradient, right.gradient
    count = range(len(f))
    mixed = [f[i] * g[j] + f[j] * g[i] for i in count for j in count if i <= j]
    second = zip(left.hessian, right.hessian, mixed, strict=True)
    return (
        [p * b + a * q for p, q in zip(f, g, strict=True)],
        [p * b + a * q + r for p, q, r in second],
    )


def variables(point: list[Number]) -> list[Jet]:
    """The coordinates of a point as jets."""
    size = len(point)
    zeros = [mp.mpf(0)] * (size * (size + 1) // 2)
    rows = [[mp.mpf(int(m == k)) for m in range(size)] for k in range(size)]
    return [
        Jet(value, row, zeros, Terms(mp.mpf(0), row, zeros))
        for value, row in zip(point, rows, strict=True)
    ]


def plain(number: Number) -> Number:
    """The value of a number with or without derivatives."""
    return number.value if isinstance(number, Jet) else number


LARGEST_EXPONENT = 1e7
EXPONENTIAL = ("cosh", "exp", "sigmoid", "sinh", "softplus", "tanh")


def unary(name: str, x: Number) -> Number:
    """A function of the table below; OverflowError where it would take for ever."""
    function, derivatives = FUNCTIONS[name]
    if name in EXPONENTIAL and abs(plain(x)) > LARGEST_EXPONENT:
        raise OverflowError
    if not isinstance(x, Jet):
        return function(x)
    value = function(x.value)
    return x.mapped(value, *derivatives(x.value, value))


def _sigmoid(t: Number) -> Number:
    return 1 / (1 + mp.exp(-t))


def _logistic_slopes(t: Number, v: Number) -> tuple[Number, Number]:
    opposite = _sigmoid(-t)
    return v * opposite, v * opposite * (opposite - v)


def _hyperbolic(t: Number, v: Number) -> tuple[Number, Number]:
    square = mp.sech(t) ** 2
    return square, -2 * v * square


def _root_slopes(t: Number, v: Number) -> tuple[Number, Number]:
    return 1 / (2 * v), -1 / (4 * v * t)


Slopes = Callable[[Number, Number], tuple[Number, Number]]
FUNCTIONS: dict[str, tuple[Callable[[Number], Number], Slopes]] = {
    "exp": (mp.exp, lambda t, v: (v, v)),
    "expm1": (lambda t: mp.exp(t) - 1, lambda t, v: (v + 1, v + 1)),
    "log": (mp.log, lambda t, v: (1 / t, -1 / t**2)),
    "log1p": (lambda t: mp.log(1 + t), lambda t, v: (1 / (1 + t), -1 / (1 + t) ** 2)),
    "sqrt": (mp.sqrt, _root_slopes),
    "tanh": (mp.tanh, _hyperbolic),
    "cosh": (mp.cosh, lambda t, v: (mp.sinh(t), v)),
    "sinh": (mp.sinh, lambda t, v: (mp.cosh(t), v)),
    "sigmoid": (_sigmoid, _logistic_slopes),
    "softplus": (
        lambda t: mp.log(1 + mp.exp(t)),
        lambda t, v: (_sigmoid(t), _sigmoid(t) * _sigmoid(-t)),
    ),
    "acosh": (
        mp.acosh,
        lambda t, v: ((t * t - 1) ** mp.mpf(-0.5), -t * (t * t - 1) ** mp.mpf(-1.5)),
    ),
    "asinh": (
        mp.asinh,
        lambda t, v: ((t * t + 1) ** mp.mpf(-0.5), -t * (t * t + 1) ** mp.mpf(-1.5)),
    ),
    "sin": (mp.sin, lambda t, v: (mp.cos(t), -v)),
    "abs": (abs, lambda t, v: (mp.sign(t), mp.mpf(0))),
}
