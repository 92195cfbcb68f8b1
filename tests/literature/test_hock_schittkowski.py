"""Constrained problems of the literature, from their starts to their published optima.

W. Hock and K. Schittkowski: Test Examples for Nonlinear Programming Codes. Lecture
Notes in Economics and Mathematical Systems 187, Springer 1981.
"""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize

from tensorgen import load

SPEC = Path(__file__).with_name("hock_schittkowski.yaml")


class Problem(NamedTuple):
    """The start, the published optimum, and bounds of all variables."""

    start: list[float]
    optimum: float
    bounds: tuple[float, float | None] | None = None


PROBLEMS = {
    6: Problem([-1.2, 1], 0),
    7: Problem([2, 2], -sqrt(3)),
    26: Problem([-2.6, 2, 2], 0),
    28: Problem([-4, 1, 1], 0),
    35: Problem([0.5, 0.5, 0.5], 1 / 9, (0, None)),
    39: Problem([2, 2, 2, 2], -1),
    40: Problem([0.8, 0.8, 0.8, 0.8], -0.25),
    43: Problem([0, 0, 0, 0], -44),
    71: Problem([1, 5, 5, 1], 17.0140173, (1, 5)),
    76: Problem([0.5, 0.5, 0.5, 0.5], -4.681818181, (0, None)),
    77: Problem([2, 2, 2, 2, 2], 0.24150513),
    78: Problem([-2, 1.5, 2, -1, -1], -2.91970041),
    79: Problem([2, 2, 2, 2, 2], 0.0787768209),
    100: Problem([1, 2, 0, 4, 0, 1, 1], 680.6300573),
}


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return load(SPEC)


def constraints(module: ModuleType, number: int) -> list[dict[str, Any]]:
    """The constraints of a problem as SciPy takes them."""
    return [
        {
            "type": kind,
            "fun": getattr(module, f"{letter}{number}"),
            "jac": lambda x, name=f"{letter}{number}_jac": np.asarray(
                getattr(module, name)(x)
            ),
        }
        for letter, kind in (("h", "eq"), ("g", "ineq"))
        if hasattr(module, f"{letter}{number}")
    ]


@pytest.mark.parametrize("number", PROBLEMS)
def test_a_published_optimum_is_found(module: ModuleType, number: int) -> None:
    problem = PROBLEMS[number]
    limits = constraints(module, number)
    found = minimize(
        getattr(module, f"f{number}"),
        problem.start,
        jac=getattr(module, f"f{number}_grad"),
        method="SLSQP",
        bounds=problem.bounds and [problem.bounds] * len(problem.start),
        constraints=limits,
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.fun == pytest.approx(problem.optimum, rel=1e-6, abs=1e-6)
    for limit in limits:
        value = limit["fun"](found.x)
        assert (abs(value) if limit["type"] == "eq" else -value).max() < 1e-7
    curvature = np.asarray(getattr(module, f"f{number}_hess")(found.x))
    step = 1e-5 * np.eye(len(found.x))
    gradient = getattr(module, f"f{number}_grad")
    slopes = [gradient(found.x + h) - gradient(found.x - h) for h in step]
    np.testing.assert_allclose(curvature, np.array(slopes) / 2e-5, rtol=1e-5, atol=1e-6)
