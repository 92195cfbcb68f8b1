"""The stand-in differs from NumPy where CuPy does, as its source says."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.device.library import stand_in


@pytest.fixture
def cupy() -> Iterator[ModuleType]:
    with stand_in() as module:
        yield module


def counted(run: Callable[[], Any]) -> tuple[int, int]:
    """What is launched, and how often the host waits."""
    config = importlib.import_module("cupy._config")
    config.launched.clear()
    before = config.waits
    run()
    return config.launched.total(), config.waits - before


def test_places_out_of_range_are_wrapped(cupy: ModuleType) -> None:
    x, far = cupy.asarray(np.arange(4.0)), cupy.asarray(np.array([5, -1, 3]))
    assert x[far].get().tolist() == [1, 3, 3]
    assert cupy.take(x, far).get().tolist() == [1, 3, 3]
    x[far] = 9
    assert x.get().tolist() == [0, 9, 2, 9]
    cupy.add.at(x, far, 1.0)
    assert x.get().tolist() == [0, 10, 2, 11]
    A = cupy.asarray(np.arange(6.0).reshape(2, 3))
    rows, columns = cupy.asarray(np.array([3, 0])), cupy.asarray(np.array([1, 4]))
    assert A[rows, columns].get().tolist() == [4, 1]
    assert A[..., columns].get().tolist() == [[1, 1], [4, 4]]
    assert A[None, :, columns].shape == (1, 2, 2)


def test_of_places_that_come_twice_any_entry_may_stay(cupy: ModuleType) -> None:
    x, twice = cupy.zeros(3), cupy.asarray(np.array([1, 1, 2]))
    x[twice] = cupy.asarray(np.array([5.0, 7.0, 9.0]))
    assert x.get().tolist() == [0, 5, 9]  # 7 with NumPy
    x[twice] += 1
    assert x.get().tolist() == [0, 6, 10]


def test_parts_are_views_even_of_one_entry(cupy: ModuleType) -> None:
    x = cupy.zeros((2, 2))
    part = x[0, 1]
    part += 3
    assert x.get().tolist() == [[0, 3], [0, 0]]
    assert isinstance(x.sum(), cupy.ndarray) and x.sum().shape == ()
    assert isinstance(cupy.vdot(x[0], x[0]), cupy.ndarray)
    diagonal = x.diagonal()
    diagonal += 1
    assert x.get().tolist() == [[1, 3], [0, 1]]


def test_a_part_that_was_changed_is_not_stored_again(cupy: ModuleType) -> None:
    x = cupy.ones(3)

    def change(value: Any) -> None:
        x[1:] += value

    assert counted(lambda: change(1)) == (1, 0)
    assert counted(lambda: x.__setitem__(0, 1)) == (1, 0)
    assert x.get().tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("told", "launches", "waits"),
    [
        (lambda cp, x: cp.bincount(cp.asarray(np.array([1, 2])), minlength=4), 1, 1),
        (lambda cp, x: x[x > 0], 2, 1),
        (lambda cp, x: x.__setitem__(x > 0, 0), 2, 1),
        (lambda cp, x: cp.nonzero(x), 1, 1),
        (lambda cp, x: cp.linalg.lstsq(x[:, None], x, rcond=None), 1, 1),
        (lambda cp, x: float(x.sum()), 1, 1),
        (lambda cp, x: bool(x.sum()), 1, 1),
        (lambda cp, x: x.get(), 0, 1),
        (lambda cp, x: cp.empty(3), 0, 0),
        (lambda cp, x: cp.result_type(x, float), 0, 0),
        (lambda cp, x: cp.array(x), 1, 0),
        (lambda cp, x: x.reshape(1, -1)[0, ::-1].T, 0, 0),
        (lambda cp, x: cp.linalg.solve(cp.outer(x, x), x), 2, 0),
    ],
)
def test_what_launches_and_what_waits(
    told: Callable[[Any, Any], Any], launches: int, waits: int, cupy: ModuleType
) -> None:
    x = cupy.asarray(np.array([1.0, 2.0, 3.0]))
    assert counted(lambda: told(cupy, x)) == (launches, waits)


def test_singular_matrices_raise_only_where_the_host_waits_for_it(
    cupy: ModuleType,
) -> None:
    cupyx = importlib.import_module("cupyx")
    zero, b = cupy.zeros((2, 2)), cupy.ones(2)
    runs: list[Callable[[], Any]] = [
        lambda: cupy.linalg.solve(zero, b),
        lambda: cupy.linalg.inv(zero),
        lambda: cupy.linalg.cholesky(zero),
    ]
    for run in runs:
        assert counted(run)[1] == 0
        with cupyx.errstate(linalg="raise"), pytest.raises(cupy.linalg.LinAlgError):
            run()
    with cupyx.errstate(linalg="raise"):
        assert counted(lambda: cupy.linalg.inv(cupy.eye(2)))[1] == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda cp, x: cp.add(x, 1, where=x > 0),
        lambda cp, x: cp.sum(x, where=x > 0),
        lambda cp, x: cp.max(x, initial=0.0),
        lambda cp, x: x.sum(where=x > 0),
        lambda cp, x: cp.linalg.solve(x, out=x),
        lambda cp, x: cp.dot(x, np.ones(3)),
        lambda cp, x: x + np.ones(3),
    ],
)
def test_what_cupy_does_not_take_is_refused(
    call: Callable[[Any, Any], Any], cupy: ModuleType
) -> None:
    with pytest.raises(TypeError):
        call(cupy, cupy.ones(3))


def test_results_may_be_written_where_one_says(cupy: ModuleType) -> None:
    x, out = cupy.ones(3), cupy.zeros(3)
    assert cupy.add(x, 1, out=out) is out
    assert out.get().tolist() == [2, 2, 2]
