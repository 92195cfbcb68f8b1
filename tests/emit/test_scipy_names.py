"""What problem classes offer by the names that SciPy has for it."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import Bounds, NonlinearConstraint, least_squares, minimize

import tensorgen
from tests.constrained_specs import HS71
from tests.constrained_specs import loaded as constrained
from tests.problem_specs import FIT, LOGISTIC, inputs, loaded

ROSENBROCK = """
tensorgen: 1
module: rosenbrock
inputs: {x: [n]}
functions:
  f:
    expr: sum(100 * (x[1:] - x[:-1]**2)**2) + sum((1 - x)**2)
    wrt: x
    emit: [%s]
"""
EVERYTHING = "value, gradient, hessian, hvp, problem"
START = np.array([-1.2, 1.0, 0.5, -0.3, 2.0])
SHAPES = {"X": (20, 4), "y": (20,)}
OPTIMUM = [1, 4.7429994, 3.8211499, 1.3794083]  # Hock and Schittkowski's, of HS71


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    """SciPy warns of arguments that a method does not take."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Method .* does not use")
        yield


def rosenbrock(emitted: str = EVERYTHING) -> Any:
    return loaded(ROSENBROCK % emitted).FProblem()


def logistic() -> Any:
    return loaded(LOGISTIC).LossProblem(**inputs(SHAPES))


def counted(module: Any, patch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often points of a module compute each thing that they cache."""
    calls: Counter[str] = Counter()

    def counting(name: str, compute: Any) -> Any:
        def computed(point: Any) -> Any:
            calls[name] += 1
            return compute(point)

        return computed

    for name, held in vars(module._LossPoint).items():
        if isinstance(held, module._Cached):
            patch.setattr(held, "compute", counting(name, held.compute))
    return calls


# Names


def test_methods_have_the_names_of_scipy() -> None:
    p, v, d = rosenbrock(), START, START[::-1]
    assert p.fun(v) == p.value(v)
    assert_allclose(p.jac(v), p.gradient(v), rtol=0)
    assert p.hess(v) is p.hessian(v)
    assert_allclose(p.hessp(v, d), p.hvp(v, d), rtol=0)


def test_a_hessian_has_a_name_only_where_it_is_emitted() -> None:
    p = rosenbrock("value, gradient, problem")
    assert not hasattr(p, "hess")
    assert_allclose(p.hessp(START, START), p.hvp(START, START), rtol=0)


def test_inputs_may_bear_these_names() -> None:
    text = """
tensorgen: 1
inputs: {fun: [n], jac: [n], hess: scalar, hessp: [n], minimize_args: scalar}
functions:
  f:
    expr: sum((fun - jac)**4) + (hess * minimize_args - 1)**2 + sum((fun - hessp)**2)
    wrt: [fun, hess]
    emit: [problem]
"""
    p = loaded(text).FProblem(jac=np.ones(2), hessp=np.ones(2), minimize_args=2)
    # As near as Newton-CG ends by default.
    found = minimize(x0=np.zeros(3), method="Newton-CG", **p.minimize_args())
    assert_allclose(found.x, [1, 1, 0.5], atol=1e-4)


def test_other_libraries_arrays_are_not_for_scipy() -> None:
    text = tensorgen.generate(ROSENBROCK % EVERYTHING, backend="cupy")
    assert "def hvp" in text
    assert "hessp" not in text and "minimize_args" not in text


# Minimising


@pytest.mark.parametrize(
    "method", ["trust-ncg", "trust-krylov", "Newton-CG", "trust-constr"]
)
def test_methods_of_scipy_minimise_by_the_arguments(method: str) -> None:
    p = rosenbrock()
    options: dict[str, float] = {
        "Newton-CG": {"xtol": 1e-10},
        "trust-constr": {"gtol": 1e-9, "maxiter": 3000},
    }.get(method, {"gtol": 1e-9})
    found = minimize(x0=START, method=method, options=options, **p.minimize_args())
    assert abs(p.gradient(found.x)).max() < 1e-4
    q = logistic()
    found = minimize(x0=np.zeros(5), method=method, **q.minimize_args())
    v = np.zeros(5)
    for _ in range(10):
        v = v - q.hessian(v).solve(q.gradient(v))
    # As near as the methods end where they are given no tolerance.
    assert_allclose(found.x, v, atol=1e-4)


@pytest.mark.parametrize(
    "method", ["trust-exact", "dogleg", "trust-ncg", "Newton-CG", "trust-constr"]
)
def test_hessians_serve_as_arrays(method: str) -> None:
    p = logistic()
    found = minimize(p.fun, np.zeros(5), jac=p.jac, hess=p.hess, method=method)
    assert abs(p.gradient(found.x)).max() < 1e-3


def test_first_derivatives_alone_are_arguments_of_first_order_methods() -> None:
    p = rosenbrock("value, gradient, problem")
    found = minimize(p.fun, START, jac=p.jac, method="L-BFGS-B")
    assert abs(p.gradient(found.x)).max() < 1e-3


def test_residuals_have_a_jacobian_that_least_squares_takes() -> None:
    rng = np.random.default_rng(2)
    t, P = np.linspace(0, 2, 40), rng.normal(size=(40, 3))
    v = np.array([0.7, 1.0, -2.0, 0.5])
    r = loaded(FIT).ResidualProblem(t=t, P=P, y=np.exp(-v[0] * t) * (P @ v[1:]))
    assert not hasattr(r, "minimize_args")
    assert_allclose(least_squares(r.fun, v + 0.3, jac=r.jac).x, v, atol=1e-6)


def test_work_at_a_point_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    p, v = logistic(), np.ones(5)
    calls = counted(loaded(LOGISTIC), monkeypatch)
    both = p.fun(v), p.jac(v.copy())
    p.hessp(v, v)
    assert p.fun(v) == both[0] and (p.jac(v) == both[1]).all()
    assert calls["value"] == calls["gradient"] == 1
    assert len(calls) > 2 and {*calls.values()} == {1}  # what they share, too


def test_a_solver_computes_each_point_once(monkeypatch: pytest.MonkeyPatch) -> None:
    p = logistic()
    calls = counted(loaded(LOGISTIC), monkeypatch)
    found = minimize(x0=np.zeros(5), method="trust-ncg", **p.minimize_args())
    assert found.success and max(calls.values()) <= found.nfev


# Constraints


def test_a_constrained_problem_is_arguments_of_minimize() -> None:
    p = constrained(HS71).Hs71Problem()
    arguments = p.minimize_args()
    assert [*arguments] == ["fun", "jac", "bounds", "hess", "constraints"]
    assert isinstance(arguments["bounds"], Bounds)
    for constraint in arguments["constraints"]:
        assert isinstance(constraint, NonlinearConstraint)
    options = {"gtol": 1e-10, "xtol": 1e-12}
    found = minimize(
        x0=[1, 5, 5, 1], method="trust-constr", options=options, **arguments
    )
    assert_allclose(found.x, OPTIMUM, atol=1e-4)  # an interior point stays inside
    assert found.constr_violation < 1e-7


def test_dense_constraints_are_for_slsqp() -> None:
    p = constrained(HS71).Hs71Problem()
    arguments = p.minimize_args(sparse=False)
    assert "hess" not in arguments
    found = minimize(x0=[1, 5, 5, 1], method="SLSQP", **arguments)
    assert found.success
    assert_allclose(found.x, OPTIMUM, atol=1e-5)
