"""How constrained optima move with data, against optima that are found anew."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import tensorgen
from tensorgen.errors import SpecError
from tests.constrained_specs import PORTFOLIO
from tests.device.library import execute, stand_in
from tests.made import both, load

Array = Any
QUADRATIC = """
tensorgen: 1
module: quadratic
inputs: {x: [n], q: [n], Q: [n, n], A: [m, n], b: [m]}
functions:
  cost: x @ Q @ x / 2 + q @ x
  links: A @ x
problem:
  minimize: cost
  variables: x
  constraints: {links: {equal: b}}
  sensitivity: [q, b, A]
"""
# The classic with its numbers as data: one bound of a variable holds with equality.
HS71 = """
tensorgen: 1
module: hs71
inputs:
  x: [4]
  least: {shape: scalar, default: 25}
  squared: {shape: scalar, default: 40}
  low: {shape: [4]}
  scale: {shape: scalar, default: 1}
functions:
  cost: x[0] * x[3] * sum(x[:3]) + scale * x[2]
  product: prod(x)
  squares: x @ x
problem:
  minimize: cost
  variables: {x: {lower: low, upper: 5}}
  constraints: {product: {lower: least}, squares: {equal: squared}}
  sensitivity: [least, squared, low, scale]
"""
# Two variables, one of them a scalar; bounds of both sides, some far away.
MIXED = """
tensorgen: 1
module: mixed
inputs: {x: [n], t: scalar, a: [n], c: [n], top: scalar, room: [2]}
functions:
  cost: sum(exp(x - a)) + t**2 + sum(x) * t / 9 - sum(c * x)
  pairs: stack([x[0] * x[1] + t, x[2] - x[0] * t])
  total: sum(x**2)
problem:
  minimize: cost
  variables: {t: {lower: -2}, x: {lower: -1, upper: 2 * top}}
  constraints: {pairs: {upper: "room**2"}, total: {lower: 0, upper: 50}}
  sensitivity: [a, top, room]
"""
# What is optimised reads the solution of an equation.
IMPLICIT = """
tensorgen: 1
module: implicit
inputs: {x: [n], a: [n], most: scalar}
unknowns: {y: {shape: [n], equation: y + y**3 - x - a}}
functions:
  cost: sum((y - 1)**2) + sum(x**2) / 9
  load: sum(y)
problem:
  minimize: cost
  variables: x
  constraints: {load: {upper: most}}
  sensitivity: [a, most]
"""


# No constraints, but bounds: one number for all entries of a matrix.
BOX = """
tensorgen: 1
module: box
inputs: {t: scalar, a: scalar, W: [2, 3], top: scalar}
functions:
  cost: (t - a)**2 + sum((W - a)**2) + t * sum(W) / 9 + W[0, 1]**4
problem:
  minimize: cost
  variables:
    t:
    W: {upper: top}
  sensitivity: [a, top]
"""


def portfolio() -> tuple[Any, dict[str, Array]]:
    text = PORTFOLIO.rstrip() + "\n  sensitivity: [mu, cap, limit, lowest]\n"
    rng = np.random.default_rng(5)
    R = rng.normal(size=(20, 5))
    given = {
        "R": R,
        "mu": rng.random(5),
        "cap": np.full(5, 0.15),
        "sector": np.array([0, 1, 0, 1, 1]),
        "limit": np.array([0.3, 0.6]),
        "lowest": np.array(0.1),
    }
    return load(text).Portfolio, given


def classic() -> tuple[Any, dict[str, Array]]:
    given = {"least": 25.0, "squared": 40.0, "low": np.ones(4), "scale": 1.0}
    return load(HS71).Hs71Problem, {x: np.asarray(a) for x, a in given.items()}


def mixed() -> tuple[Any, dict[str, Array]]:
    given: dict[str, Any] = {"a": [0.1, 0.4, -0.3], "c": [3.0, 2.0, 9.0]}
    given |= {"top": 1.0, "room": [0.9, 0.7]}
    return load(MIXED).MixedProblem, {x: np.asarray(a) for x, a in given.items()}


def implicit() -> tuple[Any, dict[str, Array]]:
    given = {"a": [0.1, 0.4, -0.3], "most": 1.2}
    return load(IMPLICIT).ImplicitProblem, {x: np.asarray(a) for x, a in given.items()}


def box() -> tuple[Any, dict[str, Array]]:
    return load(BOX).BoxProblem, {"a": np.asarray(1.0), "top": np.asarray(0.6)}


def optimum(kind: Any, given: dict[str, Array]) -> tuple[Any, Array]:
    """The problem and its optimum, by SciPy's sequential quadratic programs."""
    problem = kind(**given)
    lower, upper = np.maximum(problem.lb, -1), np.minimum(problem.ub, 5)
    start = lower + (upper - lower) * np.linspace(0.4, 0.6, problem.n)
    found = minimize(
        x0=start,
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
        **problem.minimize_args(sparse=False),
    )
    assert found.status in (0, 8), found.message
    return problem, found.x


CASES = pytest.mark.parametrize("case", [portfolio, classic, mixed, implicit, box])


@CASES
def test_optima_move_as_those_that_are_found_anew(case: Any) -> None:
    kind, given = case()
    problem, v = optimum(kind, given)
    moved = problem.sensitivity(v, tol=1e-5)
    assert len(moved._own)  # something holds with equality, not all of it does
    dense = moved.dense()
    for name, found in dense.items():
        assert found.shape == (problem.n, *given[name].shape)
        for place in np.ndindex(given[name].shape):
            step = np.zeros(given[name].shape)
            step[place] = 1e-4
            ends = [
                optimum(kind, given | {name: given[name] + sign * step})[1]
                for sign in (1, -1)
            ]
            wanted = (ends[0] - ends[1]) / 2e-4
            own = found[(slice(None), *place)]
            assert np.allclose(own, wanted, rtol=2e-3, atol=2e-4), (name, place)
    assert max(abs(x).max() for x in dense.values()) > 0.1


@CASES
def test_both_products_are_with_the_same_derivative(case: Any) -> None:
    kind, given = case()
    problem, v = optimum(kind, given)
    moved, rng = problem.sensitivity(v, tol=1e-5), np.random.default_rng(0)
    names = list(moved.dense())
    d = {name: rng.normal(size=given[name].shape) for name in names}
    ct, ct_lagrange = rng.normal(size=problem.n), rng.normal(size=problem.m)
    dv, dlagrange = moved.jvp(**d)
    found = moved.vjp(ct, ct_lagrange)
    assert list(found) == names
    total = sum(np.sum(found[name] * d[name]) for name in names)
    assert total == pytest.approx(ct @ dv + ct_lagrange @ dlagrange, rel=1e-8)
    dense = moved.dense()
    axes = {name: given[name].ndim for name in names}
    wanted = sum(np.tensordot(dense[name], d[name], axes[name]) for name in names)
    assert np.allclose(dv, wanted)


def quadratic(cupy: Any = np) -> tuple[Any, ...]:
    rng = np.random.default_rng(2)
    Q, A = rng.normal(size=(5, 5)), rng.normal(size=(2, 5))
    return Q @ Q.T + np.eye(5), A, rng.normal(size=5), rng.normal(size=2)


def test_of_a_quadratic_program_all_rates_are_those_of_its_linear_system() -> None:
    Q, A, q, b = quadratic()
    K = np.block([[Q, A.T], [A, np.zeros((2, 2))]])
    both = np.linalg.solve(K, np.concatenate([-q, b]))
    x, lagrange = both[:5], both[5:]
    problem = load(QUADRATIC).QuadraticProblem(Q=Q, A=A, q=q, b=b)
    dq, db, dA = np.arange(5.0), np.array([1.0, -2.0]), np.ones((2, 5))
    right = np.concatenate([-dq - dA.T @ lagrange, db - dA @ x])
    wanted = np.linalg.solve(K, right)
    for given in (None, lagrange):  # those that fit, and those that are given
        dx, dlagrange = problem.sensitivity(x, given).jvp(q=dq, b=db, A=dA)
        assert np.allclose(dx, wanted[:5])
        assert np.allclose(dlagrange, wanted[5:])
    none, _ = problem.sensitivity(x).jvp()
    assert not none.any()


def test_a_free_minimum_moves_by_its_hessian() -> None:
    text = BOX.replace("{upper: top}", "").replace("[a, top]", "a")
    text = text.replace(" + W[0, 1]**4", "")
    v = np.linalg.solve(H := free_hessian(), np.full(7, 2 * 1.5))
    moved = load(text).BoxProblem(a=1.5).sensitivity(v)
    assert np.allclose(moved.dense()["a"], np.linalg.solve(H, np.full(7, 2)))


def free_hessian() -> Array:
    H = 2 * np.eye(7)
    H[0, 1:] = H[1:, 0] = 1 / 9
    return H


def test_a_slope_shows_a_bound_that_was_taken_for_none() -> None:
    module = load("""
tensorgen: 1
inputs: {x: [n], mu: [n]}
functions:
  cost: sum((x - mu)**2)/2
problem: {name: Nearest, minimize: cost, variables: {x: {lower: 0}}, sensitivity: mu}
""")
    mu = np.array([1.0, -2.0])  # the optimum is (1, 0), and moves with the first alone
    problem, near = module.Nearest(mu=mu), np.array([1.0, 1e-4])
    taken = problem.sensitivity(near)
    assert np.isclose(taken.slope, 2 + 1e-4)
    assert np.allclose(taken.dense()["mu"], np.eye(2))
    mended = problem.sensitivity(near, tol=1e-3)
    assert mended.slope == 0
    assert np.allclose(mended.dense()["mu"], [[1, 0], [0, 0]])


def test_devices_have_the_same() -> None:
    Q, A, q, b = quadratic()
    K = np.block([[Q, A.T], [A, np.zeros((2, 2))]])
    x = np.linalg.solve(K, np.concatenate([-q, b]))[:5]
    ours = load(QUADRATIC).QuadraticProblem(Q=Q, A=A, q=q, b=b).sensitivity(x)
    with stand_in() as cupy:
        device = cupy.asarray
        theirs = execute(both(QUADRATIC)[1])
        problem = theirs.QuadraticProblem(
            **{k: device(a) for k, a in {"Q": Q, "A": A, "q": q, "b": b}.items()}
        )
        found = problem.sensitivity(device(x)).vjp(device(np.ones(5)))
        found = {name: part.get() for name, part in found.items()}
    for name, part in ours.vjp(np.ones(5)).items():
        assert np.allclose(found[name], part)


def test_constraints_that_depend_on_each_other_are_refused() -> None:
    Q, _, q, _ = quadratic()
    A, x = np.ones((2, 5)), np.ones(5)
    problem = load(QUADRATIC).QuadraticProblem(Q=Q, A=A, q=q, b=A @ x)
    with pytest.raises(np.linalg.LinAlgError, match="depend on each other"):
        problem.sensitivity(x)


def test_multipliers_are_called_like_nothing_else() -> None:
    text = QUADRATIC.replace("b: [m]}", "b: [m], lagrange_links: [n], dcl_links: [n]}")
    text = text.replace("q @ x\n", "q @ x + sum(lagrange_links * dcl_links)\n")
    Q, A, q, b = quadratic()
    more = {"lagrange_links": q, "dcl_links": q}
    moved = load(text).QuadraticProblem(Q=Q, A=A, q=q, b=b, **more)
    plain = load(QUADRATIC).QuadraticProblem(Q=Q, A=A, q=q, b=b)
    found, wanted = (p.sensitivity(q).vjp(q) for p in (moved, plain))
    assert all(np.allclose(found[x], wanted[x]) for x in ("q", "b", "A"))


def test_wrong_arguments_are_named() -> None:
    Q, A, q, b = quadratic()
    moved = load(QUADRATIC).QuadraticProblem(Q=Q, A=A, q=q, b=b).sensitivity(np.ones(5))
    with pytest.raises(TypeError, match="p: expected one of q, b, A"):
        moved.jvp(p=q)
    with pytest.raises(ValueError, match=r"b: expected shape \(2,\), got \(5,\)"):
        moved.jvp(b=q)
    with pytest.raises(ValueError, match=r"ct: expected shape \(5,\), got \(2,\)"):
        moved.vjp(b)


def test_many_variables_take_no_dense_matrix() -> None:
    text = """
tensorgen: 1
module: chain
inputs: {x: [n], a: [n], d: [n - 1]}
functions:
  cost: sum((x - a)**2) + sum(x**4)
  steps: x[1:] - x[:-1]
problem:
  minimize: cost
  variables: x
  constraints: {steps: {upper: d}}
  sensitivity: [a, d]
"""
    n = 20_000
    module: ModuleType = load(text)
    x = np.sin(np.arange(n) / 9.0)
    d = x[1:] - x[:-1] + np.where(np.arange(n - 1) % 3, 1.0, 0.0)
    problem = module.ChainProblem(a=np.zeros(n), d=d)
    dx, dlagrange = problem.sensitivity(x, np.zeros(n - 1)).jvp(d=np.ones(n - 1))
    rates = dx[1:] - dx[:-1]
    assert np.allclose(rates[::3], 1)
    assert np.count_nonzero(dlagrange) == len(rates[::3])


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("[q, b, A]", "[q, x]", "12:20:", "'x' is a variable"),
        ("[q, b, A]", "[q, p]", "12:20:", "'p'"),
        ("[q, b, A]", "[q, q]", "12:20:", "occurs twice"),
        ("[q, b, A]", "other", "12:16:", "does not depend on 'other'"),
        (
            "Q: [n, n]",
            "Q: [n, n], dq: [n]",
            "12:17:",
            "names the direction of 'q' 'dq'",
        ),
    ],
)
def test_faults_are_shown_where_they_are(
    old: str, new: str, place: str, message: str
) -> None:
    text = QUADRATIC.replace(old, new).replace("b: [m]}", "b: [m], other: [n]}")
    with pytest.raises(SpecError) as caught:
        tensorgen.generate(text)
    told = str(caught.value)
    assert place in told and message in told


def test_problems_that_do_not_ask_have_none_of_it() -> None:
    text = tensorgen.generate(QUADRATIC.replace("  sensitivity: [q, b, A]\n", ""))
    assert "ensitivity" not in text and "_lagrangian_hvp" not in text
