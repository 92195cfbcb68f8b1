"""Constrained problems as objects: what callbacks return, and what they refuse."""

from __future__ import annotations

import importlib.util
import inspect
import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import tensorgen
from tensorgen.errors import SpecError
from tests.constrained_specs import CHAIN, HS71, PORTFOLIO, STEERING, Solver, loaded
from tests.device.library import stand_in
from tests.plans.test_problem_plans import host

RNG = np.random.default_rng(1)
n, m, k = 5, 9, 3
DATA: dict[str, Any] = {
    "R": RNG.normal(size=(m, n)),
    "mu": RNG.normal(size=n),
    "cap": np.linspace(0.2, 0.4, n),
    "sector": np.array([0, 2, 1, 0, 2]),
    "limit": np.array([1.0, 2.0, 3.0]),
}


def portfolio(**changed: Any) -> Any:
    return loaded(PORTFOLIO).Portfolio(**DATA | changed)


def utility(w: Any, s: float, R: Any, mu: Any) -> float:
    return float(mu @ w - w @ (R.T @ R / m) @ w / 2 - s**2)


def risk(w: Any, s: float, R: Any, sector: Any) -> Any:
    C = R.T @ R / m
    return np.bincount(sector, np.diag(C) * w**2, k) / DATA["limit"] + s


def slopes(function: Any, v: Any) -> Any:
    """The Jacobian of a function by central differences: one row an entry of it."""
    steps = 1e-5 * np.eye(v.size)
    rows = [np.ravel(function(v + e) - function(v - e)) / 2e-5 for e in steps]
    return np.transpose(rows)


# What callbacks return


def test_callbacks_return_what_the_file_states() -> None:
    p, v = Solver(portfolio()), RNG.normal(size=n + 1)
    w, s = v[:n], v[n]
    # A maximum is sought, and solvers minimise.
    assert p.objective(v) == pytest.approx(-utility(w, s, DATA["R"], DATA["mu"]))
    values = [w.sum(), *risk(w, s, DATA["R"], DATA["sector"])]
    assert p.constraints(v) == pytest.approx(values)


def test_bounds_are_those_of_the_file_in_the_order_of_the_vector() -> None:
    p = portfolio()
    assert p.lb.tolist() == [0] * n + [-0.1]
    assert p.ub.tolist() == [*(2 * DATA["cap"]), np.inf]
    assert p.cl.tolist() == [0.1] + [-np.inf] * k
    assert p.cu.tolist() == [1.0, *DATA["limit"]]
    assert p.bounds.lb.tolist() == p.lb.tolist()
    w, s = np.arange(n), 7
    assert [x.tolist() for x in p.unpack(p.pack(w=w, s=s))] == [w.tolist(), s]


STARTS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "portfolio": (PORTFOLIO, DATA, "Portfolio"),
    "hs71": (HS71, {}, "Hs71Problem"),
    "steering": (STEERING, {"n": 4, "goal": [5, 45, 0]}, "SteeringProblem"),
    "chain": (CHAIN, {"n": 6}, "HangingChainProblem"),
}


@pytest.mark.parametrize("name", STARTS)
def test_derivatives_are_those_of_the_values(name: str) -> None:
    text, data, called = STARTS[name]
    p = Solver(getattr(loaded(text), called)(**data))
    v, lagrange = RNG.normal(size=p.n) / 2, RNG.normal(size=p.m)
    assert np.allclose(p.gradient(v), slopes(p.objective, v), atol=1e-6)
    assert np.allclose(p.jacobian(v), slopes(p.constraints, v), atol=1e-6)

    def slope(v: Any) -> Any:
        return 0.7 * p.gradient(v) + lagrange @ p.jacobian(v)

    H = p.hessian(v, lagrange, 0.7)
    assert np.allclose(H, slopes(slope, v), atol=1e-5)
    whole = p.problem.lagrangian_hessian(v, lagrange, 0.7)
    assert np.allclose(H, whole.tocsr().toarray(), atol=1e-12)
    own = p.problem.lagrangian_hessian(v)
    assert np.allclose(own.tocsr().toarray(), p.hessian(v, 0 * lagrange, 1))


@pytest.mark.parametrize("name", STARTS)
def test_cupy_gives_the_same(name: str) -> None:
    text, data, called = STARTS[name]
    with stand_in() as cupy:
        device = {
            x: cupy.asarray(a) if isinstance(a, np.ndarray | list) else a
            for x, a in data.items()
        }
        other = getattr(loaded(text, backend="cupy"), called)(**device)
        p = getattr(loaded(text), called)(**data)
        v, lagrange = np.linspace(1, 2, p.n), np.linspace(2, 3, p.m)
        at = cupy.asarray(v)
        for side in ("lb", "ub", "cl", "cu"):
            assert host(getattr(other, side)).tolist() == getattr(p, side).tolist()
        for method in ("jacobianstructure", "hessianstructure"):
            found, wanted = getattr(other, method)(), getattr(p, method)()
            assert all((host(a) == b).all() for a, b in zip(found, wanted, strict=True))
        for method in ("objective", "gradient", "constraints", "jacobian"):
            found = host(getattr(other, method)(at))
            assert np.allclose(found, getattr(p, method)(v)), method
        found = host(other.hessian(at, cupy.asarray(lagrange), 0.5))
        assert np.allclose(found, p.hessian(v, lagrange, 0.5))
        assert not hasattr(other, "scipy_constraints")


def test_structures_have_no_entry_that_is_always_zero() -> None:
    p = loaded(STEERING).SteeringProblem(n=101, goal=[5, 45, 0])
    # Each equation of motion meets tf and two entries of two others, each of the ends
    # one entry.
    assert p.jacobianstructure()[0].size == 200 * 5 + 200 * 5 + 7
    # Of the Lagrangian: u with itself, u and v with tf, and tf alone, a block of one.
    assert p.hessianstructure()[0].size == 101 + 101 + 202 + 1


def test_signatures_are_those_of_cyipopt() -> None:
    p = loaded(HS71).Hs71Problem()
    for method in ("objective", "gradient", "constraints", "jacobian"):
        assert len(inspect.signature(getattr(p, method)).parameters) == 1
    for method in ("jacobianstructure", "hessianstructure"):
        assert not inspect.signature(getattr(p, method)).parameters
    names = [*inspect.signature(p.hessian).parameters]
    assert names[1:] == ["lagrange", "obj_factor"]


@pytest.mark.skipif(importlib.util.find_spec("cyipopt") is None, reason="no cyipopt")
def test_cyipopt_solves_a_problem_as_it_is() -> None:
    import cyipopt  # type: ignore[import-not-found,unused-ignore]

    p = loaded(HS71).Hs71Problem()
    sides = {side: getattr(p, side) for side in ("lb", "ub", "cl", "cu")}
    solver = cyipopt.Problem(n=p.n, m=p.m, problem_obj=p, **sides)
    _, told = solver.solve(p.pack(x=[1, 5, 5, 1]))
    assert told["obj_val"] == pytest.approx(17.0140173, abs=1e-6)


# What is computed when


def test_objective_and_gradient_at_one_vector_share_their_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model: ModuleType = loaded(CHAIN)
    p, v = model.HangingChainProblem(n=11), RNG.normal(size=22)
    calls = calls_of_numpy(model, monkeypatch)
    p.objective(v), p.gradient(v.copy()), p.constraints(v), p.jacobian(v)
    p.hessian(v, np.ones(p.m), 1.0), p.hessian(v, np.zeros(p.m), 1.0)
    assert calls.count("sqrt") == 1
    p.objective(v + 1)
    assert calls.count("sqrt") == 2


def calls_of_numpy(model: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a module asks NumPy for, in a list that grows."""
    calls = []

    class Recorder:
        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(np, name)

    monkeypatch.setattr(model, "np", Recorder())
    return calls


@pytest.mark.parametrize("name", STARTS)
def test_places_are_found_once_for_all_points(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, data, called = STARTS[name]
    model: ModuleType = loaded(text)
    p = getattr(model, called)(**data)
    v, lagrange = np.linspace(1, 2, p.n), np.linspace(2, 3, p.m)
    p.jacobian(v), p.hessian(v, lagrange, 0.5)
    calls = calls_of_numpy(model, monkeypatch)
    found = p.jacobian(v + 0.1), p.hessian(v + 0.1, lagrange, 0.7)
    assert not {"indices", "unique", "argsort", "searchsorted"} & {*calls}
    q = getattr(model, called)(**data)
    assert np.array_equal(found[0], q.jacobian(v + 0.1))
    assert np.array_equal(found[1], q.hessian(v + 0.1, lagrange, 0.7))


def test_jacobians_that_are_the_same_everywhere_are_computed_once() -> None:
    p, v = portfolio(), RNG.normal(size=n + 1)
    p.jacobian(v)
    p.jacobian(v + 1)
    assert "jacobian_total" not in vars(p._at(v + 1))
    assert "jacobian_risk" in vars(p._at(v + 1))


def test_updates_are_those_of_a_problem_made_anew() -> None:
    p, v, lagrange = portfolio(), RNG.normal(size=n + 1), RNG.normal(size=1 + k)
    p.hessian(v, lagrange, 1.0)
    kept = dict(vars(p._data))
    computed = [x for x in kept if x not in DATA and x != "lowest"]
    p.update(mu=2 * DATA["mu"], lowest=0.3)
    assert computed and all(getattr(p._data, x) is kept[x] for x in computed)
    p.update(R=DATA["R"][::-1] / 2, sector=DATA["sector"][::-1], limit=[3, 2, 1])
    changed = {"mu": 2 * DATA["mu"], "lowest": 0.3, "limit": [3, 2, 1]}
    q = portfolio(R=DATA["R"] / 2, sector=DATA["sector"][::-1], **changed)
    for one, other in zip(sides_and_values(p, v), sides_and_values(q, v), strict=True):
        assert np.allclose(one, other, rtol=1e-14)


def sides_and_values(p: Any, v: Any) -> list[Any]:
    lagrange = np.linspace(1, 2, p.m)
    places = [*p.jacobianstructure(), *p.hessianstructure()]
    values = [p.objective(v), p.gradient(v), p.constraints(v), p.jacobian(v)]
    return [p.lb, p.ub, p.cl, p.cu, *places, *values, p.hessian(v, lagrange, 0.5)]


def test_results_are_the_callers_own() -> None:
    p, v = portfolio(), np.ones(n + 1)
    first = sides_and_values(p, v)
    for array in sides_and_values(p, v):
        np.asarray(array)[...] = 7 if np.ndim(array) else array
    assert all(map(np.array_equal, first, sides_and_values(p, v)))
    assert (v == 1).all()


# What is refused


def test_wrong_arguments_are_named() -> None:
    p, v = portfolio(), np.ones(n + 1)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: p.objective(v[1:]), r"^v: expected shape \(6,\), got \(5,\)"),
        (lambda: p.hessian(v, v, 1.0), r"^lagrange: expected shape \(4,\), got \(6,\)"),
        (lambda: p.hessian(v, v[:4], v), r"^obj_factor: expected shape \(\), got"),
        (lambda: p.pack(w=v, s=1), r"^w: expected shape \(5,\), got \(6,\)"),
        (lambda: p.update(cap=v), r"^cap: expected shape \(5,\), got \(6,\)"),
        (lambda: p.update(sector=[0, 1, 2, 3, 0]), r"^sector: expected indices from 0"),
        (lambda: portfolio(cap=v), r"^cap: expected shape \(n,\)"),
    ]
    for call, match in wrong:
        with pytest.raises(ValueError, match=match):
            call()
    make = loaded(CHAIN).HangingChainProblem
    with pytest.raises(TypeError, match=r"^n: expected an integer, got float"):
        make(n=2.5)
    with pytest.raises(ValueError, match=r"^n: expected a size, got -1"):
        make(n=-1)
    with pytest.raises(ValueError, match=r"needs 1 <= n"):
        make(n=0)


def test_without_constraints_bounds_are_all() -> None:
    text = """
    tensorgen: 1
    module: box
    inputs: {x: [n], n_: scalar}
    functions: {f: sum((x - 3)**2 * n_)}
    problem: {minimize: f, variables: {x: {upper: 2}}}
    """
    p = Solver(tensorgen.load(textwrap.dedent(text)).BoxProblem(n=3, n_=2.0))
    v = np.ones(3)
    assert p.constraints(v).size == 0 == p.jacobian(v).size
    assert p.problem.scipy_constraints() == []
    assert (p.hessian(v, np.zeros(0), 0.5) == 2 * np.eye(3)).all()
    found = minimize(p.objective, v, jac=p.gradient, bounds=p.problem.bounds)
    assert found.x == pytest.approx([2, 2, 2])


def test_a_linear_program_has_an_empty_hessian() -> None:
    text = """
    tensorgen: 1
    inputs: {x: [n], A: [m, n], b: [m], c: [n]}
    functions: {cost: c @ x, rows: A @ x}
    problem:
      name: Linear
      minimize: cost
      variables: {x: {lower: 0}}
      constraints: {rows: {upper: b}}
    """
    A, b, c = RNG.normal(size=(3, 4)), np.ones(3), np.ones(4)
    p = Solver(tensorgen.load(textwrap.dedent(text)).Linear(A=A, b=b, c=c))
    v = RNG.normal(size=4)
    assert (p.jacobian(v) == A).all() and (p.gradient(v) == c).all()
    assert p.problem.hessian(v, b, 1.0).size == 0
    p.problem.update(A=2 * A)
    assert (p.jacobian(v) == 2 * A).all()


def test_names_of_the_file_may_be_those_of_multipliers_and_methods() -> None:
    text = """
    tensorgen: 1
    module: names
    inputs: {x: [n], obj_factor: scalar, lagrange_g: [n], data: [n], changed: scalar}
    functions:
      objective: sum(exp(data) * x**2) * obj_factor
      g: lagrange_g * x**3 * changed
    problem: {minimize: objective, variables: x, constraints: {g: {equal: 1}}}
    """
    data, weight = RNG.normal(size=3), RNG.normal(size=3)
    given = {"obj_factor": 2.0, "lagrange_g": weight, "data": data, "changed": 3.0}
    p = Solver(tensorgen.load(textwrap.dedent(text)).NamesProblem(**given))
    v, y = RNG.normal(size=3), RNG.normal(size=3)
    want = np.diag(0.5 * 4 * np.exp(data) + 18 * y * weight * v)
    assert np.allclose(p.hessian(v, y, 0.5), want)
    p.problem.update(data=2 * data, changed=1.0)
    want = np.diag(0.5 * 4 * np.exp(2 * data) + 6 * y * weight * v)
    assert np.allclose(p.hessian(v, y, 0.5), want)


HEAD = """\
tensorgen: 1
inputs: {x: [n], y: [n], c: [m], i: {shape: [m], index: n}}
functions:
  f: sum(x**2) * sum(c) + sum(y[i])
  g: x * y
problem:
"""


@pytest.mark.parametrize(
    ("block", "place", "parts"),
    [
        (" 7", "6:1", ["'problem' must be a mapping", "minimize: f"]),
        ("  variables: x", "6:1", ["has no 'minimize'", "scalar function"]),
        ("  minimize: f", "6:1", ["has no 'variables'"]),
        ("  minimize: f\n  variables: []", "8:3", ["'variables' names none"]),
        ("  minimize: F\n  variables: x", "7:13", ["'F' is not a function", "'f'"]),
        ("  minimize: g\n  variables: x", "7:13", ["'g' is no scalar", "(n,)"]),
        (
            "  minimize: f\n  maximize: f\n  variables: x",
            "8:3",
            ["'minimize' or 'maximize', not both"],
        ),
        ("  minimise: f\n  minimize: f\n  variables: x", "7:3", ["'minimise'", "mean"]),
        ("  minimize: f\n  variables: z", "8:14", ["'z' is not an input"]),
        ("  minimize: f\n  variables: i", "8:14", ["'i' is an index array"]),
        ("  minimize: f\n  variables: [x, x]", "8:18", ["'x' occurs twice"]),
        ("  minimize: f\n  variables: {x: 1}", "8:15", ["the bounds of 'x'", "lower"]),
        ("  minimize: f\n  variables: {x: {min: 1}}", "8:19", ["'min'", "a variable"]),
        ("  minimize: f\n  variables: {x: {lower: 2 +}}", "8:29", ["ends too early"]),
        ("  minimize: f\n  variables: {x: {lower: q}}", "8:26", ["unknown name 'q'"]),
        (
            "  minimize: f\n  variables: {x: {lower: c}}",
            "8:26",
            ["a bound of 'x' has shape (m,)", "(n,)"],
        ),
        (
            "  minimize: f\n  variables: [x, y]\n  constraints: {g: {lower: y}}",
            "9:28",
            ["a bound of 'g' depends on the variable 'y'"],
        ),
        (
            "  minimize: f\n  variables: x\n  constraints: [g]",
            "9:17",
            ["'g' is not constrained", "{equal: 0}"],
        ),
        (
            "  minimize: f\n  variables: x\n  constraints: {g: {equal: 1, upper: 2}}",
            "9:31",
            ["both 'equal' and 'upper'"],
        ),
        (
            "  minimize: f\n  variables: x\n  constraints: {h: {lower: 1}}",
            "9:17",
            ["'h' is not a function", "f, g"],
        ),
        ("  name: f\n  minimize: f\n  variables: x", "7:9", ["'f'", "a function"]),
        ("  name: a-b\n  minimize: f\n  variables: x", "7:9", ["cannot be the name"]),
    ],
)
def test_what_is_wrong_with_the_block_is_said(
    block: str, place: str, parts: list[str]
) -> None:
    with pytest.raises(SpecError) as caught:
        tensorgen.generate(HEAD.rstrip("\n") + ("\n" * (block[:2] == "  ")) + block)
    (fault,) = caught.value.diagnostics
    assert fault.span is not None
    assert f"{fault.span.line}:{fault.span.column}" == place, str(caught.value)
    said = str(caught.value)
    for part in parts:
        assert part in said, said


def test_a_class_of_the_same_name_is_reported() -> None:
    text = """
    tensorgen: 1
    module: f
    inputs: {x: [n]}
    functions: {f: {expr: sum(x**2), wrt: x, emit: [problem]}}
    problem: {minimize: f, variables: x}
    """
    with pytest.raises(SpecError, match="'FProblem' is what the problem's class is"):
        tensorgen.generate(textwrap.dedent(text))
