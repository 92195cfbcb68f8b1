"""Forms of a derivative that sizes decide where no hint does."""

from __future__ import annotations

import tracemalloc
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen import generate, load
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec
from tensorgen.prices.thresholds import GAIN_OF_A_FORM
from tests.structure.planned_forms import chosen, hinted, planned

# Inputs, expression, variable; sizes at which the one form or another is smallest.
CASES = {
    "low rank": (
        "x: [n], V: [n, r]",
        "sum(cosh(x)) + norm(V.T @ x)**2",
        "x",
        ({"n": 7, "r": 2}, {"n": 3, "r": 5}),
    ),
    "blocks": (
        "O: [m, n], T: [m, n], U: [m, k], V: [n, k]",
        "sum(O**2 * (T - U @ V.T)**2) + norm(U)**2",
        "U",
        ({"m": 5, "n": 6, "k": 2}, {"m": 3, "n": 2, "k": 5}),
    ),
    "logistic": (
        "X: [m, n], y: [m], w: [n]",
        "sum(log(1 + exp(-y*(X @ w)))) + norm(w)**2",
        "w",
        ({"m": 2, "n": 8}, {"m": 9, "n": 3}),
    ),
    "multinomial": (
        "X: [m, n], Y: [m, c], W: [n, c]",
        "sum(logsumexp(X @ W, axis=1)) - sum(Y * (X @ W)) + norm(W)**2",
        "W",
        ({"m": 20, "n": 3, "c": 2}, {"m": 4, "n": 6, "c": 5}),
    ),
    "several variables": (
        "x: [n], V: [n, r], b: [r]",
        "norm(V.T @ x + b)**2 + sum(cosh(x)) + sum(cosh(b))",
        "[x, b]",
        ({"n": 9, "r": 2}, {"n": 3, "r": 5}),
    ),
    "chain": (
        "x: [n], B: [q, p], C: [p, n]",
        "norm(B @ (C @ x))**2 + sum(cosh(x))",
        "x",
        ({"n": 9, "p": 3, "q": 5}, {"n": 9, "p": 6, "q": 2}, {"n": 3, "p": 6, "q": 5}),
    ),
    "Jacobian": (
        "A: [n, q], B: [q, p], x: [p]",
        "A @ tanh(B @ x)",
        "x",
        ({"n": 9, "q": 2, "p": 8}, {"n": 3, "q": 7, "p": 4}),
    ),
}
SCALARS = [name for name in CASES if name != "Jacobian"]


def text(name: str, emit: str, hints: str = "") -> str:
    inputs, expr, wrt, _ = CASES[name]
    head = f"dims: {{{hints}}}\n" if hints else ""
    return (
        f"tensorgen: 1\n{head}inputs: {{{inputs}}}\nfunctions:\n"
        f"  f: {{expr: '{expr}', wrt: {wrt}, emit: [{emit}]}}\n"
    )


def arguments(name: str, sizes: dict[str, int]) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    found = {}
    for given in CASES[name][0].split("], "):
        key, dims = given.rstrip("]").split(": [")
        found[key] = rng.normal(size=[sizes[dim] for dim in dims.split(", ")])
    return found


def forms(module: ModuleType, name: str) -> list[str]:
    """The structures at some sizes."""
    call = module.f_jac if name == "Jacobian" else module.f_hess
    return [call(**arguments(name, sizes)).structure for sizes in CASES[name][-1]]


@pytest.mark.parametrize("name", CASES)
def test_the_sizes_of_a_call_choose_the_form(name: str) -> None:
    kind = "jacobian" if name == "Jacobian" else "hessian"
    found = forms(load(text(name, kind)), name)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("name", SCALARS)
def test_all_forms_are_the_hessian(name: str) -> None:
    module = load(text(name, "hessian, dense_hessian, hvp"))
    for sizes in CASES[name][-1]:
        given = arguments(name, sizes)
        hessian, dense = module.f_hess(**given), module.f_hess_dense(**given)
        if isinstance(dense, dict):
            names = list(dict.fromkeys(a for a, _ in dense))
            rows = [np.hstack([dense[a, b] for b in names]) for a in names]
            dense = np.vstack(rows)
        matrix = dense.reshape(hessian.shape)
        np.testing.assert_allclose(np.asarray(hessian), matrix, rtol=1e-12, atol=1e-12)
        b = np.arange(1.0, len(matrix) + 1)
        expected = np.linalg.solve(matrix, b)
        np.testing.assert_allclose(hessian.solve(b), expected, rtol=1e-8)
        np.testing.assert_allclose(hessian @ b, matrix @ b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", SCALARS)
def test_problems_and_joint_functions_have_the_same_forms(name: str) -> None:
    module = load(text(name, "value, gradient, hessian, problem"))
    wrt = CASES[name][2].strip("[]").split(", ")
    for sizes in CASES[name][-1]:
        given = arguments(name, sizes)
        data = {key: value for key, value in given.items() if key not in wrt}
        problem = module.FProblem(**data)
        point = problem.pack(**{key: given[key] for key in wrt})
        hessian = module.f_hess(**given)
        for other in (problem.hessian(point), module.f_value_grad_hess(**given)[2]):
            assert other.structure == hessian.structure
            np.testing.assert_allclose(
                np.asarray(other), np.asarray(hessian), rtol=1e-12, atol=1e-12
            )


@pytest.mark.parametrize("emit", ["hessian", "problem"])
def test_a_long_variable_of_low_rank_is_no_matrix(emit: str) -> None:
    module = load(text("low rank", emit))
    n, r = 20_000, 4
    rng = np.random.default_rng(2)
    x, V = rng.normal(size=n), rng.normal(size=(n, r)) / np.sqrt(n)
    tracemalloc.start()
    try:
        if emit == "hessian":
            hessian = module.f_hess(x, V)
        else:
            hessian = module.FProblem(V=V).hessian(x)
        step = hessian.solve(x)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50 * 8 * n * r
    residual = np.cosh(x) * step + 2 * (V @ (V.T @ step)) - x
    assert abs(residual).max() < 1e-10


def test_a_long_variable_between_short_chains_is_no_matrix() -> None:
    module = load(
        "tensorgen: 1\ninputs: {x: [n], A: [n, r], B: [r, p]}\nfunctions:\n"
        "  f: {expr: norm(B.T @ (A.T @ x))**2 + sum(cosh(x)), wrt: x, emit: [hessian]}"
    )
    n, r, p = 20_000, 3, 500
    rng = np.random.default_rng(5)
    x, A, B = (rng.normal(size=size) for size in (n, (n, r), (r, p)))
    tracemalloc.start()
    try:
        hessian = module.f_hess(x, A / np.sqrt(n), B)
        step = hessian.solve(x)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50 * 8 * n * r
    residual = np.cosh(x) * step + 2 * A @ (B @ (B.T @ (A.T @ step))) / n - x
    assert abs(residual).max() < 1e-9


HINTS = {
    "low rank": "n: 1000, r: 5",
    "blocks": "m: 100, n: 80, k: 5",
    "logistic": "m: 100, n: 20",
}


@pytest.mark.parametrize("name", HINTS)
def test_hints_leave_one_form(name: str) -> None:
    first, second = forms(load(text(name, "hessian", HINTS[name])), name)
    assert first == second


def test_one_mode_is_one_form() -> None:
    assert (
        " if "
        not in generate(text("low rank", "hessian"), mode="reverse").split(
            "class _Scalable"
        )[0]
    )


def noted(spec: str) -> list[str]:
    found: list[str] = []
    source = Source("a.yaml", spec)
    compile_spec(
        source,
        ["numpy"],
        "cross-country",
        False,
        note=lambda remark: found.append(str(remark)),
    )
    return found


def named(line: int, dims: str) -> str:
    return (
        f"a.yaml:{line}:3: note: f_hess has two forms and uses the one that needs "
        "least memory for the sizes of its arguments; "
        f"hints for {dims} leave one [forms]"
    )


def test_functions_with_two_forms_are_named() -> None:
    emit = "hessian, value, gradient"
    assert noted(text("blocks", emit)) == [named(4, "k, m and n")]
    assert noted(text("blocks", emit, "m: 100, k: 20")) == [named(5, "n")]
    assert noted(text("blocks", emit, HINTS["blocks"])) == []


def test_functions_with_three_forms_are_named() -> None:
    emit = "hessian"
    assert noted(text("chain", emit)) == [
        "a.yaml:4:3: note: f_hess has three forms and uses the one that needs least "
        "memory for the sizes of its arguments; hints for n, p and q leave one [forms]"
    ]


@pytest.mark.parametrize("hints, count", [("", 3), ("p: 20", 2), ("p: 20, n: 90", 1)])
def test_hints_leave_fewer_forms(hints: str, count: int) -> None:
    assert 1 + len(planned(text("chain", "hessian", hints)).others) == count


KMEANS = """tensorgen: 1
inputs: {P: [k, d], C: [n, d], q: [n], eps: scalar}
functions:
  f:
    where: 'D[i, h] = norm(C[i] - P[h])**2'
    expr: -eps*sum(q*logsumexp(-D/eps, axis=1))
    wrt: P
    emit: [hessian, hvp]
"""
REGIMES = [(3, 200, 40), (200, 5, 3), (20, 20, 20), (3, 1000, 2)]


@pytest.mark.parametrize("k, n, d", [*REGIMES, (3, 100_000, 2), (1000, 50, 100)])
def test_each_regime_of_soft_clusters_has_its_form(k: int, n: int, d: int) -> None:
    sizes = {"k": k, "n": n, "d": d}
    assert chosen(planned(KMEANS), sizes) <= GAIN_OF_A_FORM * hinted(KMEANS, sizes)


def test_many_points_leave_a_dense_matrix_of_few_centres() -> None:
    module = load(KMEANS)
    rng = np.random.default_rng(4)
    for k, n, d in REGIMES:
        P, C = rng.normal(size=(k, d)), rng.normal(size=(n, d))
        q, V = rng.uniform(1, 2, n), rng.normal(size=(k, d))
        hessian = module.f_hess(P, C, q, 2.0)
        assert hessian.nbytes <= 8 * GAIN_OF_A_FORM * min(k * d * k * d, n * k * d)
        expected = module.f_hvp(P, C, q, 2.0, V)
        np.testing.assert_allclose(
            hessian @ V, expected, atol=1e-11 * abs(expected).max()
        )


def test_differences_are_held_whole() -> None:
    module = load(KMEANS.replace(", eps: scalar", "").replace("eps", "9"))
    rng = np.random.default_rng(3)
    for k, n, d in ((3, 200, 40), (4, 60, 60)):
        far = 1e5
        P, C = rng.normal(size=(k, d)) + far, rng.normal(size=(n, d)) + far
        q, V = rng.uniform(1, 2, n), rng.normal(size=(k, d))
        expected = module.f_hvp(P, C, q, V)
        np.testing.assert_allclose(
            module.f_hess(P, C, q) @ V, expected, atol=1e-9 * abs(expected).max()
        )
