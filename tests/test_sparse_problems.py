"""Problems with sparse matrices among their data, which may be replaced."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tensorgen
from tensorgen.errors import SpecError
from tests.constrained_specs import Solver
from tests.device.library import execute, stand_in
from tests.plans.test_problem_plans import host

SPEC = """
tensorgen: 1
module: balls
inputs:
  x: [n]
  A: {shape: [m, n], sparse: true}
  b: [m]
  c: [n]
functions:
  cost:
    expr: sum(exp(A @ c) * (A @ x - b)**2) + sum(exp(x))
    wrt: x
    emit: [value, gradient, hessian, problem]
  rows: A @ x
  balls: A @ exp(x)
problem:
  minimize: cost
  variables: {x: {lower: -1, upper: abs(A.T @ b)}}
  constraints: {rows: {upper: A @ c}, balls: {lower: b}}
"""
m, n = 7, 5


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return execute(tensorgen.generate(SPEC, backend="numpy"))


def matrix(seed: int, density: float) -> Any:
    rng = np.random.default_rng(seed)
    return sp.random_array((m, n), density=density, rng=rng, format="csr")


def data(seed: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"b": rng.normal(size=m), "c": rng.normal(size=n), "A": matrix(seed, 0.4)}


V = np.linspace(-1, 1, n)


def everything(p: Any) -> list[Any]:
    """What a problem says at a point, of whichever kind it is."""
    if hasattr(p, "value"):
        return [p.value(V), p.gradient(V), p.hvp(V, V), p.hessian(V).dense()]
    lagrange = np.arange(2.0 * m)
    places = [*p.jacobianstructure(), *p.hessianstructure()]
    values = [p.objective(V), p.gradient(V), p.constraints(V), p.jacobian(V)]
    return [*places, *values, p.hessian(V, lagrange), p.lb, p.ub, p.cl, p.cu]


@pytest.mark.parametrize("kind", ["CostProblem", "BallsProblem"])
@pytest.mark.parametrize("density", [0.0, 0.2, 0.9])
def test_a_sparse_matrix_is_replaced_by_one_of_another_pattern(
    module: ModuleType, kind: str, density: float
) -> None:
    make, given = getattr(module, kind), data()
    p = make(**given)
    everything(p)
    for name, new in {"A": matrix(5, density), "c": V, "b": np.ones(m)}.items():
        given[name] = new
        p.update(**{name: new})
        for found, wanted in zip(everything(p), everything(make(**given)), strict=True):
            np.testing.assert_array_equal(found, wanted, name)


def test_what_follows_from_a_sparse_matrix_alone_changes_with_it_alone(
    module: ModuleType,
) -> None:
    p = module.CostProblem(**data())
    kept = dict(vars(p._data))
    p.update(b=np.ones(m))
    assert [x for x in kept if getattr(p._data, x) is not kept[x]] == ["b"]
    p.update(A=matrix(5, 0.5))
    renewed = {x for x in kept if getattr(p._data, x) is not kept[x]}
    assert renewed == kept.keys() - {"c"} and len(renewed) > 2


def test_wider_vectors_see_a_new_sparse_matrix(module: ModuleType) -> None:
    narrow = {name: value.astype("f") for name, value in data().items()}
    p, new = module.CostProblem(**narrow), matrix(5, 0.3)
    p.value(V)
    p.update(A=new)
    assert p.value(V.astype("f")).dtype == np.float32
    same = {**narrow, "A": new.astype("f")}
    wide = module.CostProblem(**{x: a.astype(float) for x, a in same.items()})
    assert p.value(V) == wide.value(V)


@pytest.mark.parametrize("kind", ["CostProblem", "BallsProblem"])
def test_what_cannot_replace_a_sparse_matrix_is_refused(
    module: ModuleType, kind: str
) -> None:
    p = getattr(module, kind)(**data())
    before = everything(p)
    with pytest.raises(ValueError, match=r"^A: expected shape \(7, 5\), got \(5, 7\)$"):
        p.update(b=np.ones(m), A=data()["A"].T)
    with pytest.raises(TypeError, match=r"^A: expected a sparse matrix, got ndarray"):
        p.update(A=np.ones((m, n)))
    for found, wanted in zip(everything(p), before, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_constrained_problem_is_that_with_the_dense_matrix(
    module: ModuleType,
) -> None:
    given = data()
    b, c, D = given["b"], given["c"], given["A"].toarray()
    p = Solver(module.BallsProblem(**given))
    E = np.exp(V)
    weight = np.exp(D @ c)
    cost = (weight * (D @ V - b) ** 2).sum() + E.sum()
    assert p.objective(V) == pytest.approx(cost)
    assert p.constraints(V) == pytest.approx([*(D @ V), *(D @ E)])
    assert p.jacobian(V) == pytest.approx(np.vstack([D, D * E]))
    k = np.arange(2.0 * m)
    wanted = 3 * (2 * D.T @ np.diag(weight) @ D + np.diag(E)) + np.diag(
        E * (D.T @ k[m:])
    )
    assert p.hessian(V, k, 3.0) == pytest.approx(wanted)
    rows, _ = p.problem.jacobianstructure()
    assert len(rows) == 2 * given["A"].nnz
    q = p.problem
    assert q.ub == pytest.approx(abs(D.T @ b))
    assert q.cu[:m] == pytest.approx(D @ c)
    assert q.cl[m:] == pytest.approx(b)


def test_modules_for_cupy_replace_sparse_matrices(module: ModuleType) -> None:
    with stand_in() as cupy:
        import cupyx.scipy.sparse as device

        other = execute(tensorgen.generate(SPEC, backend="cupy"))
        given = data()
        on = {x: cupy.asarray(given[x]) for x in "bc"}
        on["A"] = device.csr_matrix(given["A"])
        v, d = cupy.asarray(V), cupy.asarray(np.arange(2.0 * m))
        p, q = other.BallsProblem(**on), module.BallsProblem(**given)
        new = matrix(5, 0.6)
        p.update(A=device.csr_matrix(new)), q.update(A=new)
        np.testing.assert_allclose(host(p.jacobian(v)), q.jacobian(V))
        found = host(p.hessian(v, d))
        np.testing.assert_allclose(found, q.hessian(V, host(d)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{lower: b}", "{lower: max(A)}", "a bound of 'balls' would fill in a sparse"),
        (
            "{lower: b}",
            "{lower: sum(A * B)}",
            "'BallsProblem' would compare all ent",
        ),
        ("variables: {x:", "variables: {A: , x:", "a variable is dense, and 'A' is"),
    ],
)
def test_what_a_constrained_problem_cannot_hold_is_reported(
    old: str, new: str, message: str
) -> None:
    spec = SPEC.replace("  b: [m]\n", "  b: [m]\n  B: {shape: [m, n], sparse: true}\n")
    with pytest.raises(SpecError, match=message):
        tensorgen.generate(spec.replace(old, new), backend="numpy")
