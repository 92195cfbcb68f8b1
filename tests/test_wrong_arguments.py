"""Each argument wrong in each way: the error names it, and what was expected."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests import made
from tests.calls import Loaded, specs
from tests.device.cases import CASES, Case
from tests.device.library import execute, stand_in
from tests.sampled import sampled
from tests.solving_specs import SPEC, hessians, inputs


def ragged(array: Any) -> list[Any]:
    return [np.ones(2), np.ones(3), *np.ravel(array).tolist()]


def wrong_values(array: Any) -> Iterator[tuple[type[Exception], Any]]:
    """What no argument may be, made of a right one."""
    array = np.asarray(array)
    single = np.ones((), "complex64")
    for dtype in ("complex128", "object", "M8[s]", "m8[s]", "S3", "U3"):
        yield TypeError, np.zeros(array.shape, dtype)
    yield TypeError, array * single
    yield TypeError, np.ma.masked_array(array, mask=np.zeros(array.shape, bool))
    yield TypeError, ragged(array)
    yield from ((TypeError, value) for value in (None, "1", object(), {"a": 1}, 1j))
    yield ValueError, array[None]
    if array.ndim:
        yield ValueError, array[..., 0]


def wrong_numbers(array: Any) -> Iterator[tuple[type[Exception], Any]]:
    """What real numbers are not."""
    for dtype in (np.float16, np.longdouble):
        yield TypeError, np.asarray(array, dtype)


def wrong_indices(array: Any) -> Iterator[tuple[type[Exception], Any]]:
    """What indices are not."""
    array = np.asarray(array)
    yield TypeError, array.astype(float)
    yield TypeError, np.full(array.shape, np.nan)
    yield TypeError, array > 0
    for outside in (-1, 10**6):
        changed = array.copy()
        changed[(0,) * array.ndim] = outside
        yield ValueError, changed


def replaced(function: Any, given: dict[str, Any], name: str, value: Any) -> Any:
    """Call a function with another value of one argument."""
    return function(**given | {name: value})


def refused(kind: type[Exception], name: str, call: Any, value: Any) -> None:
    """Require an error that names an argument and says what was expected."""
    with pytest.raises(kind) as caught:
        call(value)
    text = str(caught.value)
    assert text.startswith(f"{name}: expected "), (value, text)


@specs(sampled(CASES, 2))
def test_wrong_arguments_are_named(case: Case) -> None:
    loaded = Loaded(case)
    for function in loaded.names:
        given = loaded.arguments(function)
        for name, array in given.items():
            if f"{name}_solve" in vars(loaded.module):
                continue  # None says that it is to be found
            call = functools.partial(
                replaced, vars(loaded.module)[function], given, name
            )
            for kind, value in wrong_values(array):
                refused(kind, name, call, value)
            more = wrong_indices if name in case.index_arrays else wrong_numbers
            for kind, value in more(array):
                refused(kind, name, call, value)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@specs()
def test_wrong_sizes_are_named(case: Case) -> None:
    loaded = Loaded(case)
    for function in loaded.names:
        given = loaded.arguments(function)
        for name, array in given.items():
            for axis, size in enumerate(np.shape(array)):
                longer = np.insert(array, size, 0, axis=axis)
                changed = given | {name: longer}
                try:
                    vars(loaded.module)[function](**changed)
                except ValueError as error:
                    # The size of a later argument may be what is told.
                    names = [f"{other}: expected " for other in given]
                    assert str(error).startswith(tuple(names)), error


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_sizes_that_nothing_else_needs_are_told(backend: str) -> None:
    text = """
tensorgen: 1
inputs: {W: [I, 2*D], U: [D, D]}
functions: {f: "sum(W[:, :D] @ U)"}
"""
    message = (
        r"^W: expected shape \(I, 2\*D\) = \(3, 4\), got \(3, 5\); "
        "I = 3 was set by W, D = 2 was set by U$"
    )
    with stand_in() as cupy:
        library = {"numpy": np, "cupy": cupy}[backend]
        module = execute(tensorgen.generate(text, backend=backend))
        with pytest.raises(ValueError, match=message):
            module.f(library.ones((3, 5)), library.ones((2, 2)))


def test_operands_of_objects_are_checked_as_arguments_are() -> None:
    module = made.load(SPEC)
    for hessian in hessians(module, inputs()).values():
        factorization = hessian.factorize(9.0)
        v = np.ones(hessian.shape[0])
        calls = (
            ("v", hessian.matvec),
            ("v", hessian.dot),
            ("v", hessian.__matmul__),
            ("u", hessian.rmatvec),
            ("b", functools.partial(hessian.solve, shift=9.0)),
            ("b", factorization.solve),
        )
        for name, call in calls:
            for kind, value in (*wrong_values(v), *wrong_numbers(v)):
                if kind is TypeError:
                    refused(kind, name, call, value)
            refused(ValueError, name, call, v[1:])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_, np.uint64, ">f8"])
def test_operands_of_all_kinds_of_numbers_mean_the_same(dtype: Any) -> None:
    module = made.load(SPEC)
    for name, hessian in hessians(module, inputs()).items():
        v = np.arange(hessian.shape[0]) % 2 * 3
        wanted = hessian @ (v.astype(dtype).astype(float))
        found = hessian @ v.astype(dtype)
        np.testing.assert_allclose(found, wanted, 1e-12, 1e-12, err_msg=name)
        way, b = hessian.factorize(9.0), v.astype(dtype)
        np.testing.assert_allclose(way.solve(b), way.solve(b.astype(float)), 1e-12)


@pytest.mark.parametrize("kinds", ["dd", "ff", "df", "fd", "ld", "fl", "ll"])
@pytest.mark.parametrize("order", "<>")
def test_results_are_native_and_double_where_any_argument_is(
    kinds: str, order: str
) -> None:
    module = tensorgen.load(
        "tensorgen: 1\ninputs: {x: [n], y: [n]}\nfunctions:\n"
        "  f: {expr: 'sum(x[1:]**2*y[1:])', wrt: x, emit: [value, gradient]}\n"
    )
    x, y = (
        np.array(values).astype(np.dtype(order + kind))
        for values, kind in zip(([1, 2], [3, 4]), kinds, strict=True)
    )
    value, slope = module.f_value_and_grad(x, y)
    assert slope.dtype == np.dtype(np.float32 if kinds == "ff" else np.float64)
    assert value.dtype == slope.dtype
    np.testing.assert_array_equal([value, *slope], [16, 0, 16])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, ">i4"])
def test_indices_of_all_kinds_of_integers_mean_the_same(dtype: Any) -> None:
    module, given = made.load(SPEC), inputs(n=100)
    own = {x: given[x] for x in ("x", "w")}
    ends = {x: given[x] for x in ("a", "b")}
    other = {x: given[x].astype(dtype) for x in ("a", "b")}
    wanted = module.springs_hess(**own, **ends)
    found = module.springs_hess(**own, **other)
    assert np.array_equal(wanted.dense(), found.dense())
    for one, two in zip(wanted.coo(), found.coo(), strict=True):
        assert np.array_equal(one, two)
    assert np.array_equal(wanted @ given["x"], found @ given["x"])


def test_a_size_is_checked_once_where_one_check_implies_others() -> None:
    module = tensorgen.load(
        "tensorgen: 1\ninputs: {x: [n], y: [m]}\nfunctions:\n"
        "  f: {expr: 'x[0]*x[3] + x[1] + y[0]', wrt: x, emit: [value]}\n"
    )
    assert inspect.getsource(module).count("' needs ") == 2
    with pytest.raises(ValueError, match=r"'x\[3\]' needs 4 <= n"):
        module.f([1.0, 2.0, 3.0], [1.0])
    with pytest.raises(ValueError, match=r"'y\[0\]' needs 1 <= m"):
        module.f([1.0, 2.0, 3.0, 4.0], [])
