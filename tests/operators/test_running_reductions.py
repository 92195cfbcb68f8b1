"""Extremes and products over prefixes: one walk, equals share equally."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.operators.references.rows import OPERATORS
from tests.device.library import execute, stand_in

Array = Any

REDUCED = """
tensorgen: 1
inputs: {x: [n], w: [n], X: [n, m], W: [n, m]}
functions:
  largest:
    expr: sum(w[i] * max(exp(x[j])*x[j], j=range(i + 1))**2, i)
    wrt: x
    emit: [value, gradient, hessian, hvp]
  smallest:
    expr: sum(w[i] * min(x[j], j=range(i, n))**2, i)
    wrt: x
    emit: [value, gradient, hvp]
  columns:
    expr: sum(W[i, k] * max(X[j, k], j=range(i + 1))**2, i, k)
    wrt: X
    emit: [value, gradient, hvp]
  rows:
    expr: sum(w[i] * max(X[j, k], k, j, j <= i)**2, i)
    wrt: X
    emit: [value, gradient, hvp]
  times:
    expr: sum(w[i] * prod(x[j], j=range(i + 1)), i)
    wrt: x
    emit: [value, gradient, hvp]
"""
REDUCED_BY_HAND: dict[str, tuple[str, Callable[..., Array]]] = {
    "largest": ("xw", lambda x, w: w @ _tops(np.exp(x) * x) ** 2),
    "smallest": ("xw", lambda x, w: w @ _tops(-x[::-1])[::-1] ** 2),
    "columns": ("XW", lambda X, W: np.vdot(W, _tops(X) ** 2)),
    "rows": ("Xw", lambda X, w: w @ _tops(X.max(axis=1)) ** 2),
    "times": ("xw", lambda x, w: w @ np.cumprod(x)),
}


def _tops(x: Array) -> Array:
    return np.maximum.accumulate(x, axis=0)


@pytest.fixture(scope="module")
def reduced() -> Any:
    return tensorgen.load(REDUCED)


@pytest.mark.parametrize("name", REDUCED_BY_HAND)
def test_prefixes_are_reduced_in_one_walk(name: str, reduced: Any) -> None:
    arguments, hand = REDUCED_BY_HAND[name]
    rng = np.random.default_rng(0)
    arrays = (*rng.normal(size=(2, 7)), *rng.normal(size=(2, 7, 3)))
    every = dict(zip("xwXW", arrays, strict=True))
    if name == "times":
        every["x"][[2, 5]] = 0
    given = {k: every[k] for k in arguments}
    v, weights = given.values()
    step, along = 1e-6, rng.normal(size=v.shape)
    np.testing.assert_allclose(getattr(reduced, name)(**given), hand(v, weights))

    def gradient(at: Array) -> Array:
        return getattr(reduced, f"{name}_grad")(**{**given, arguments[0]: at})

    slope = (hand(v + step * along, weights) - hand(v - step * along, weights)) / 2
    np.testing.assert_allclose(np.vdot(gradient(v), along), slope / step, atol=1e-7)
    hvp = getattr(reduced, f"{name}_hvp")(**given, **{f"d{arguments[0]}": along})
    turn = (gradient(v + step * along) - gradient(v - step * along)) / (2 * step)
    np.testing.assert_allclose(hvp, turn, atol=1e-7)
    if name == "largest":
        hessian = reduced.largest_hess(**given)
        np.testing.assert_allclose(hessian @ along, hvp)


def shares(x: Array) -> Array:
    """What each entry of a vector has in the largest so far, one prefix a row."""
    rows = [(x == x[: i + 1].max()) & (np.arange(len(x)) <= i) for i in range(len(x))]
    return np.array([row / row.sum() for row in rows])


TIED = np.array([[2, 2, 1, 2, 3, 0, 3, 3, 3.0], [-1, -1, -1, 4, 4, 4, 5, 5, 1]])


@pytest.mark.parametrize("x", [*TIED, np.zeros(9), -np.arange(9.0)])
@pytest.mark.parametrize("spelled", ["max(x[j], j={j})", "min(x[j], j={j})"])
@pytest.mark.parametrize("suffix", [False, True])
def test_equals_share_equally_in_the_extremes_of_each_prefix(
    x: Array, spelled: str, suffix: bool
) -> None:
    module, sign = tied(spelled, suffix)
    order = slice(None, None, -1 if suffix else 1)
    slopes = shares(sign * x[order])[order, order]
    rng = np.random.default_rng(1)
    w, along = rng.normal(size=(2, 9))
    top = slopes @ x
    near: Any = {"rtol": 1e-13, "atol": 1e-13}
    np.testing.assert_allclose(module.f(x, w), w @ top**2, **near)
    np.testing.assert_allclose(module.f_grad(x, w), 2 * w * top @ slopes, **near)
    np.testing.assert_allclose(
        module.f_jvp(x, w, along)[1], 2 * w * top @ slopes @ along, **near
    )
    hessian = 2 * slopes.T @ (w[:, None] * slopes)
    np.testing.assert_allclose(module.f_hvp(x, w, along), hessian @ along, **near)
    np.testing.assert_allclose(module.f_hess(x, w).dense(), hessian, **near)
    np.testing.assert_allclose(module.tops_jac(x), slopes, **near)


@cache
def tied(spelled: str, suffix: bool) -> tuple[Any, int]:
    """A module with the largest or smallest entries so far, and 1 or -1."""
    sign = 1 if "max" in spelled else -1
    top = spelled.format(j="range(i, n)" if suffix else "range(i + 1)")
    return (
        tensorgen.load(f"""
tensorgen: 1
inputs: {{x: [n], w: [n]}}
functions:
  f:
    expr: sum(w[i] * {top}**2, i)
    wrt: x
    emit: [value, gradient, hessian, hvp, jvp]
  tops:
    where: "m[i=range(n)] = {top}"
    expr: m
    wrt: x
    emit: [jacobian]
"""),
        sign,
    )


def test_equals_share_in_columns_of_their_own(reduced: Any) -> None:
    x, w = np.stack([*TIED, np.zeros(9)], axis=1), np.ones((9, 3))
    slopes = [shares(column) for column in x.T]
    wanted = [2 * (s @ column) @ s for s, column in zip(slopes, x.T, strict=True)]
    np.testing.assert_allclose(reduced.columns_grad(x, w), np.transpose(wanted))
    turn = reduced.columns_hvp(x, w, w)
    sums = [2 * s.T @ (s @ np.ones(9)) for s in slopes]
    np.testing.assert_allclose(turn, np.transpose(sums))


def test_extremes_carry_all_columns_of_a_matrix_in_one_walk() -> None:
    spec = """
tensorgen: 1
inputs: {b: [k], X: [n, k], d: [n]}
functions:
  f:
    expr: sum(d[i] * max(X[j] @ b, j=range(i + 1))**2, i)
    wrt: b
    emit: [hessian]
"""
    source = tensorgen.generate(spec)
    body = source[source.index("def f_hess(") : source.index("def _running_max")]
    statements = body.split('"""')[2]
    # The other side reads what one walk made.
    assert "_tied_mean(" in statements and "_tied_share(" not in statements
    assert "np.tri" not in statements
    X = np.array([[1, 0], [1, 1], [0, 1], [2, 1], [1, 2], [1, 2.0]])
    b, d = np.ones(2), np.arange(1.0, 7)
    means = shares(X @ b) @ X
    hessian = tensorgen.load(spec).f_hess(b, X, d).dense()
    np.testing.assert_allclose(hessian, 2 * means.T @ (d[:, None] * means))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["tied_mean", "tied_share"])
def test_walks_over_ties_take_axes_in_front_and_behind(name: str, dtype: Any) -> None:
    module, _ = tied("max(x[j], j={j})", False)
    rng = np.random.default_rng(5)
    for own, axis in (((4, 1, 7), 2), ((7, 3, 1), 0), ((2, 7, 3, 1, 1), 1)):
        x = rng.integers(0, 3, size=own).astype(dtype)
        whole = tuple(5 if size == 1 else size for size in own)
        v = rng.normal(size=(2, *whole)).astype(dtype)
        top = np.maximum.accumulate(x, axis=axis)
        found = module.f_jvp.__globals__[f"_{name}"](x, top, v, axis=axis + 1)
        assert found.dtype == dtype
        wanted = OPERATORS[name](x, top, v, along=(axis + 1,))
        np.testing.assert_allclose(found, wanted, atol=20 * np.finfo(dtype).eps)


def test_a_reduction_of_prefixes_makes_no_table(reduced: Any) -> None:
    n = 20_000  # a table would take 3 GB
    x, w = np.ones(n), np.ones(n)
    for name in ("largest", "smallest", "times"):
        assert getattr(reduced, f"{name}_grad")(x=x, w=w).shape == (n,)
    counts = np.arange(n, 0, -1)  # j shares with i others from j on
    wanted = 2 * np.cumsum(1 / counts)[::-1]
    np.testing.assert_allclose(reduced.smallest_grad(x=x, w=w), wanted[::-1])


def test_cupy_reduces_prefixes_as_numpy_does(reduced: Any) -> None:
    w = np.random.default_rng(0).normal(size=9)
    with stand_in() as cupy:
        other = execute(tensorgen.generate(REDUCED, backend="cupy"))
        for x in (w[::-1], *TIED):
            for name in ("largest", "smallest"):
                given = [cupy.asarray(one) for one in (x, w)]
                found = getattr(other, f"{name}_grad")(*given)
                wanted = getattr(reduced, f"{name}_grad")(x, w)
                np.testing.assert_allclose(cupy.asnumpy(found), wanted)


def test_nothing_is_larger_than_nan_so_far() -> None:
    module, _ = tied("max(x[j], j={j})", False)
    x = np.array([1.0, 1.0, 3.0, np.nan, 9.0, np.nan])
    top = module.f_jvp.__globals__["_running_max"](x)
    mean, share = (module.f_jvp.__globals__[f"_tied_{k}"] for k in ("mean", "share"))
    v = np.arange(6.0)
    assert mean(x, top, v).tolist() == [0, 0.5, 2, 3, 3, 3]
    assert share(x, top, v).tolist() == [0.5, 0.5, 2, 12, 0, 0]


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (1,)])
def test_prefixes_of_nothing_have_tangents(shape: tuple[int, ...]) -> None:
    module, _ = tied("max(x[j], j={j})", False)
    x, rows = np.zeros(shape), np.ones((4, *shape))
    for name in ("_tied_mean", "_tied_share"):
        found = module.f_jvp.__globals__[name](x, x, rows, axis=rows.ndim - 1)
        np.testing.assert_array_equal(found, rows)
