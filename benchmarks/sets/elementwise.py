"""Set F: sums of elementwise functions with their gradients, 10^3 to 10^7 entries."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from by_hand import elementwise as by_hand
from cases import Case, Data, Set
from numpy.random import Generator
from peers import derived, hand, ours

Array = Any
SIZES = tuple(10**k for k in range(3, 8))
FUNCTIONS: dict[str, tuple[str, Callable[..., Any], Callable[..., Any]]] = {
    "x^4": ("sum(x**4)", lambda xp, x: xp.sum(x**4), by_hand.quartic),
    "softplus": (
        "sum(log(1 + exp(x)))",
        lambda xp, x: xp.sum(xp.softplus(x)),
        by_hand.softplus,
    ),
    "Huber": (
        "sum(where(abs(x) <= 1, x**2/2, abs(x) - 1/2))",
        lambda xp, x: xp.sum(xp.where(xp.abs(x) <= 1, x**2 / 2, xp.abs(x) - 0.5)),
        by_hand.huber,
    ),
    "exp(-x^2/2) sin(x)": (
        "sum(exp(-x**2/2)*sin(x))",
        lambda xp, x: xp.sum(xp.exp(-(x**2) / 2) * xp.sin(x)),
        by_hand.waves,
    ),
}


def spec(expr: str, n: int) -> str:
    """Return the spec of a function of one vector."""
    return f"""
tensorgen: 1
module: elementwise
dims: {{n: {n}}}
inputs: {{x: [n]}}
functions:
  f: {{expr: "{expr}", wrt: x, emit: [value, gradient]}}
"""


def data(n: int, rng: Generator) -> Data:
    """Both sides of all that changes at 0 or 1."""
    return {"x": 2 * rng.normal(size=n)}


def cases() -> Iterator[Case]:
    """Value and gradient at all sizes."""
    for name, (expr, loss, own) in FUNCTIONS.items():
        for n in SIZES:
            yield Case(
                name,
                "n",
                n,
                partial(data, n),
                (
                    ours(spec(expr, n), "f_value_and_grad"),
                    hand(own),
                    *derived(loss, "value and gradient"),
                ),
            )


SET = Set(
    "F", "elementwise", "Sums of elementwise functions: value and gradient.", cases
)
