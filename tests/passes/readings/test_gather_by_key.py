"""What has one key is added up once: no table of who has whose."""

from __future__ import annotations

import inspect
import re
import tracemalloc
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests import made
from tests.device.library import execute, stand_in

SPEC = """
tensorgen: 1
module: choices
dims: {{n: 10000, p: 20, g: 1000}}
inputs:
  X: [n, p]
  b: [p]
  y: [n]
  c: [g]
  group: {{shape: [n], index: g}}
functions:
  f:
    where: |
      u = X @ b
      Z[k] = sum(exp(u[q]), q, group[q] == k)
    expr: "{} + sum(c)"
    wrt: b
    emit: [value, gradient, hessian, hvp]
"""
SPELLINGS = [
    "sum(y*(log(Z[group]) - u))",
    "sum(y[q]*(log(sum(exp(u[r]), r, group[r] == group[q])) - u[q]), q)",
    "sum(y[q]*log(sum(exp(u[r] - u[q]), r, group[r] == group[q])), q)",
    "-sum(y*log(exp(u)/Z[group]))",
]


@pytest.mark.parametrize("expr", SPELLINGS)
def test_choices_within_groups_are_added_up_by_group(expr: str) -> None:
    text = SPEC.format(expr)
    model: Any = made.load(text)
    assert not re.search(r"\bgroup\[:, None\]", inspect.getsource(model))
    rng = np.random.default_rng(0)
    n, p, g = 12, 3, 5
    X, b, y, c = (rng.normal(size=s) for s in ((n, p), p, n, g))
    group = rng.integers(0, g, n)
    given = (X, b, y, c, group)
    u = X @ b
    same = group[:, None] == group
    share = same * np.exp(u) / (same @ np.exp(u))[:, None]
    value = y @ (np.log(same @ np.exp(u)) - u) + c.sum()
    mean = share @ X
    hessian = (X.T * (y @ share)) @ X - (mean.T * y) @ mean
    np.testing.assert_allclose(model.f(*given), value)
    np.testing.assert_allclose(model.f_grad(*given), y @ (mean - X), atol=1e-12)
    got = np.asarray(model.f_hess(*given))
    np.testing.assert_allclose(got, hessian, atol=1e-12)
    d = rng.normal(size=p)
    np.testing.assert_allclose(model.f_hvp(*given, d), hessian @ d, atol=1e-12)


ALONE = """
tensorgen: 1
inputs:
  X: [n, p]
  b: [p]
  y: [n]
  group: {{shape: [n], index: g}}
functions:
  f:
    where: |
      u = X @ b
      same = group[:, None] == group
      lse[q] = {}
    expr: sum(y * (lse - u))
    wrt: b
    emit: [value, gradient, hessian, hvp, problem]
"""
COUNTED = [
    "log(sum(exp(u[r]), r, group[r] == group[q]))",
    "log(sum(exp(u[r] - u[q]), r, group[r] == group[q])) + u[q]",
    "log(sum(exp(u[r]) * delta(group[r], group[q]), r))",
    "log(sum((group[r] == group[q]) * exp(u[r]), r))",
    "log(sum(where(group[r] == group[q], exp(u[r]), 0), r))",
    "logsumexp(where(group[r] == group[q], u[r], -inf), r)",
    "(log(same @ exp(u)))[q]",
    "(log(exp(u) @ same))[q]",
    "(log(sum(where(same, exp(u), 0), axis=1)))[q]",
    "(logsumexp(where(same, u, -inf), axis=1))[q]",
]


def choices(n: int, p: int, g: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    sizes = ((n, p), p, n)
    return (*(rng.normal(size=s) for s in sizes), rng.integers(0, g, n))


def truth(X: Any, b: Any, y: Any, group: Any) -> tuple[Any, Any, Any]:
    """The value, the gradient and the Hessian, from a table of all pairs."""
    u, same = X @ b, group[:, None] == group
    tops = np.where(same, u, -np.inf).max(axis=1)
    weights = same * np.exp(np.where(same, u - tops[:, None], 0))
    sums = weights.sum(axis=1)
    share = weights / sums[:, None]
    mean = share @ X
    hessian = (X.T * (y @ share)) @ X - (mean.T * y) @ mean
    return y @ (np.log(sums) + tops - u), y @ (mean - X), hessian


@pytest.mark.parametrize("expr", COUNTED)
def test_keys_that_no_argument_counts_are_counted(expr: str) -> None:
    model: Any = made.load(ALONE.format(expr))
    given = choices(12, 3, 5)
    value, gradient, hessian = truth(*given)
    np.testing.assert_allclose(model.f(*given), value)
    np.testing.assert_allclose(model.f_grad(*given), gradient, atol=1e-12)
    got = np.asarray(model.f_hess(*given))
    np.testing.assert_allclose(got, hessian, atol=1e-12)
    d = np.arange(3.0)
    np.testing.assert_allclose(model.f_hvp(*given, d), hessian @ d, atol=1e-12)


@pytest.mark.parametrize("expr", COUNTED)
def test_no_array_has_a_row_for_each_key_or_for_each_pair(expr: str) -> None:
    model: Any = made.load(ALONE.format(expr))
    X, b, y, group = choices(3_000, 4, 500)
    model.f(X[:9], b, y[:9], group[:9])  # what the first call imports is not counted
    tracemalloc.start()
    try:
        model.f(X, b, y, group)
        model.f_grad(X, b, y, group)
        model.f_hess(X, b, y, group)
        model.f_hvp(X, b, y, group, b)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(y) * len(y) // 4


@pytest.mark.parametrize("expr", COUNTED)
def test_each_key_has_a_level_of_its_own(expr: str) -> None:
    model: Any = made.load(ALONE.format(expr))
    X, b, y, group = choices(12, 3, 5)
    X = np.column_stack([X, 5000.0 * group])
    b = np.append(b, -1.0)
    value, gradient, _ = truth(X, b, y, group)
    np.testing.assert_allclose(model.f(X, b, y, group), value)
    np.testing.assert_allclose(model.f_grad(X, b, y, group), gradient, atol=1e-8)


def test_what_is_no_key_is_refused_by_name() -> None:
    model: Any = made.load(ALONE.format(COUNTED[0]))
    X, b, y, group = choices(9, 2, 4)
    with pytest.raises(ValueError, match=r"^group: expected indices from 0, got -1$"):
        model.f(X, b, y, group - 1 - group.min())
    assert model.f(X[:0], b, y[:0], group[:0]) == 0


def test_a_problem_counts_keys_anew_where_they_change() -> None:
    model: Any = made.load(ALONE.format(COUNTED[0]))
    X, b, y, group = choices(9, 2, 4)
    problem = model.FProblem(X=X, y=y, group=group)
    np.testing.assert_allclose(problem.value(b), truth(X, b, y, group)[0])
    more = group + 3
    problem.update(group=more)
    np.testing.assert_allclose(problem.value(b), truth(X, b, y, more)[0])
    np.testing.assert_allclose(np.asarray(problem.hessian(b)), truth(X, b, y, more)[2])


def test_a_module_for_cupy_counts_keys_as_well() -> None:
    X, b, y, group = choices(12, 3, 5)
    with stand_in() as cupy:
        module = execute(tensorgen.generate(ALONE.format(COUNTED[0]), backend="cupy"))
        given = [cupy.asarray(x) for x in (X, b, y, group)]
        found = module.f_hess(*given).dense().get()
    np.testing.assert_allclose(found, truth(X, b, y, group)[2], atol=1e-12)


PAIRS = """
tensorgen: 1
inputs:
  V: [n, k]
  z: [m]
  one: {shape: [n], index: g}
  other: {shape: [m], index: g}
functions:
  told[i]: sum(z[j], j, other[j] == one[i])
  masked: (one[:, None] == other) @ z
  level[i]: log(sum(z[j]**2 * exp(z[j]), j, other[j] == one[i]))
  squares: V.T @ (one[:, None] == one) @ V
  weighted: {expr: "sum((V.T @ (one[:, None] == other) @ z)**2)", wrt: V, emit: hvp}
"""


def test_two_lists_meet_at_the_keys_that_they_share() -> None:
    model: Any = made.load(PAIRS)
    rng = np.random.default_rng(1)
    V, z = rng.normal(size=(7, 2)), rng.normal(size=5)
    one, other = rng.integers(0, 3, 7), rng.integers(0, 6, 5)
    met = one[:, None] == other
    np.testing.assert_allclose(model.told(z, one, other), met @ z)
    np.testing.assert_allclose(model.masked(z, one, other), met @ z)
    with np.errstate(divide="ignore"):
        wanted = np.log(met @ (z**2 * np.exp(z)))
        np.testing.assert_allclose(model.level(z, one, other), wanted)
    np.testing.assert_allclose(model.squares(V, one), V.T @ (one[:, None] == one) @ V)
    D = rng.normal(size=V.shape)
    w = met @ z
    np.testing.assert_allclose(
        model.weighted_hvp(V, z, one, other, D), 2 * np.outer(w, w @ D)
    )


def test_three_entries_of_one_key_meet_in_sums_of_their_own() -> None:
    spec = """
tensorgen: 1
inputs:
  V: [n, k]
  group: {shape: [n], index: g}
functions:
  cubes[a, b, c]:
    sum(V[i,a] * V[j,b] * V[l,c], i, j, l, group[i] == group[j] == group[l])
"""
    model: Any = made.load(spec)
    rng = np.random.default_rng(1)
    V, group = rng.normal(size=(3000, 2)), rng.integers(0, 40, 3000)
    sums = np.zeros((40, 2))
    np.add.at(sums, group, V)
    wanted = np.einsum("ga,gb,gc->abc", sums, sums, sums)
    tracemalloc.start()
    try:
        found = model.cubes(V, group)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(found, wanted)
    assert peak < 20 * V.nbytes
