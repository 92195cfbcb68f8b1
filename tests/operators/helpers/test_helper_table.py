"""The helpers of generated modules: their values, and that they keep the dtype."""

from __future__ import annotations

import math
import re
import tracemalloc
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pytest

from tensorgen.emit.external_imports import CHECK
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, delta, indicator
from tensorgen.operators.calls import OPERATORS as CALLS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.helpers.helper_table import HELPERS, SUPREMUM
from tensorgen.operators.helpers.logistic import LOGISTIC
from tensorgen.operators.helpers.shares import SHARES
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tests.lower.support import as_text
from tests.sampled import left

Array = Any

# What each helper is written for: a row of the table, by the start of its template.
ROWS = {
    row.numpy.partition("(")[0]: row
    for row in ELEMENTWISE.values()
    if row.numpy.startswith("_")
}


@cache
def helpers() -> dict[str, Any]:
    """Return all helpers as functions of NumPy arrays; some call others."""
    space: dict[str, Any] = {"np": np, "math": math, "lru_cache": lru_cache}
    space |= {"Array": Any, "ArrayLike": Any, "Callable": Callable}
    exec("\n".join(HELPERS.values()), space)
    return space


def helper(name: str) -> Any:
    """Return a helper as a function of NumPy arrays."""
    return helpers()[name]


def test_every_helper_is_used_by_a_row_or_by_lowering() -> None:
    templates = [row.numpy for row in ELEMENTWISE.values()]
    templates += [row.numpy for row in CALLS.values()]
    used = {text.partition("(")[0] for text in templates if text.startswith("_")}
    graph = Graph()
    x, row = graph.input("x", ["n", "k"]), graph.input("row", ["n"], index=Dim.of("m"))
    entry = Lookup(row, ("n",))
    sums, of_numbers = (
        graph.product(
            "m" + labels[1:],
            [(one, labels)],
            constraints=[delta({"m": 1, entry: -1})],
            sizes={"m": Dim.of("m")},
        )
        for one, labels in ((x, "nk"), (graph.input("u", ["n"]), "n"))
    )
    v, w = graph.input("v", ["p"]), graph.input("w", ["k"])
    sizes = {"i": Dim.of("p") - Dim.of("k") + 1}
    tie = delta({"p": 1, "i": -1, "k": -1})
    windows = graph.product("i", [(v, "p"), (w, "k")], constraints=[tie], sizes=sizes)
    K = graph.input("K", ["n", "n"], ["spd"])
    inverse, logdet = (
        graph.call(name, [K], dims) for name, dims in (("inv", K.dims), ("logdet", ()))
    )
    solved = graph.einsum("ij,jk->ik", inverse, x)
    moving = graph.product(
        "i",
        [(x, "nk")],
        constraints=[indicator({"n": 1, "i": -1}), indicator({"i": 1, "n": -1}, 2)],
        sizes={"i": Dim.of("n")},
    )
    roots = [sums, of_numbers, windows, solved, logdet, moving]
    facts, counted = [sizes["i"]], {"m": ["row"]}
    used.update(as_text(graph, roots, facts=facts, counted=counted).helpers)
    used.add(CHECK)  # of what functions from outside return
    used |= {*LOGISTIC, *SHARES}  # of what `arrays/bundle.py` finds together
    used.add("_blocks")  # of loops that `arrays/block_loops.py` makes
    used.add("_joined_exp_sums")  # of totals that `emit/returned.py` joins
    assert sorted(with_those_they_call(used)) == sorted(HELPERS)


def with_those_they_call(names: set[str]) -> set[str]:
    called = {
        other
        for name in names
        for other in HELPERS
        if name in HELPERS and re.search(rf"\b{other}\(", HELPERS[name])
    }
    return names if called <= names else with_those_they_call(names | called)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_helper_has_the_value_of_its_row(name: str) -> None:
    row = ROWS[name]
    points = np.array(row.sample + row.extreme)
    args = [points, points[::-1], points][: row.arity]
    # What nothing is differentiated by is an order.
    pairs = zip(args, row.partials, strict=True)
    args = [x if slope else np.ones_like(x) for x, slope in pairs]
    if row.arity == 3 and "between" in row.name:
        args[0] = args[1] + args[2]  # the last is the difference of the others
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[row.name](*args)
        found = helper(name)(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_helper_keeps_the_dtype(
    name: str, dtype: str, shape: tuple[int, ...]
) -> None:
    x = np.full(shape, 0.5, dtype=dtype)[()]
    found = helper(name)(*[x] * ROWS[name].arity)
    assert np.asarray(found).dtype == np.dtype(dtype)
    assert np.shape(found) == shape


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_norm_is_that_of_its_entries_whatever_their_size(
    axis: Any, dtype: str
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4, 2)).astype(dtype)
    limits = np.finfo(dtype)
    sizes = (1, limits.tiny, np.sqrt(limits.tiny), np.sqrt(limits.max), limits.max / 64)
    for size in (*sizes, np.array(sizes[:4])[:, None], 0):
        scaled = (x * size).astype(dtype)
        wide = scaled.astype(np.longdouble)
        expected = np.sqrt((wide**2).sum(axis=axis))
        with np.errstate(all="raise", under="ignore"):
            found = helper("_norm")(scaled, axis=axis)
        np.testing.assert_allclose(
            found, expected.astype(dtype), rtol=8 * float(limits.eps)
        )
        assert found.dtype == np.dtype(dtype)
    x[0, 0, 0] = np.inf
    assert np.isinf(helper("_norm")(x, axis=axis)).any()
    x[0, 0, 0] = np.nan
    assert np.isnan(helper("_norm")(x, axis=axis)).any()
    none = x[:, :0]
    expected = np.sqrt((none**2).sum(axis=axis))
    np.testing.assert_array_equal(helper("_norm")(none, axis=axis), expected)


@pytest.mark.parametrize(
    "text", [HELPERS["_supremum"], SUPREMUM], ids=["numpy", "cupy"]
)
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
@pytest.mark.parametrize("shape", [(3, 4, 2), (3, 0, 2), (0, 4, 2), (0, 0, 0)])
def test_the_largest_of_no_entries_is_impossible(
    text: str, axis: Any, shape: tuple[int, ...]
) -> None:
    space: dict[str, Any] = {"np": np, "Any": Any, "Array": Any, "Scalar": Any}
    exec(text, space)
    for dtype in ("float32", "float64"):
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        found = space["_supremum"](x, axis=axis)
        np.testing.assert_array_equal(found, np.max(x, axis=axis, initial=-np.inf))
        assert found.dtype == np.dtype(dtype)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_product_of_the_others_is_exact_and_keeps_the_dtype(
    axis: Any, dtype: str
) -> None:
    x = np.array([[2.0, 0.0, 5.0], [1.0, 4.0, 3.0], [0.0, 0.0, 2.0]], dtype=dtype)
    found = helper("_prod_others")(x, axis=axis)
    axes = (0, 1) if axis is None else np.atleast_1d(axis)
    expected = OPERATORS["prod_others"](x, axes=tuple(axes))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.dtype(dtype)


def test_helpers_give_zero_where_a_limit_is_zero() -> None:
    zero = np.zeros(2)
    np.testing.assert_array_equal(helper("_inverse")(zero), zero)
    np.testing.assert_array_equal(helper("_xlogy")(zero, zero), zero)


@pytest.mark.parametrize("sizes", [(9, 3), (3, 3), (2, 3), (0, 1), (5, 3), (0, 0)])
@pytest.mark.parametrize("ends", [(0, 0), (2, 1), (0, 5)])
def test_a_correlation_sums_products(
    sizes: tuple[int, int], ends: tuple[int, int]
) -> None:
    x, w = (np.random.default_rng(0).normal(size=k).astype("f4") for k in sizes)
    found = helper("_correlate")(x, w, *ends)
    whole = np.pad(x, ends)
    count = max(len(whole) - len(w) + 1, 0)
    expected = [whole[k : k + len(w)] @ w for k in range(count)]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("ends", [(0, 0), (3, 0), (2, 5), (3, 3), (30, 1)])
@pytest.mark.parametrize("length", [0, 1, left(2), left(6), 7, left(9), 20])
def test_a_moving_sum_adds_neighbours(
    length: int, ends: tuple[int, int], axis: int | None
) -> None:
    x = np.random.default_rng(length).normal(size=(9, 8)).astype(np.float32)
    x[4, 4] = np.inf
    if axis is None:
        x, axis = x[4], 0
    found = helper("_moving_sum")(x, length, *ends, axis=axis)
    rows = np.pad(np.moveaxis(x, axis, 0), (ends, *[(0, 0)] * (x.ndim - 1)))
    count = max(len(rows) - length + 1, 0)
    expected = [rows[k : k + length].sum(axis=0) for k in range(count)]
    assert found.dtype == np.float32
    whole = np.reshape(expected, (count, *rows.shape[1:]))
    np.testing.assert_allclose(np.moveaxis(found, axis, 0), whole, atol=1e-5)


@pytest.mark.parametrize("ends", [(0, 0), (6, 6), (3, 3)])
def test_a_short_moving_sum_of_a_vector_makes_nothing_but_its_result(
    ends: tuple[int, int],
) -> None:
    x, moving_sum = np.ones(10_000), helper("_moving_sum")
    tracemalloc.start()
    moving_sum(x, 7, *ends)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * x.nbytes


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("size", [0, 1, 5, 64, 65, 200])
@pytest.mark.parametrize("right", ["vector", "column", "matrix", "stack"])
def test_a_cholesky_factor_solves(size: int, right: str, dtype: Any) -> None:
    rng = np.random.default_rng(size)
    lead = (2,) if right == "stack" else ()
    root = rng.normal(size=(*lead, size, size)) / np.sqrt(size + 1)
    A = root @ root.swapaxes(-1, -2) + np.eye(size)
    columns = {"vector": (), "column": (1,), "matrix": (3,), "stack": (3,)}[right]
    b = rng.normal(size=(*lead, size, *columns)).astype(dtype)
    given = b.copy()
    x = helper("_cholesky_solve")(np.linalg.cholesky(A).astype(dtype), b)
    assert x.shape == b.shape and x.dtype == dtype and not np.shares_memory(x, b)
    tolerance = 1e-12 if dtype is float else 1e-5
    np.testing.assert_allclose(x, np.linalg.solve(A, b), atol=tolerance)
    np.testing.assert_array_equal(b, given)


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize(
    "shape", [(0, 0), (1, 1), (5, 5), (65, 65), (200, 200), (3, 2, 2)]
)
def test_a_cholesky_factor_gives_the_inverse(shape: Any, dtype: Any) -> None:
    root = np.random.default_rng(1).normal(size=shape) / np.sqrt(shape[-1] + 1)
    A = root @ root.swapaxes(-1, -2) + np.eye(shape[-1])
    factor = np.linalg.cholesky(A).astype(dtype)
    found = helper("_cholesky_inverse")(factor)
    assert found.dtype == dtype
    tolerance = 1e-12 if dtype is float else 1e-5
    np.testing.assert_allclose(found, np.linalg.inv(A), atol=tolerance)
    np.testing.assert_allclose(found, found.swapaxes(-1, -2), atol=tolerance)


def test_a_rising_logarithm_is_replaced_only_by_what_has_more_digits() -> None:
    x = np.linspace(1.05, 1.95, 19)
    found = helper("_lrising")(x, np.ones_like(x))
    np.testing.assert_allclose(found, np.log(x), rtol=0, atol=4e-16)


def test_a_slope_of_mills_ratio_takes_one_evaluation_of_it() -> None:
    x = np.array([-1e9, -1000.0, -4.5, -4.0, 0.0, 5.0, 38.0, 1e9, np.inf])
    mills, gap = (helper(f"_{name}")(x) for name in ("inverse_mills", "mills_gap"))
    with np.errstate(invalid="ignore"):
        product = np.where(x < np.inf, mills * gap, 0)
    fall = helper("_mills_fall")(x)
    np.testing.assert_allclose(fall, product, rtol=4e-15)
    assert np.all((fall >= 0) & (fall <= 1))
    assert "_inverse_mills(" in HELPERS["_mills_fall"]
    assert "_mills_gap(" not in HELPERS["_mills_fall"]
