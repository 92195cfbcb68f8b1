"""Constrained problems solved as objects, to their published optima.

W. Hock and K. Schittkowski: Test Examples for Nonlinear Programming Codes. Lecture
Notes in Economics and Mathematical Systems 187, Springer 1981.

E. D. Dolan, J. J. Moré, T. S. Munson: Benchmarking Optimization Software with COPS
3.0. Technical Memorandum ANL/MCS-TM-273, Argonne National Laboratory 2004.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.constrained_specs import (
    CHAIN,
    HS71,
    STEERING,
    Solver,
    interior_point,
    loaded,
)


def solved(p: Any, v: Any) -> Any:
    """What trust-constr finds with all derivatives."""
    return minimize(
        p.objective,
        v,
        jac=p.gradient,
        hess=lambda v: p.lagrangian_hessian(v).tocsr(),
        bounds=p.bounds,
        constraints=p.scipy_constraints(),
        method="trust-constr",
        options={"gtol": 1e-9, "xtol": 1e-10, "barrier_tol": 1e-9},
    )


def test_hock_schittkowski_71_is_solved_as_ipopt_does() -> None:
    p = loaded(HS71).Hs71Problem()
    x = interior_point(Solver(p), p.pack(x=[1, 5, 5, 1]))
    assert p.objective(x) == pytest.approx(17.0140173, abs=1e-7)
    assert x == pytest.approx([1, 4.742999, 3.8211503, 1.3794082], abs=1e-6)


def test_hock_schittkowski_71_is_solved_by_scipy() -> None:
    p = loaded(HS71).Hs71Problem()
    found = minimize(
        p.objective,
        p.pack(x=[1, 5, 5, 1]),
        jac=p.gradient,
        bounds=p.bounds,
        constraints=p.scipy_constraints(sparse=False),
        method="SLSQP",
    )
    assert found.fun == pytest.approx(17.0140173, abs=1e-6)


@pytest.mark.parametrize(
    ("steps", "optimum"), [(50, 5.07226), (100, 5.06978), (200, 5.06891)]
)
def test_the_hanging_chain_is_solved(steps: int, optimum: float) -> None:
    p = loaded(CHAIN).HangingChainProblem(n=steps + 1)
    t = np.linspace(0, 1, steps + 1)
    found = solved(p, p.pack(x=8 * t * (0.5 * t - 0.25) + 1, u=8 * (t - 0.25)))
    assert found.fun == pytest.approx(optimum, abs=1e-5)
    assert found.constr_violation < 1e-9


@pytest.mark.parametrize(("steps", "optimum"), [(50, 0.554668), (100, 0.554595)])
def test_the_particle_is_steered(steps: int, optimum: float) -> None:
    p = loaded(STEERING).SteeringProblem(n=steps + 1, goal=[5, 45, 0])
    t = np.linspace(0, 1, steps + 1)
    start = {"u": 0 * t, "p": np.outer(t, [0, 5]), "v": np.outer(t, [45, 0])}
    found = solved(p, p.pack(tf=1, **start))
    assert found.fun == pytest.approx(optimum, abs=1e-6)
    assert found.constr_violation < 1e-9


def test_another_chain_takes_new_data_alone() -> None:
    p = loaded(CHAIN).HangingChainProblem(n=51)
    t = np.linspace(0, 1, 51)
    start = p.pack(x=1 + 2 * t, u=0 * t + 2)
    p.update(L=5, b=2)
    other = loaded(CHAIN).HangingChainProblem(n=51, L=5, b=2)
    assert solved(p, start).fun == solved(other, start).fun
