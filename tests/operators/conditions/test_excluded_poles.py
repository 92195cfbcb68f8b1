"""Named values with a pole or a domain's end where ranges and slices leave it out.

Values and all derivatives are those of the entries that are read, and no entry is
computed where it is infinite: NumPy warns of none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tensorgen
from tests.sampled import sampled

N = 5
FIRST, SECOND = np.triu_indices(N, 1)
SQUARED = "sum((x[i, c] - x[j, c])**2, c)"
POSITIONS = np.random.default_rng(0).normal(size=(N, 3))
TIMES = np.array([0.0, 0.4, 0.7, 1.5, 2.2])
WEIGHTS = np.random.default_rng(1).uniform(0.5, 1.5, N)

Function = Callable[..., Any]


class Case(NamedTuple):
    """A spec's lines, and what it says, over entries that are read alone."""

    where: str
    expr: str
    expected: Function
    x: np.ndarray = TIMES
    rest: dict[str, np.ndarray] = {}  # noqa: RUF012
    shapes: str = "x: [n]"


def squared(x: np.ndarray) -> np.ndarray:
    return np.asarray(((x[FIRST] - x[SECOND]) ** 2).sum(axis=-1))


def pairs(where: str, term: str, expected: Function, bounds: str) -> Case:
    return Case(
        where.replace("SQUARED", SQUARED),
        f"sum({term}, {bounds})",
        lambda x: expected(squared(x)).sum() * (2 if "!=" in bounds else 1),
        POSITIONS,
        shapes="x: [n, 3]",
    )


ABOVE, BELOW = "i, j=range(i + 1, n)", "i, j=range(i)"
CASES = {
    "a cube of a quotient": pairs(
        "q[i, j] = 1/SQUARED", "q[i, j]**3", lambda d: d**-3.0, ABOVE
    ),
    "below": pairs("q[i, j] = 1/SQUARED", "q[i, j]**3", lambda d: d**-3.0, BELOW),
    "a condition": pairs(
        "q[i, j] = 1/SQUARED", "q[i, j]**3", lambda d: d**-3.0, "i, j, i < j"
    ),
    "all others": pairs(
        "q[i, j] = 1/SQUARED", "q[i, j]**3", lambda d: d**-3.0, "i, j, j != i"
    ),
    "Lennard-Jones": pairs(
        "q[i, j] = 1/SQUARED", "q[i, j]**6 - q[i, j]**3", lambda d: d**-6 - d**-3, ABOVE
    ),
    "log-distances": pairs(
        "l[i, j] = log(SQUARED)", "l[i, j]**2", lambda d: np.log(d) ** 2, ABOVE
    ),
    "Matern": pairs(
        "r[i, j] = sqrt(SQUARED)",
        "(1 + r[i, j])*exp(-r[i, j])",
        lambda d: (1 + np.sqrt(d)) * np.exp(-np.sqrt(d)),
        BELOW,
    ),
    "Coulomb": pairs(
        "r[i, j] = norm(x[i, :] - x[j, :])",
        "exp(-r[i, j])/r[i, j]",
        lambda d: np.exp(-np.sqrt(d)) / np.sqrt(d),
        ABOVE,
    ),
    "angles": pairs(
        "a[i, j] = acos(1 - SQUARED/60)",
        "a[i, j]",
        lambda d: np.arccos(1 - d / 60),
        ABOVE,
    ),
    "a map of a named array": pairs(
        "d[i, j] = SQUARED\n      K = 1/sqrt(d)", "K[i, j]", lambda d: d**-0.5, ABOVE
    ),
    "a name of a name": pairs(
        "q[i, j] = 1/SQUARED\n      s[i, j] = q[i, j]**3",
        "s[i, j]**2 - s[i, j]",
        lambda d: d**-6 - d**-3,
        BELOW,
    ),
    "read above and below": Case(
        f"q[i, j] = 1/{SQUARED}",
        f"sum(q[i, j]**3, {ABOVE}) + sum(q[i, j]**2, {BELOW})",
        lambda x: (squared(x) ** -3 + squared(x) ** -2).sum(),
        POSITIONS,
        shapes="x: [n, 3]",
    ),
    "a rectangle": Case(
        f"q[i, j] = 1/{SQUARED}",
        "sum(q[i, j]**2, i=range(2), j=range(2, n))",
        lambda x: (((x[:2, None] - x[2:]) ** 2).sum(-1) ** -2).sum(),
        POSITIONS,
        shapes="x: [n, 3]",
    ),
    "a band": Case(
        f"q[i, j] = 1/{SQUARED}",
        "sum(q[i, i + k]**2, k=range(1, 3), i=range(n - 2))",
        lambda x: sum(
            ((x[: N - 2] - x[k : N - 2 + k]) ** 2).sum(-1) ** -2 for k in (1, 2)
        ).sum(),
        POSITIONS,
        shapes="x: [n, 3]",
    ),
    "inside and outside": Case(
        f"d[i, j] = {SQUARED}\n      s[i, j] = log(0.3 + d[i, j])",
        f"sum(s[i, j]/d[i, j], {ABOVE}) + sum(s[i, j]**2, i, j)",
        lambda x: (
            np.log(0.3 + squared(x)) / squared(x) + 2 * np.log(0.3 + squared(x)) ** 2
        ).sum()
        + N * np.log(0.3) ** 2,
        POSITIONS,
        shapes="x: [n, 3]",
    ),
    "a slice": Case("q = 1/x", "sum(q[1:]**2)", lambda x: (x[1:] ** -2).sum()),
    "differences of slices": Case(
        "l = log(x)",
        "sum((l[2:] - l[1:-1])**2)",
        lambda x: (np.diff(np.log(x[1:])) ** 2).sum(),
    ),
    "an axis of a triangle": Case(
        "q[j] = 1/x[j]",
        f"sum(q[j]**2*y[i], {ABOVE})",
        lambda x, y: sum(y[i] / x[j] ** 2 for i, j in zip(FIRST, SECOND, strict=True)),
        rest={"y": WEIGHTS},
        shapes="x: [n], y: [n]",
    ),
    "totals before": Case(
        "s[i] = sum(x[j], j=range(i))\n      l[i] = log(s[i])",
        "sum(x[i]*l[i], i=range(1, n))",
        lambda x: (x[1:] * np.log(np.cumsum(x)[:-1])).sum(),
        WEIGHTS,
    ),
    "Plackett-Luce": Case(
        "s[i] = sum(x[j], j=range(i, n))\n      l[i] = log(s[i])",
        "sum(x[i]*l[i], i=range(n - 1))",
        lambda x: (x * np.log(np.cumsum(x[::-1])[::-1] + np.eye(N)[-1]))[:-1].sum(),
        np.append(WEIGHTS[1:], 0),
    ),
    "logs of data": Case(
        "l = log(y)",
        "sum(x[i]**2*l[i]**2, i=range(1, n))",
        lambda x, y: (x[1:] ** 2 * np.log(y[1:]) ** 2).sum(),
        WEIGHTS,
        {"y": TIMES},
        "x: [n], y: [n]",
    ),
    "a mask of neighbours": Case(
        "l = log(x)",
        "sum(where(m[:-1] > 0, l[1:]**2, 0))",
        lambda x, m: (np.log(x[1:][m[:-1] > 0]) ** 2).sum(),
        np.array([1.0, 2, 0, 3, 0]),
        {"m": np.array([1.0, 0, 1, 0, 1])},
        "x: [n], m: [n]",
    ),
    "a mask of data": Case(
        "l = 1/y",
        "sum(where(y[1:] > 0, x[1:]**2*l[1:], 0))",
        lambda x, y: (x[y > 0][1:] ** 2 / y[y > 0][1:]).sum(),
        WEIGHTS,
        {"y": np.array([1.0, 2, 0, 3, 0])},
        "x: [n], y: [n]",
    ),
}


def differences(f: Function, x: np.ndarray) -> np.ndarray:
    """Central differences of an array, by the entries of `x` in the last axes."""
    rows = []
    for place in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        rows.append((np.asarray(f(x + step)) - f(x - step)) / 2e-5)
    last = np.moveaxis(np.array(rows), 0, -1)
    return last.reshape(*last.shape[:-1], *x.shape)


@pytest.mark.parametrize("name", sampled(CASES, 3))
def test_poles_that_nobody_reads_leave_no_trace(name: str) -> None:
    case = CASES[name]
    module = tensorgen.load(f"""tensorgen: 1
inputs: {{{case.shapes}}}
functions:
  f:
    where: |
      {case.where}
    expr: {case.expr}
    wrt: x
    emit: [value, gradient, hessian, hvp, dense_hessian]
""")
    x, rest = case.x, tuple(case.rest.values())
    dx = np.random.default_rng(2).normal(size=x.shape)

    def expected(at: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            return case.expected(at, *rest)

    def slope(at: np.ndarray) -> Any:
        return module.f_grad(at, *rest)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(module.f(x, *rest), expected(x), 1e-12)
        value, gradient, hessian = module.f_value_grad_hess(x, *rest)
        np.testing.assert_allclose(value, expected(x), 1e-12)
        np.testing.assert_allclose(module.f_value_and_grad(x, *rest)[1], gradient)
        np.testing.assert_allclose(slope(x), gradient)
        dense = module.f_hess_dense(x, *rest)
        np.testing.assert_allclose(hessian.dense(), dense, 1e-9, 1e-9)
        product = np.tensordot(dense, dx, x.ndim)
        np.testing.assert_allclose(module.f_hvp(x, *rest, dx), product, 1e-9, 1e-9)
    size = np.abs(gradient).max()
    np.testing.assert_allclose(gradient, differences(expected, x), 1e-5, 1e-6 * size)
    size = np.abs(dense).max()
    np.testing.assert_allclose(dense, differences(slope, x), 1e-5, 1e-6 * size)
