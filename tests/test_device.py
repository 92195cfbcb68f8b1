"""Modules for CuPy agree with those for NumPy: on a device, and on the stand-in.

Each test runs twice. What is marked `gpu` needs a real CuPy and a CUDA device, and is
skipped where there is none; `make gpu` runs it. The same tests on the stand-in, which
is NumPy behind CuPy's interface, keep the modules right where there is no device.
"""

from __future__ import annotations

import ast
import importlib
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.calls import specs
from tests.device.agreement import Pair
from tests.device.cases import CASES, EDGES, NAMED, Case
from tests.device.library import execute, missing, stand_in
from tests.emitted_trees import escapes
from tests.sampled import sampled

Make = Callable[[Case], Pair]


@pytest.fixture(params=["stand-in", pytest.param("device", marks=pytest.mark.gpu)])
def cupy(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """CuPy on a device, and the stand-in for it."""
    if request.param == "device":
        if reason := missing():
            pytest.skip(f"{reason}; `make gpu` runs these where there is a device")
        yield importlib.import_module("cupy")
        return
    with stand_in() as module:
        yield module


def pair(case: Case, cupy: ModuleType, dtype: str = "float64") -> Pair:
    """The modules of a case, with the CuPy of this test."""
    numpys, cupys = case.sources()
    return Pair(case, execute(numpys), execute(cupys), cupy, dtype)


@specs(CASES)
def test_results_agree_with_numpys_and_are_on_the_device(
    case: Case, cupy: ModuleType
) -> None:
    both = pair(case, cupy)
    names = list(both.functions())
    assert names
    for name in names:
        both.same(*both.call(name), where=name)


@specs(sampled(CASES, 3))
def test_single_precision_stays_single(case: Case, cupy: ModuleType) -> None:
    both = pair(case, cupy, "float32")
    for name in both.functions():
        both.same(*both.call(name), where=name)


@specs(EDGES)
def test_axes_of_length_0_and_1_work_as_in_numpy(case: Case, cupy: ModuleType) -> None:
    both = pair(case, cupy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in both.functions():
            both.same(*both.call(name), where=name)


@specs(sampled(CASES, 3))
def test_arrays_on_the_host_are_refused(case: Case, cupy: ModuleType) -> None:
    both = pair(case, cupy)
    for name in both.functions():
        given = both.arguments(name)
        for wrong, value in given.items():
            if isinstance(value, np.ndarray):
                arguments = {key: both.on_device(a) for key, a in given.items()}
                with pytest.raises(TypeError, match=f"^{wrong}: .*CuPy array"):
                    getattr(both.theirs, name)(**arguments | {wrong: value})


@specs(sampled((case for case in CASES if not case.waits), 3))
def test_nothing_waits_for_the_device(case: Case, cupy: ModuleType) -> None:
    cupyx = importlib.import_module("cupyx")
    both = pair(case, cupy)
    for name in both.functions():
        if name.endswith("_solve"):
            continue  # its steps depend on how far the last one led
        both.call(name)  # compiles kernels
        given = {key: both.on_device(a) for key, a in both.arguments(name).items()}
        with warnings.catch_warnings():
            # What it misses is a reason for CuPy to drop it, not for us.
            warnings.filterwarnings("ignore", "cupyx.allow_synchronize")
            with cupyx.allow_synchronize(False):
                getattr(both.theirs, name)(**given)


@specs(sampled(CASES, 3))
def test_arguments_are_neither_written_to_nor_returned(
    case: Case, cupy: ModuleType
) -> None:
    both = pair(case, cupy)
    for name in both.functions():
        given = {key: both.on_device(a) for key, a in both.arguments(name).items()}
        result = getattr(both.theirs, name)(**given)
        places = {a.data.ptr for a in given.values() if isinstance(a, cupy.ndarray)}
        assert not places & {a.data.ptr for a in arrays(result, cupy) if a.size}, name
        for key, value in both.arguments(name).items():
            if isinstance(value, np.ndarray):
                assert np.array_equal(given[key].get(), value), (name, key)


def arrays(result: Any, cupy: ModuleType) -> Iterator[Any]:
    """The arrays of a result; what a derivative object holds may be shared."""
    if isinstance(result, cupy.ndarray):
        yield result
    elif isinstance(result, tuple):
        for part in result:
            yield from arrays(part, cupy)
    elif hasattr(result, "dense"):
        yield result.dense()


@pytest.mark.parametrize("name", ["problem", "problem of two inputs"])
def test_problems_work_on_flat_vectors_on_the_device(
    name: str, cupy: ModuleType
) -> None:
    both = pair(NAMED[name], cupy)
    data = {key: a for key, a in both.host.items() if key in ("X", "y", "lam")}
    point = {key: a for key, a in both.host.items() if key in ("w", "b")}
    ours = both.ours.LossProblem(**data)
    theirs = both.theirs.LossProblem(**{k: both.on_device(a) for k, a in data.items()})
    v = ours.pack(**point)
    x = theirs.pack(**{key: both.on_device(a) for key, a in point.items()})
    d, dx = np.cos(v), cupy.cos(x)
    both.same(v, x, "pack")
    both.same(ours.value(v), theirs.value(x), "value")
    both.same(ours.value_and_gradient(v), theirs.value_and_gradient(x), "both")
    both.same(ours.hvp(v, d), theirs.hvp(x, dx), "hvp")
    both.same(ours.hessian(v), theirs.hessian(x), "hessian")
    both.same(ours.unpack(v), theirs.unpack(x), "unpack")
    with pytest.raises(TypeError, match=r"CuPy array"):
        theirs.value(v)


def test_losses_of_a_thousand_neither_overflow_nor_lose_digits(
    cupy: ModuleType,
) -> None:
    both = pair(NAMED["problem"], cupy)
    both.host["X"] = 1e3 * np.sign(both.host["X"])
    both.host["w"] = np.sign(both.host["w"])
    for name in ("loss", "loss_grad", "loss_hess"):
        both.same(*both.call(name), where=name)


def test_one_singular_block_among_many_is_refused(cupy: ModuleType) -> None:
    both = pair(NAMED["blocks"], cupy)
    both.host["O"][2] = 0
    ours, theirs = both.call("masked_hess")
    b = np.ones(ours.shape[0])
    for hessian, right, error in [
        (ours, b, np.linalg.LinAlgError),
        (theirs, both.on_device(b), cupy.linalg.LinAlgError),
    ]:
        with pytest.raises(error):
            hessian.solve(right)
    solution = theirs.solve(both.on_device(b), shift=1.0)
    both.same(ours.solve(b, shift=1.0), solution, "solve", 1e-9)


@pytest.mark.parametrize(
    ("name", "zero"), [("diagonal", "c"), ("Kronecker product", "A"), ("problem", "X")]
)
def test_what_is_singular_is_refused(name: str, zero: str, cupy: ModuleType) -> None:
    both = pair(NAMED[name], cupy)
    for key in (zero, "x", "lam"):
        if key in both.host:
            both.host[key] = 0 * both.host[key]
    for hess in ("f_hess", "loss_hess"):
        if hess in both.functions():
            _, theirs = both.call(hess)
            with pytest.raises(cupy.linalg.LinAlgError):
                theirs.solve(cupy.ones(theirs.shape[0]))


def test_indices_out_of_range_are_refused(cupy: ModuleType) -> None:
    both = pair(NAMED["index arrays"], cupy)
    both.host["row"][3] = 7
    given = {key: both.on_device(a) for key, a in both.arguments("u").items()}
    with pytest.raises(ValueError, match=r"^row: expected indices from 0 to 6"):
        both.theirs.u(**given)


@specs(sampled(CASES, 3))
def test_modules_compute_only_and_name_what_they_import_where_used(case: Case) -> None:
    for source in case.sources():
        _, _, needs = source.partition("# Needs")
        told = needs.partition('\n"""')[0].replace("\n#", "")
        header = told.partition("used: ")[2].partition(". ")[0].split(", ")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import | ast.ImportFrom) and node.col_offset:
                module = getattr(node, "module", None)
                names = [alias.name for alias in node.names]
                paths = [module, *(f"{module}.{n}" for n in names)] if module else names
                assert set(paths) & set(header), (paths, header)
        assert escapes(source) == []


def test_a_hessian_is_a_linear_operator_of_cupyx(cupy: ModuleType) -> None:
    both = pair(NAMED["logistic_regression"], cupy)
    ours, theirs = both.call("loss_hess")
    v = np.ones(ours.shape[0])
    operator = theirs.as_linear_operator()
    assert operator.shape == ours.shape
    both.same(ours @ v, operator.matvec(both.on_device(v)), "matvec")
