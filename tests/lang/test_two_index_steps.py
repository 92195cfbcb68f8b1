"""Tables that step along two indices, against loops over their entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorgen.errors import SpecError
from tests.made import load

Array = Any
SIZES = [(4, 6), (6, 3), (1, 3), (3, 1), (1, 1), (2, 2)]


def loaded(where: str, expr: str = "R", emit: str = "[value]") -> Any:
    """The module of a function of two sequences that makes a table R."""
    lines = "\n".join(f"      {line}" for line in where.strip().split("\n"))
    return load(
        "tensorgen: 1\ninputs: {x: [n], y: [m], c: [m, k], g: scalar}\nfunctions:\n"
        f"  f:\n    where: |\n{lines}\n    expr: {expr}\n    wrt: x\n    emit: {emit}\n"
    )


def filled(n: int, m: int, entry: Callable[[Array, int, int], Any], *own: int) -> Array:
    """The table whose entries a function makes of those before."""
    table = np.zeros((n, m, *own))
    for i, j in np.ndindex(n, m):
        table[i, j] = entry(table, i, j)
    return table


def given(n: int, m: int) -> tuple[Array, Array]:
    random = np.random.default_rng(n + 10 * m)
    return random.normal(size=n), random.normal(size=m)


WARPED = """
D[i, j] = (x[i] - y[j])**2
R[0, 0] = D[0, 0]
R[0, j] = D[0, j] + R[0, j - 1]
R[i, 0] = D[i, 0] + R[i - 1, 0]
R[i, j] = D[i, j] - 0.7*logsumexp([-R[i - 1, j], -R[i, j - 1], -R[i - 1, j - 1]]/0.7)
"""


def warped(x: Array, y: Array) -> Array:
    def entry(R: Array, i: int, j: int) -> Any:
        d = (x[i] - y[j]) ** 2
        if not i or not j:
            return d + (R[i - 1, 0] if i else R[0, j - 1] if j else 0)
        before = np.array([R[i - 1, j], R[i, j - 1], R[i - 1, j - 1]])
        return d - 0.7 * np.log(np.exp(-before / 0.7).sum())

    return filled(len(x), len(y), entry)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_paths_through_a_table_are_added_up(n: int, m: int) -> None:
    x, y = given(n, m)
    np.testing.assert_allclose(loaded(WARPED).f(x, y), warped(x, y), rtol=1e-12)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_a_table_is_differentiated(n: int, m: int) -> None:
    x, y = given(n, m)
    module = loaded(WARPED, "R[n - 1, m - 1]", "[value, gradient, hvp]")
    steps = 1e-6 * np.eye(n)
    slope = [(warped(x + s, y) - warped(x - s, y))[-1, -1] / 2e-6 for s in steps]
    np.testing.assert_allclose(module.f_grad(x, y), slope, rtol=1e-6, atol=1e-8)
    v = np.arange(1.0, n + 1)
    gradients = [module.f_grad(x + s * v, y) for s in (1e-6, -1e-6)]
    curved = (gradients[0] - gradients[1]) / 2e-6
    np.testing.assert_allclose(module.f_hvp(x, y, v), curved, rtol=1e-5, atol=1e-7)


# What a table is, and its entry in Python.
CASES: dict[str, tuple[str, Callable[..., Any]]] = {
    "the entries ahead": (
        "R[0, j] = j\nR[i, 0] = 0.5*i\n"
        "R[i + 1, j + 1] = min(R[i, j + 1] + 1, R[i + 1, j] + 1, "
        "R[i, j] + abs(x[i] - y[j]))",
        lambda R, i, j, x, y, c: (
            0.5 * i + j
            if not i * j
            else min(
                R[i - 1, j] + 1,
                R[i, j - 1] + 1,
                R[i - 1, j - 1] + abs(x[i - 1] - y[j - 1]),
            )
        ),
    ),
    "two back, other names, stated ranges": (
        "R[0, q] = 0.25*y[q]\nR[p, 0] = x[p]\n"
        "R[i=range(1, n), j=range(1, m)] = "
        "R[i - 1, j]/3 + where(j > 1, R[i, j - 2], 0)",
        lambda R, i, j, x, y, c: (
            0.25 * y[j]
            if not i
            else x[i] if not j else R[i - 1, j] / 3 + (R[i, j - 2] if j > 1 else 0)
        ),
    ),
    "an axis more": (
        "R[0, 0, a] = 0\nR[0, j, a] = R[0, j - 1, a] + c[j, a]\n"
        "R[i, 0, b] = x[i]*c[0, b]\n"
        "R[i, j, a] = R[i - 1, j, a]*x[i] - R[i, j - 1, a]*c[j, a]",
        lambda R, i, j, x, y, c: (
            (R[0, j - 1] + c[j] if j else 0 * c[0])
            if not i
            else R[i - 1, j] * x[i] - R[i, j - 1] * c[j] if j else x[i] * c[0]
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_table_has_the_entries_of_its_loops(case: str) -> None:
    where, entry = CASES[case]
    ahead = "[i + 1, j + 1]" in where
    n, m = (4, 5)
    x, y = given(n, m)
    c = np.random.default_rng(3).normal(size=(m, 2))
    arguments = {"x": x, "y": y, "c": c}
    module = loaded(where)
    names = module.f.__code__.co_varnames[: module.f.__code__.co_argcount]
    found = module.f(*(arguments[name] for name in names))
    own = (2,) if "a]" in where else ()
    expected = filled(
        n + ahead, m + ahead, lambda R, i, j: entry(R, i, j, x, y, c), *own
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


FAULTS = {
    "R[0, 0] = 1\nR[i, j] = R[i - 1, j] + R[i, j - 1]*x[i]*y[j]": (
        "the first entries of the table 'R' are missing",
        "add R[0, j] = ... and R[i, 0] = ...",
    ),
    "R[0, j] = R[0, j - 1]\nR[i, 0] = 1\nR[i, j] = R[i - 1, j]*x[i]*y[j]": (
        "the first entry of the table 'R' is missing",
        "add R[0, 0] = ...",
    ),
    "R[0, j] = 1\nR[i, 0] = 1\nR[i, j] = R[i - 1, j] + R[i, j - 1]": (
        "nothing determines how far 'i' goes",
        "R[i=range(1, n), j=range(1, m)]",
    ),
    "R[0, j] = 1\nR[i, 0] = 1\nR[i, j] = R[i + 1, j]*x[i]*y[j]": (
        "an entry of 'R' is not one of those before",
        "such as R[i - 1, j], R[i, j - 1]",
    ),
    "R[1, j] = 1\nR[i, 0] = 1\nR[i, j] = R[i - 1, j]*x[i]*y[j]": (
        "the table 'R' begins at 0",
        "R[i + 1, j + 1]",
    ),
}


@pytest.mark.parametrize("where", FAULTS)
def test_what_a_table_lacks_is_told(where: str) -> None:
    message, hint = FAULTS[where]
    with pytest.raises(SpecError) as raised:
        loaded(where)
    (fault,) = raised.value.diagnostics
    assert message in fault.message
    assert hint in (fault.hint or "")
