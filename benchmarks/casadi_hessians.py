"""The joint Hessians of `joint_systems.py` by CasADi, where that is installed.

Each is one expression of all unknowns, whose sparse Hessian CasADi derives and
evaluates in its virtual machine.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

casadi: Any = None
with suppress(ImportError):
    casadi = import_module("casadi")

Array = Any


def hessian(name: str, data: dict[str, Array], others: dict[str, Any]) -> Any:
    """Return what evaluates the Hessian, or None where CasADi does not have it.

    The unknowns stand in the order of `data`, each raveled in C order.
    """
    build = FUNCTIONS.get(name)
    if casadi is None or build is None:
        return None
    sizes = {x: int(np.size(value)) for x, value in data.items()}
    v = casadi.SX.sym("v", sum(sizes.values()))
    starts = np.cumsum([0, *sizes.values()])
    named = {
        x: v[int(a) : int(b)] for x, (a, b) in zip(sizes, pairwise(starts), strict=True)
    }
    value = build({**named, **others})
    made = casadi.Function("hessian", [v], [casadi.hessian(value, v)[0]])
    point = np.concatenate([np.ravel(data[x]) for x in sizes])
    return partial(made, point)


def chain(g: dict[str, Any]) -> Any:
    """The KKT matrix of a chain of equations."""
    x = g["x"]
    terms = casadi.sin(x[1:]) + x[:-1] / 4
    return casadi.sum1(casadi.cosh(x)) + casadi.dot(g["lam"], terms)


def van_der_pol(g: dict[str, Any]) -> Any:
    """Collocation by the trapezoidal rule."""
    x1, x2, v, h = g["x1"], g["x2"], g["v"], g["h"]
    rate = (1 - x2**2) * x1 - x2 + v
    squares = x1**2 + x2**2 + v**2
    first = x1[1:] - x1[:-1] - h / 2 * (rate[1:] + rate[:-1])
    second = x2[1:] - x2[:-1] - h / 2 * (x1[1:] + x1[:-1])
    value = h / 2 * (casadi.sum1(squares[1:]) + casadi.sum1(squares[:-1]))
    value += casadi.dot(g["mu1"], first) + casadi.dot(g["mu2"], second)
    return value + g["nu1"] * (x1[0] - 1) + g["nu2"] * x2[0]


def shooting(g: dict[str, Any]) -> Any:
    """Multiple shooting by Runge-Kutta steps; states and multipliers by rows."""
    x, u, lam, h = g["x"], g["u"], g["lam"], g["h"]
    a0, b0 = x[:-2:2], x[1:-2:2]

    def slope(a: Any, b: Any) -> tuple[Any, Any]:
        return (1 - b**2) * a - b + u, a

    first = slope(a0, b0)
    second = slope(a0 + h / 2 * first[0], b0 + h / 2 * first[1])
    third = slope(a0 + h / 2 * second[0], b0 + h / 2 * second[1])
    last = slope(a0 + h * third[0], b0 + h * third[1])
    value = h * (casadi.sumsqr(x) + casadi.sumsqr(u))
    for k, before in ((0, a0), (1, b0)):
        step = first[k] + 2 * second[k] + 2 * third[k] + last[k]
        value += casadi.dot(lam[k::2], x[2 + k :: 2] - before - h / 6 * step)
    return value


def fit(g: dict[str, Any]) -> Any:
    """Rates of reaction that are fitted together with the path."""
    a, b, rates, h = g["a"], g["b"], g["rates"], g["h"]
    f, r = rates[0] * a - rates[1] * a * b, a * b - b
    first = a[1:] - a[:-1] - h / 2 * (f[1:] + f[:-1])
    second = b[1:] - b[:-1] - h / 2 * (r[1:] + r[:-1])
    value = casadi.sumsqr(a - g["data"])
    return value + 10 * (casadi.sumsqr(first) + casadi.sumsqr(second))


FUNCTIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "chain": chain,
    "van_der_pol": van_der_pol,
    "fit": fit,
    "f": shooting,
}
