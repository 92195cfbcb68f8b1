"""Inputs of the vector that have rows lie in the order of blocks, each with its own."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.engines import executor_map
from tests.row_blocks.models import Model, cut, data
from tests.row_blocks.test_over_blocks import CUTS, ROWS, close
from tests.sampled import left

RATINGS = (
    "row: {shape: [E], index: m}, col: {shape: [E], index: p}, value: [E], "
    "lam: {shape: [], default: 0.1}"
)
MODELS = {
    "recommender": Model(
        "r[e] = value[e] - sum(U[row[e], a] * V[col[e], a], a)",
        "sum(r**2) + lam * (sum(U**2) + sum(V**2))",
        wrt="[U, V]",
        inputs=f"U: [m, k], V: [p, k], {RATINGS}",
        blocks="{m: {E: row}}",
    ),
    "factors alone": Model(
        "r[e] = value[e] - sum(U[row[e], a] * V[col[e], a], a)",
        "sum(r**2) + lam * sum(U**2)",
        wrt="U",
        inputs=f"U: [m, k], V: [p, k], {RATINGS}",
        blocks="{m: {E: row}}",
    ),
    "effects": Model(
        "t = X @ w + u",
        "sum(log(1 + exp(-y * t))) + sum(u**2) + w @ w",
        wrt="[w, u]",
        inputs="w: [n], u: [m], X: [m, n], y: [m]",
    ),
    "columns": Model(
        "r[i] = sum(U[a, i] * X[i, a], a) - y[i]",
        "sum(r**2) + sum(U**2)",
        wrt="U",
        inputs="U: [n, m], X: [m, n], y: [m]",
    ),
    "shares": Model(
        "t = u + X @ w",
        "logsumexp(t) - sum(y * u) / m",
        wrt="[u, w]",
        inputs="u: [m], w: [n], X: [m, n], y: [m]",
    ),
    "entries": Model(
        "",
        "sum((value[e] - s[e] - b[row[e]])**2, e) + sum(s**2) + sum(i * b[i]**2, i)",
        wrt="[b, s]",
        inputs=f"b: [m], s: [E], {RATINGS}",
        blocks="{m: {E: row}}",
    ),
}
# One variable with rows and one without, one alone with entries, totals to wait for.
LAWS = "recommender", "shares", "entries"
CASES = [pytest.param(x, id=x) if x in LAWS else left(x) for x in MODELS]


@cache
def module(model: Model) -> ModuleType:
    return tensorgen.load(model.spec())


def both(name: str, ends: list[int], **given: Any) -> tuple[Any, Any, Any]:
    """The problem of a model, that over blocks, a point."""
    return over_rows(MODELS[name], ends, **given)


def over_rows(model: Model, ends: list[int], **given: Any) -> tuple[Any, Any, Any]:
    """The problem with all rows in the order of blocks, that over them, a point."""
    made, values = module(model), data(model, ROWS)
    if "row" in values:
        values["row"] = np.sort(values["row"])  # as blocks have entries
    taken = inspect.signature(made.FProblem).parameters
    known = {x: values[x] for x in taken}
    whole, starts = made.FProblem(**known), [0, *ends]
    blocks = [{x: v for x, v in own.items() if x in taken} for own in _cut(model, ends)]
    for own, start, stop in zip(blocks, starts, ends, strict=False):
        own["m"] = stop - start
    plain = {x: v for x, v in known.items() if x not in blocks[0]}
    wrt = model.wrt.strip("[]").split(", ")
    variables = {x: values[x] for x in wrt}
    over = made.FProblem.over(blocks, **plain, **given)
    v = whole.pack(**variables)
    assert np.array_equal(over.pack(**variables), v)
    return whole, over, v


def _cut(model: Model, ends: list[int]) -> list[dict[str, Any]]:
    values = data(model, ROWS)
    if "row" in values:
        values["row"] = np.sort(values["row"])
    return cut(model, values, ends)


@pytest.mark.parametrize("ends", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("name", CASES)
def test_blocks_give_what_all_rows_give(name: str, ends: list[int]) -> None:
    whole, over, v = both(name, ends)
    d = np.linspace(-1, 2, v.size)
    value, gradient = over.fun_and_grad(v)
    assert close(value, whole.value(v)) and close(gradient, whole.gradient(v))
    assert close(over.hvp(v, d), whole.hvp(v, d), 1e-11)
    assert close(over.hess(v) @ d, whole.hvp(v, d), 1e-11)


@pytest.mark.parametrize("name", CASES)
def test_whatever_maps_the_bits_are_the_same(name: str) -> None:
    _, over, v = both(name, CUTS["with empty ones"])
    with ThreadPoolExecutor(3) as pool:
        for over_threads in pool.map, executor_map(pool, together=2):
            _, other, _ = both(name, CUTS["with empty ones"], map=over_threads)
            assert other.fun(v) == over.fun(v)
            assert np.array_equal(other.grad(v), over.grad(v))
            assert np.array_equal(other.hvp(v, v), over.hvp(v, v))


@pytest.mark.parametrize(("name", "passes"), [("recommender", 1), ("shares", 2)])
def test_what_waits_for_no_total_is_given_beside_them(name: str, passes: int) -> None:
    count = 0

    def counted(function: Any, blocks: Any) -> Any:
        nonlocal count
        count += 1
        return map(function, blocks)

    _, over, v = both(name, CUTS["of seven"], map=counted)
    over.fun(v)  # counts rows, too
    count = 0
    over.fun_and_grad(v + 1)
    assert count == passes


def test_random_blocks_are_right_in_the_mean() -> None:
    whole, over, v = both("recommender", CUTS["of seven"])

    class Chosen:
        def __init__(self, place: int) -> None:
            self.place = place

        def choice(self, *_: Any, **__: Any) -> list[int]:
            return [self.place]

    found = [over.sample(Chosen(k), 1).fun_and_grad(v) for k in range(5)]
    assert close(np.mean([value for value, _ in found]), whole.value(v))
    assert close(np.mean([g for _, g in found], axis=0), whole.gradient(v))
    with pytest.raises(ValueError, match="several passes"):
        both("shares", CUTS["of seven"])[1].sample(np.random.default_rng(0))


def test_rows_that_no_block_has_are_refused() -> None:
    _, over, _ = both("recommender", CUTS["of seven"])
    with pytest.raises(ValueError, match="U: expected 29 rows, as blocks have, got 30"):
        over.pack(np.ones((30, 3)), np.ones((5, 3)))
