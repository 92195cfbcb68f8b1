"""Elementwise functions of residues, by the names that they have in NumPy.

What is made of exponentials is made of a random `exp`, so that identities hold that
stable forms rest on; of the others it is known whether they are even or odd.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from tensorgen.check.residues import (
    PRIME,
    Residues,
    exp,
    inverse,
    log,
    random,
    sign,
    signed,
)
from tensorgen.operators.elementwise import ELEMENTWISE

Scalar = Callable[..., int]


def functions(field: Residues) -> dict[str, Callable[..., Any]]:
    """The functions of arrays, by their names."""
    scalars = _random() | _of_exponentials() | _of_mills() | _of_signs()
    scalars |= _of_roots(field)
    return {name: partial(field.each, f) for name, f in scalars.items()}


@cache
def _random() -> dict[str, Scalar]:
    """Random maps, with the parity and the values at 0 and 1 that the tables state."""
    found: dict[str, Scalar] = {}
    for row in ELEMENTWISE.values():
        text = re.sub(r"\{(\d)\}", r"_\1", row.numpy.removesuffix(".astype(dtype)"))
        tree = ast.parse(text, mode="eval").body if text else None
        if not isinstance(tree, ast.Call):
            continue
        name = ast.unparse(tree.func).rpartition(".")[2]
        if row.has("odd"):
            found[name] = partial(_odd, name)
        elif row.has("even"):
            found[name] = partial(_even, name)
        elif row.has("keeps0"):
            found[name] = partial(_keeping, name)
        else:
            found[name] = partial(random, name)
    return found


def _odd(name: str, x: int) -> int:
    least = min(x, PRIME - x)
    value = random(name, least) if x else 0
    return value if x == least else -value % PRIME


def _even(name: str, x: int) -> int:
    return 1 if name == "cos" and not x else random(name, min(x, PRIME - x))


def _keeping(name: str, x: int) -> int:
    return random(name, x) if x else 0


@cache
def _of_mills() -> dict[str, Scalar]:
    """What Mills' ratio is with its argument, and what it falls by."""
    mills = partial(random, "_inverse_mills")

    def fall(x: int) -> int:
        return mills(x) * (x + mills(x)) % PRIME

    return {
        "_inverse_mills": mills,
        "_mills_gap": lambda x: (x + mills(x)) % PRIME,
        "_mills_fall": fall,
        "_mills_variance": lambda x: (1 - fall(x)) % PRIME,
    }


@cache
def _of_exponentials() -> dict[str, Scalar]:
    def square(x: int) -> int:
        return exp(x) ** 2 % PRIME

    def logistic(x: int) -> int:
        e = exp(x)
        return e * inverse(1 + e) % PRIME

    def log_of_sum(x: int, y: int) -> int:
        """The logarithm of a sum of exponentials, the larger one taken out of it."""
        low, high = (y, x) if sign((x - y) % PRIME) > 0 else (x, y)
        return (high + log((1 + exp((low - high) % PRIME)) % PRIME)) % PRIME

    def sinh(x: int) -> int:
        return (exp(x) - exp(-x % PRIME)) * inverse(2) % PRIME

    def cosh(x: int) -> int:
        return (exp(x) + exp(-x % PRIME)) * inverse(2) % PRIME

    def tanh(x: int) -> int:
        return (square(x) - 1) * inverse(square(x) + 1) % PRIME

    return {
        "exp": exp,
        "_finite_exp": exp,
        "_large_exp": exp,
        "expm1": lambda x: (exp(x) - 1) % PRIME,
        "sinh": sinh,
        "cosh": cosh,
        "tanh": tanh,
        "_sech2": lambda x: 4 * square(x) * inverse((square(x) + 1) ** 2) % PRIME,
        "_sigmoid": logistic,
        "_sigmoid_slope": lambda x: logistic(x) * logistic(-x % PRIME) % PRIME,
        "log": log,
        "log1p": lambda x: log((1 + x) % PRIME),
        "log2": lambda x: log(x) * inverse(log(2)) % PRIME,
        "log10": lambda x: log(x) * inverse(log(10)) % PRIME,
        "logaddexp": log_of_sum,
        "_log1mexp": lambda x: log((1 - exp(x)) % PRIME),
        "_log_icloglog": lambda x: log((1 - exp(-exp(x) % PRIME)) % PRIME),
        "_log_cosh": lambda x: log(cosh(x)),
        "_xlogy": lambda x, y: x * log(y) % PRIME if x else 0,
        "_acosh1p": lambda x: random("arccosh", (1 + x) % PRIME),
        "arccosh": lambda x: random("arccosh", x),
    }


@cache
def _of_signs() -> dict[str, Scalar]:
    half = inverse(2)

    def larger(x: int, y: int) -> int:
        return x if sign((x - y) % PRIME) > 0 else y

    def smaller(x: int, y: int) -> int:
        return y if sign((x - y) % PRIME) > 0 else x

    def clip(x: int, low: int, high: int) -> int:
        """Between opposite bounds a number is by its size, as where it is compared."""
        if (low + high) % PRIME:
            return smaller(larger(x, low), high)
        return sign(x) * smaller(x * sign(x) % PRIME, high) % PRIME

    return {
        "_finite": lambda x: x,
        "_gap": lambda x, y: (x - y) % PRIME,
        "_nonzero": lambda x: x or 1,
        "_inverse": inverse,
        "abs": lambda x: x * sign(x) % PRIME,
        "sign": lambda x: sign(x) % PRIME,
        "heaviside": lambda x, y: y if not x else (sign(x) + 1) * half % PRIME,
        "maximum": larger,
        "minimum": smaller,
        "fmax": larger,
        "fmin": smaller,
        "clipped": clip,
        "first": lambda x, y: max(x, y, key=signed),
        "last": lambda x, y: min(x, y, key=signed),
    }


def _of_roots(field: Residues) -> dict[str, Scalar]:
    def hypot(x: int, y: int) -> int:
        return field.root((x * x + y * y) % PRIME, 2)

    def power(x: int, y: int) -> int:
        return field.raised(x, y)

    def slope(x: int, y: int) -> int:
        return y * power(x, (y - 1) % PRIME) % PRIME

    def curve(x: int, y: int) -> int:
        return y * (y - 1) * power(x, (y - 2) % PRIME) % PRIME

    return {
        "sqrt": lambda x: field.root(x, 2),
        "cbrt": lambda x: field.root(x, 3),
        "hypot": hypot,
        "float_power": power,
        "_power_slope": lambda x, y: slope(x, y) if y else 0,
        "_power_curve": lambda x, y: curve(x, y) if y not in (0, 1) else 0,
    }
