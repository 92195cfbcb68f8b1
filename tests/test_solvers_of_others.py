"""Solvers of SciPy and IPOPT on generated modules, and a Newton loop of one's own.

No structured derivative may become a dense array on the way: while a solver runs, what
would make it one raises.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse

from tests.documents import ROOT, blocks
from tests.made import load

Array = Any
RNG = np.random.default_rng(0)
SIZE = 300

CHAIN = """
tensorgen: 1
module: chain
dims: {n: 100000, r: 3}
inputs:
  x: [n]
  A: [r, n]
functions:
  f:
    expr: |
      sum((x[1:] - x[:-1]**2)**2) + sum((1 - x)**2) + sum(log(1 + exp(A @ x)))
    wrt: x
    emit: [value, gradient, hessian, hvp, problem]
"""

CURVE = """
tensorgen: 1
module: curve
dims: {n: 100000}
inputs:
  x: [n]
  y: [n]
functions:
  residuals:
    expr: concatenate([x**3 + x - y, 3 * (x[1:] - x[:-1])])
    wrt: x
    emit: [value, jacobian, problem]
"""

RATINGS = """
tensorgen: 1
module: ratings
dims: {m: 10000, n: 10000, k: 5}
inputs:
  U: [m, k]
  V: [n, k]
  T: [m, n]
  O: [m, n]
  lam: {shape: scalar, default: 0.1}
functions:
  loss:
    expr: sum(O * (T - U @ V.T)**2) + lam * norm(U)**2
    wrt: U
    emit: [value, gradient, hessian, problem]
"""

CATENARY = """
tensorgen: 1
module: catenary
dims: {n: 100000}
inputs:
  x: [n]
  s: []
  lam: [n - 1]
functions:
  energy:
    expr: sum(exp(x) - x) + sum(x[1:] * x[:-1]) / 4
    wrt: x
    emit: [value, gradient, problem]
  links:
    expr: x[1:]**2 + x[:-1]
    wrt: x
    emit: [value, jacobian]
  lagrangian:
    expr: s * energy + dot(lam, links)
    wrt: x
    emit: [hessian]
"""


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Load specs whose structured derivatives refuse to become dense."""

    def forbidden(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("a derivative was made dense")

    def load_sparse(text: str) -> Any:
        module: Any = load(text)
        for found in vars(module).values():
            if isinstance(found, type) and issubclass(found, module._Structured):
                monkeypatch.setattr(found, "dense", forbidden)
                monkeypatch.setattr(found, "matrix", property(forbidden))
                monkeypatch.setattr(found, "__array__", forbidden)
        return module

    return load_sparse


@pytest.fixture
def chain(loaded: Callable[[str], Any]) -> Any:
    return loaded(CHAIN).FProblem(A=RNG.standard_normal((3, SIZE)) / SIZE)


START = RNG.standard_normal(SIZE) / 2


def is_minimum(problem: Any, v: Array, accuracy: float = 1e-4) -> bool:
    return bool(abs(problem.gradient(v)).max() <= accuracy)


def test_the_guard_notices_dense_arrays(chain: Any) -> None:
    H = chain.hessian(START)
    for densify in (lambda: H.dense(), lambda: np.asarray(H), lambda: H.matrix):
        with pytest.raises(AssertionError, match="made dense"):
            densify()


@pytest.mark.parametrize(
    "method", ["trust-ncg", "trust-krylov", "Newton-CG", "trust-constr"]
)
def test_scipy_minimises_by_products_alone(chain: Any, method: str) -> None:
    result = optimize.minimize(
        chain.value_and_gradient, START, jac=True, hessp=chain.hvp, method=method
    )
    assert is_minimum(chain, result.x)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-constr"])
def test_scipy_minimises_with_the_hessian_as_an_operator(
    chain: Any, method: str
) -> None:
    result = optimize.minimize(
        chain.value_and_gradient,
        START,
        jac=True,
        hess=lambda v: chain.hessian(v).as_linear_operator(),
        method=method,
    )
    assert is_minimum(chain, result.x)


@pytest.mark.parametrize("method", ["trust-ncg", "trust-krylov"])
def test_products_with_the_hessian_object_serve_as_hessp(
    chain: Any, method: str
) -> None:
    result = optimize.minimize(
        chain.value_and_gradient,
        START,
        jac=True,
        hessp=lambda v, d: chain.hessian(v) @ d,
        method=method,
    )
    assert is_minimum(chain, result.x)


def test_trust_constr_takes_the_coordinates_as_a_sparse_matrix(
    loaded: Callable[[str], Any],
) -> None:
    module = loaded(CURVE)
    y = np.sin(np.linspace(0, 3, 50))
    bound = optimize.NonlinearConstraint(
        lambda x: module.residuals(x, y)[50:],
        -0.1,
        0.1,
        jac=lambda x: as_sparse(module.residuals_jac(x, y))[50:],
        hess=lambda x, v: sparse.csr_matrix((50, 50)),
    )
    result = optimize.minimize(
        lambda x: (np.sum((x - y) ** 2), 2 * (x - y)),
        np.zeros(50),
        jac=True,
        hess=lambda x: 2 * sparse.eye(50, format="csr"),
        constraints=[bound],
        method="trust-constr",
    )
    steps = np.diff(result.x)
    assert abs(3 * steps).max() <= 0.1 + 1e-6
    assert result.constr_violation <= 1e-8


def as_sparse(derivative: Any) -> Any:
    rows, columns, values = derivative.coo()
    return sparse.csr_matrix((values, (rows, columns)), shape=derivative.shape)


def test_least_squares_takes_the_jacobian_as_an_operator(
    loaded: Callable[[str], Any],
) -> None:
    y = np.sin(np.linspace(0, 3, SIZE)) + RNG.standard_normal(SIZE) / 50
    problem = loaded(CURVE).ResidualsProblem(y=y)
    result = optimize.least_squares(
        problem.value,
        np.zeros(SIZE),
        jac=lambda v: problem.jacobian(v).as_linear_operator(),
        tr_solver="lsmr",
        method="trf",
        gtol=1e-9,
    )
    J = problem.jacobian(result.x)
    assert_allclose(J.rmatvec(problem.value(result.x)), 0, atol=1e-6)
    by_sparse = optimize.least_squares(
        problem.value, np.zeros(SIZE), jac=lambda v: as_sparse(problem.jacobian(v))
    )
    assert_allclose(by_sparse.x, result.x, atol=1e-5)


def damped_newton(problem: Any, v: Array, steps: int = 50) -> tuple[Array, int]:
    """Newton's method with a shift that falls with success and rises with failure."""
    shift = 1.0
    for step in range(steps):
        value, gradient = problem.value_and_gradient(v)
        if abs(gradient).max() <= 1e-8:
            return v, step
        hessian = problem.hessian(v)
        while True:
            try:
                factorization = hessian.factorize(shift)
            except np.linalg.LinAlgError:
                shift *= 4
                continue
            ahead = v - factorization.solve(gradient)
            if factorization.is_posdef and problem.value(ahead) <= value:
                break
            shift *= 4
        v, shift = ahead, shift / 8
    return v, steps


def test_a_damped_newton_loop_needs_solve_alone(chain: Any) -> None:
    v, steps = damped_newton(chain, START)
    assert is_minimum(chain, v, 1e-8)
    assert steps < 30


def test_newton_steps_on_factors_solve_a_small_system_each(
    loaded: Callable[[str], Any],
) -> None:
    m, n, k = 60, 50, 5
    data = {
        "V": RNG.standard_normal((n, k)),
        "T": RNG.standard_normal((m, n)),
        "O": (RNG.random((m, n)) < 0.5).astype(float),
    }
    problem = loaded(RATINGS).LossProblem(**data)
    v = RNG.standard_normal(m * k)
    H = problem.hessian(v)
    # Quadratic in U: one step leads to the minimum.
    v = v - H.solve(problem.gradient(v))
    assert is_minimum(problem, v, 1e-9)
    assert H.nbytes <= 8 * (m * k * k + 1)


class ForIpopt:
    """A function with constraints as cyipopt asks for them: patterns, then values."""

    def __init__(self, module: Any, size: int) -> None:
        self.module = module
        self.problem = module.EnergyProblem()
        point = np.zeros(size)
        rows, columns, _ = module.links_jac(point).coo()
        self._jacobian = rows, columns
        H = module.lagrangian_hess(point, 1.0, np.zeros(size - 1))
        rows, columns, _ = H.coo(lower=True)
        self._hessian = rows, columns

    def objective(self, x: Array) -> float:
        return float(self.problem.value(x))

    def gradient(self, x: Array) -> Array:
        return self.problem.gradient(x)

    def constraints(self, x: Array) -> Array:
        return self.module.links(x)

    def jacobianstructure(self) -> tuple[Array, Array]:
        return self._jacobian

    def jacobian(self, x: Array) -> Array:
        return self.module.links_jac(x).coo()[2]

    def hessianstructure(self) -> tuple[Array, Array]:
        return self._hessian

    def hessian(self, x: Array, lagrange: Array, factor: float) -> Array:
        return self.module.lagrangian_hess(x, factor, lagrange).coo(lower=True)[2]


def test_patterns_and_values_are_what_ipopt_asks_for(
    loaded: Callable[[str], Any],
) -> None:
    size = 8
    plain: Any = load(CATENARY.replace("module: catenary", "module: plain"))
    calls = ForIpopt(loaded(CATENARY), size)
    for _ in range(3):
        x, multipliers = RNG.standard_normal(size), RNG.standard_normal(size - 1)
        jacobian = np.zeros((size - 1, size))
        np.add.at(jacobian, calls.jacobianstructure(), calls.jacobian(x))
        assert_allclose(jacobian, plain.links_jac(x).dense())
        hessian = np.zeros((size, size))
        values = calls.hessian(x, multipliers, 0.5)
        np.add.at(hessian, calls.hessianstructure(), values)
        whole = plain.lagrangian_hess(x, 0.5, multipliers).dense()
        assert_allclose(hessian, np.tril(whole), atol=1e-12)
        # The triangle alone, a few entries a row.
        assert len(values) <= 3 * size


def test_ipopt_solves_with_the_coordinates(loaded: Callable[[str], Any]) -> None:
    cyipopt = pytest.importorskip("cyipopt")
    size = 200
    calls = ForIpopt(loaded(CATENARY), size)
    solver = cyipopt.Problem(
        n=size,
        m=size - 1,
        problem_obj=calls,
        lb=np.full(size, -2.0),
        ub=np.full(size, 2.0),
        cl=np.full(size - 1, 0.2),
        cu=np.full(size - 1, np.inf),
    )
    solver.add_option("print_level", 0)
    solver.add_option("sb", "yes")
    x, info = solver.solve(np.zeros(size))
    assert info["status"] == 0
    assert calls.constraints(x).min() >= 0.2 - 1e-6
    # Stationary: the gradient is balanced by constraints and bounds.
    rest = calls.gradient(x) - info["mult_x_L"] + info["mult_x_U"]
    rest += calls.module.links_jac(x).rmatvec(info["mult_g"])
    assert abs(rest).max() <= 1e-5


def test_the_examples_of_the_derivatives_page_run() -> None:
    names: dict[str, Any] = {}
    for block in blocks(ROOT / "docs" / "derivatives.md"):
        if block.language == "yaml":
            names["spec"] = block.text
        elif block.language == "python":
            exec(block.text, names)
    assert names["found"].success
