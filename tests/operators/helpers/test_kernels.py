"""Helpers that are kernels of CuPy's, or call some: they are what NumPy's are."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen.operators.helpers.helper_table import HELPERS, SUPREMUM
from tensorgen.operators.helpers.kernels import KERNELS
from tensorgen.operators.helpers.running import FILTERED, FILTERED_BY
from tensorgen.operators.helpers.shares import SHARES
from tests.device.library import execute, stand_in

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
AXES = pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), (0, 1, 2)])


@pytest.fixture
def helpers() -> Iterator[ModuleType]:
    texts = ["import math", "from typing import Any", "import cupy as cp"]
    texts += ["Array = Scalar = Any", SUPREMUM, FILTERED, FILTERED_BY]
    texts += KERNELS.values()
    with stand_in():
        yield execute(re.sub(r"\bnp\b", "cp", "\n".join(texts)))


def of_numpy(name: str) -> Any:
    space: dict[str, Any] = {"np": np, "Any": Any, "Array": Any, "Scalar": Any}
    names = [*SHARES, "_norm", "_supremum", "_finite", "_nonzero"]
    exec("\n".join(HELPERS[x] for x in names), space)
    return space[name]


def cupy() -> Any:
    return importlib.import_module("cupy")


def launched() -> int:
    counts = importlib.import_module("cupy._config").launched
    total: int = counts.total()
    counts.clear()
    return total


@AXES
@DTYPES
def test_softmax_and_its_logarithms_are_three_launches(
    axis: Any, dtype: str, helpers: ModuleType
) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4, 2)).astype(dtype)
    given = cupy().asarray(x)
    for name in SHARES:
        launched()
        found = getattr(helpers, name)(given, axis=axis)
        several = name.count("_and_") + 1
        rows = "logsumexp" in name
        assert launched() == 3 + (rows and several > 1)
        want = of_numpy(name)(x, axis=axis)
        pairs = zip(found, want, strict=True) if several > 1 else [(found, want)]
        for got, expected in pairs:
            assert got.get().dtype == dtype and got.shape == expected.shape
            near = 10 * float(np.finfo(dtype).eps)
            np.testing.assert_allclose(got.get(), expected, rtol=near, atol=near)


@DTYPES
def test_those_that_guard_take_what_is_infinite_or_empty(
    dtype: str, helpers: ModuleType
) -> None:
    rows = [[np.inf, 1], [-np.inf, -np.inf], [-np.inf, 2], [np.nan, 0]]
    for x in (np.array(rows, dtype), np.zeros((4, 0), dtype)):
        for name in (x for x in SHARES if x.startswith("_guarded")):
            found = getattr(helpers, name)(cupy().asarray(x), axis=1)
            with np.errstate(all="ignore"):
                want = of_numpy(name)(x, axis=1)
            pairs = (
                zip(found, want, strict=True) if "_and_" in name else [(found, want)]
            )
            for got, expected in pairs:
                np.testing.assert_allclose(got.get(), expected, rtol=1e-6)


def test_the_largest_of_no_entries_is_an_error_as_it_is_for_numpy(
    helpers: ModuleType,
) -> None:
    with pytest.raises(ValueError, match="no identity"):
        helpers._softmax(cupy().zeros((3, 0)), axis=1)


@AXES
@DTYPES
def test_a_norm_is_three_launches_whatever_the_size_of_entries(
    axis: Any, dtype: str, helpers: ModuleType
) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4, 2)).astype(dtype)
    limits = np.finfo(dtype)
    sizes = (1, limits.tiny, np.sqrt(limits.tiny), np.sqrt(limits.max), limits.max / 64)
    special = [x.copy() for _ in range(2)]
    special[0][0, 0, 0], special[1][0, 0, 0] = np.inf, np.nan
    for one in (
        *((x * size).astype(dtype) for size in (*sizes, 0)),
        *special,
        x[:, :0],
    ):
        launched()
        found = helpers._norm(cupy().asarray(one), axis=axis).get()
        assert launched() == 3
        with np.errstate(all="ignore"):
            want = of_numpy("_norm")(one, axis=axis)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, want, rtol=8 * float(limits.eps))


@pytest.mark.parametrize("last", [None, ("T s, T k", "T y", "y = s / k;")])
def test_what_many_entries_are_added_up_to_is_computed_first(
    last: Any, helpers: ModuleType
) -> None:
    """CuPy would have a single multiprocessor compute them."""
    squares = helpers._Sums("T x, bool m", "T y", "y = m ? x * x : 0;", "s", after=last)
    number = [] if last is None else [4]
    x = np.random.default_rng(0).normal(size=(3, 2**13 + 1))
    mask = x[:1] > 0
    want = np.where(mask, x**2, 0) / (4 if last else 1)
    for axis, kept, count in [
        (0, False, 1),
        (0, True, 1),
        (1, False, 2),
        (None, True, 2),
    ]:
        launched()
        given = cupy().asarray(x), cupy().asarray(mask)
        found = squares(*given, *number, axis=axis, keepdims=kept).get()
        assert launched() == count + (count > 1 and last is not None)
        np.testing.assert_allclose(found, want.sum(axis=axis, keepdims=kept))
    assert squares(cupy().zeros((0, 2)), True, *number, axis=1).shape == (0,)
    assert squares(cupy().zeros((0, 2)), True, *number).get() == 0


@DTYPES
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("rows", [(), (2,)])
@pytest.mark.parametrize(
    ("count", "sweeps"), [(1, 1), (2, 1), (7, 1), (8, 1), (9, 2), (64, 2), (200, 3)]
)
def test_a_sweep_of_a_filter_is_a_launch_for_eight_terms(
    count: int,
    sweeps: int,
    dtype: str,
    back: bool,
    rows: tuple[int, ...],
    helpers: ModuleType,
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, *rows)).astype(dtype)
    gains = rng.uniform(-1, 1, size=(count - 1, *rows)).astype(dtype)
    given = cupy().asarray(x), cupy().asarray(gains)
    launched()
    same = helpers._filtered(given[0], 0.5, back)
    assert launched() == sweeps
    by = helpers._filtered_by(*given, back)
    assert launched() == sweeps
    assert same.data.ptr != given[0].data.ptr != by.data.ptr
    for found, by_step in ((same, np.full_like(gains, 0.5)), (by, gains)):
        want = x[::-1].copy() if back else x.copy()
        by_step = by_step[::-1] if back else by_step
        for t in range(count - 1):
            want[t + 1] += by_step[t] * want[t]
        want = want[::-1] if back else want
        assert found.get().dtype == dtype
        np.testing.assert_allclose(found.get(), want, rtol=1e-4, atol=1e-5)
