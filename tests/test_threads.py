"""Generated modules and what they make are safe to call from several threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests import made
from tests.calls import Loaded, problems, same, solved, specs
from tests.device.cases import NAMED, Case
from tests.solving_specs import SPEC, WAYS, hessians, inputs

THREADS = 8


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """Switch between threads as often as the interpreter can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def at_once(work: Callable[[int], None], times: int) -> None:
    """Call `work` with numbers from all threads, and raise what any of them raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        try:
            start.wait()
            for k in range(times):
                work(number + k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def check_problem(problem: Any, v: Any) -> None:
    """Call the methods of a problem at several points, all threads at once."""
    points = [v + k / 10 for k in range(THREADS)]
    methods = ["value", "gradient", "value_and_gradient"]
    methods = [name for name in methods if hasattr(problem, name)]

    def everything(point: Any) -> list[Any]:
        found = [getattr(problem, name)(point) for name in methods]
        if hasattr(problem, "hvp"):
            found.append(problem.hvp(point, v))
        for name in ("hessian", "jacobian"):
            if hasattr(problem, name):
                found.append(getattr(problem, name)(point) @ v)
        return found

    wanted = [everything(point) for point in points]

    def work(number: int) -> None:
        same(wanted[number % THREADS], everything(points[number % THREADS]))

    at_once(work, 10)


def check_hessian(hessian: Any) -> None:
    """Call the methods of a Hessian and of one factorization, all threads at once."""
    b = np.cos(np.arange(1.0 * hessian.shape[0]))
    factorization = hessian.factorize(99.0)
    wanted = hessian @ b, solved(hessian.factorize(99.0), b)

    def work(number: int) -> None:
        same(wanted, (hessian @ b, solved(factorization, b)))

    at_once(work, 4)


PROBLEMS = ("gaussian_mixture", "problem", "problem of two inputs")


@specs([NAMED[name] for name in PROBLEMS])
def test_threads_share_a_problem(case: Case) -> None:
    loaded = Loaded(case)
    for _, problem, v in problems(loaded.module, loaded.inputs):
        check_problem(problem, v)


@pytest.mark.parametrize("name", WAYS)
def test_threads_share_an_object_and_what_it_was_factorised_into(name: str) -> None:
    check_hessian(hessians(made.load(SPEC), inputs(), [name])[name])
