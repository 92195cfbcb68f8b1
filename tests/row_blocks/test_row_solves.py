"""Over blocks, Hessians are solved with as those of all rows at once."""

from __future__ import annotations

import importlib
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from threadpoolctl import threadpool_limits

import tensorgen
from tensorgen.engines import csr_rows, executor_map
from tests.row_blocks.models import Model
from tests.row_blocks.test_over_blocks import CUTS, close
from tests.row_blocks.test_sharded import MODELS, RATINGS, over_rows
from tests.sampled import left

EFFECTS = "w: [n], u: [m], X: [m, n], y: [m]"
SOLVED = {
    **{x: MODELS[x] for x in ("recommender", "effects", "columns", "entries")},
    "mean": Model(
        "t = X @ w + u",
        "mean(log(1 + exp(-y * t))) + mean(u**2) + w @ w",
        wrt="[w, u]",
        inputs=EFFECTS,
    ),
    "centred": Model(
        "mu[j] = mean(X[i, j], i); t = (X - mu) @ w + u",
        "sum(log(1 + exp(-y * t))) + sum(i * u[i]**2, i) + sum(u**2) + w @ w",
        wrt="[u, w]",
        inputs=EFFECTS,
    ),
    "several": Model(
        "r[e] = value[e] - s[e] * b[row[e]] - c[col[e]] - w[0]",
        "sum(r**2) + 9 * (sum(s**2) + sum(b**2) + sum(c**2) + sum(w**2))",
        wrt="[c, b, w, s]",
        inputs=f"c: [p], w: [n], b: [m], s: [E], {RATINGS}",
        blocks="{m: {E: row}}",
    ),
    "groups": Model(
        "t[e] = sum(X[e, j] * w[j], j) + sum(Z[e, a] * U[row[e], a], a)",
        "sum(log(1 + exp(-value * t))) + sum(U**2) + w @ w",
        wrt="[w, U]",
        inputs=f"w: [n], U: [m, k], X: [E, n], Z: [E, k], {RATINGS}",
        blocks="{m: {E: row}}",
    ),
}
# Rows that share a variable, after totals, and without one; entries with rows.
LAWS = "recommender", "centred", "entries", "several"
CASES = [pytest.param(x, id=x) if x in LAWS else left(x) for x in SOLVED]


def sides(size: int, count: int = 2) -> Any:
    return np.random.default_rng(1).normal(size=(size, count))


def solution(whole: Any, v: Any, b: Any, shift: float = 0.0) -> Any:
    matrix = whole.hessian(v).matrix
    return np.linalg.solve(matrix + shift * np.eye(len(matrix)), b)


def passes(over: Any) -> list[int]:
    """A list to which a pass over the blocks adds its number of them."""
    found, mapped = [], over._map

    def counted(function: Any, blocks: Any) -> Any:
        found.append(len(blocks))
        return mapped(function, blocks)

    over._map = counted
    return found


@pytest.mark.parametrize("ends", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("name", CASES)
def test_blocks_eliminate_their_rows(name: str, ends: list[int]) -> None:
    whole, over, v = over_rows(SOLVED[name], ends)
    b, hessian = sides(v.size), over.hess(v)
    assert close(hessian.solve(b), solution(whole, v, b))
    assert close(hessian.solve(b[:, 0]), solution(whole, v, b[:, 0]))
    assert close(hessian.solve(b, shift=5), solution(whole, v, b, 5))


@pytest.mark.parametrize("name", [x for x in LAWS if x != "entries"])
def test_many_other_entries_are_solved_for_by_products(name: str) -> None:
    whole, over, v = over_rows(SOLVED[name], CUTS["with empty ones"])
    b, hessian = sides(v.size), over.hess(v)
    hessian._dense = 2
    # So that the recommender has a minimum there.
    found = hessian.solve(b, shift=40, rtol=1e-14)
    assert close(found, solution(whole, v, b, 40))


@pytest.mark.parametrize(("name", "count"), [("effects", 2), ("columns", 1)])
def test_the_passes_are_as_few_as_they_can_be(name: str, count: int) -> None:
    _, over, v = over_rows(SOLVED[name], CUTS["of seven"])
    over.fun(v)  # counts rows, too
    found = passes(over)
    over.hess(v).solve(v)
    assert found == [5] * count


def test_large_blocks_go_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, over, v = over_rows(SOLVED["recommender"], CUTS["of seven"])
    rows = over.hess.__globals__["_OwnRows"]
    monkeypatch.setattr(rows, "complement", lambda own: own._by_columns(15))
    assert close(over.hess(v).solve(v), solution(whole, v, v))


def test_whatever_maps_the_bits_of_solutions_are_the_same() -> None:
    ends = CUTS["with empty ones"]
    _, over, v = over_rows(SOLVED["recommender"], ends)
    with ThreadPoolExecutor(3) as pool:
        for over_threads in pool.map, executor_map(pool, together=2):
            _, other, _ = over_rows(SOLVED["recommender"], ends, map=over_threads)
            assert np.array_equal(other.hess(v).solve(v), over.hess(v).solve(v))


def test_processes_find_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tensorgen.generate(SOLVED["effects"].spec())
    (tmp_path / "effects_of_rows.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    made, (_, over, v) = importlib.import_module("effects_of_rows"), solved_effects()
    with executor_map(partial(ProcessPoolExecutor, 2)) as over_processes:
        other = made.FProblem.over(over._blocks, map=over_processes)
        theirs = other.hess(v).solve(v)
    with threadpool_limits(1):  # as workers have
        assert np.array_equal(over.hess(v).solve(v), theirs)
    sys.modules.pop("effects_of_rows")


def solved_effects() -> tuple[Any, Any, Any]:
    return over_rows(SOLVED["effects"], CUTS["with empty ones"])


SINGULAR = "the Hessian is singular, or nearly so"
INDEFINITE = "the Hessian is not positive definite, as conjugate gradients need"


def test_rows_that_are_singular_are_named_with_their_block() -> None:
    model = SOLVED["effects"]._replace(expr="sum(log(1 + exp(-y * t))) + w @ w")
    whole, over, v = over_rows(model, CUTS["of seven"])
    v = v + np.where(np.arange(v.size) == 20, 1e3, 0)  # u[16], in block 2
    with pytest.raises(np.linalg.LinAlgError, match=SINGULAR):
        whole.hessian(v).solve(v)
    with pytest.raises(np.linalg.LinAlgError, match=SINGULAR) as caught:
        over.hess(v).solve(v)
    assert caught.value.__notes__ == ["in block 2"]


def test_what_is_left_need_not_be_definite_if_it_is_dense() -> None:
    model = SOLVED["effects"]._replace(expr="sum(t**2) + sum(u**2) - 99 * w[0]**2")
    whole, over, v = over_rows(model, CUTS["of seven"])
    hessian = over.hess(v)
    assert close(hessian.solve(v), solution(whole, v, v))
    hessian._dense = 0
    with pytest.raises(np.linalg.LinAlgError, match=INDEFINITE):
        hessian.solve(v)


@pytest.mark.parametrize("dense", [0, 1000])
def test_what_is_left_may_be_singular(dense: int) -> None:
    where = "t[i] = (w[0] + 2 * w[1]) * y[i] + u[i]"
    expr = "sum(t**2) + sum(u**2) + w[2]**2 + w[3]**2"
    model = SOLVED["effects"]._replace(where=where, expr=expr)
    whole, over, v = over_rows(model, CUTS["of seven"])
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        whole.hessian(v).solve(v)
    hessian = over.hess(v)
    hessian._dense = dense
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        hessian.solve(v)


def test_what_cancels_in_what_is_left_counts_as_lost() -> None:
    expr = "sum(t**2) + 1e-14 * sum(u**2) + 1e-14 * (w @ w)"
    whole, over, v = over_rows(SOLVED["effects"]._replace(expr=expr), CUTS["all"])
    for hessian in (whole.hessian(v), over.hess(v)):
        with pytest.raises(np.linalg.LinAlgError, match=SINGULAR):
            hessian.solve(v)


def test_no_right_hand_sides_have_no_solutions() -> None:
    _, over, v = over_rows(SOLVED["effects"], CUTS["of seven"])
    assert over.hess(v).solve(np.zeros((v.size, 0))).shape == (v.size, 0)


def test_the_rows_of_a_sample_are_not_all_that_are_asked_for() -> None:
    _, over, v = over_rows(SOLVED["recommender"], CUTS["of seven"])
    sample = over.sample(np.random.default_rng(0), 2)
    with pytest.raises(ValueError, match="solve: a sample lacks the rows of other"):
        sample.hess(v).solve(v)


@pytest.mark.parametrize("ends", [CUTS["of seven"], CUTS["with empty ones"]])
def test_rows_that_are_coupled_are_solved_for_by_products(ends: list[int]) -> None:
    model = Model(
        "t = u + X @ w",
        "logsumexp(t) + sum(u**2) + w @ w",
        wrt="[u, w]",
        inputs=EFFECTS,
    )
    whole, over, v = over_rows(model, ends)
    b = sides(v.size)
    assert close(over.hess(v).solve(b, 1, rtol=1e-14), solution(whole, v, b, 1))


GRAM = """tensorgen: 1
module: gram
blocks: m
inputs: {w: [n], X: {shape: [m, n], sparse: true}, y: [m]}
functions:
  loss:
    expr: sum(log(1 + exp(-y * (X @ w)))) + norm(w)**2
    wrt: w
    emit: [value, gradient, hessian, problem]
"""


@pytest.mark.parametrize("rows", [1, 7, 60])
def test_products_of_sparse_matrices_are_solved_with_by_products(rows: int) -> None:
    made, rng = tensorgen.load(GRAM), np.random.default_rng(0)
    X, n = rng.normal(size=(60, 40)) * np.exp(3 * rng.normal(size=40)), 40
    X = scipy.sparse.csr_matrix(np.where(rng.random(X.shape) < 0.2, X, 0))
    y, w, b = rng.normal(size=60), rng.normal(size=n) / 10, sides(n)
    whole, over = (
        made.LossProblem(X=X, y=y),
        made.LossProblem.over(csr_rows({"X": X, "y": y}, rows=rows)),
    )
    matrix, hessian = whole.hessian(w).matrix, over.hess(w)
    assert close(hessian @ b, matrix @ b)
    assert close(hessian._diagonal, np.diagonal(matrix))
    found = passes(over)
    assert close(hessian.solve(b[:, 0], rtol=1e-13), np.linalg.solve(matrix, b[:, 0]))
    assert len(found) < 30  # 35 without the diagonal
    assert close(hessian.solve(b, 1, rtol=1e-14), solution(whole, w, b, 1))
    with pytest.raises(np.linalg.LinAlgError, match=INDEFINITE):
        hessian.solve(b, shift=-5)
