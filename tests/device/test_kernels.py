"""The stand-in's kernels refuse what CuPy does, and doubles in single precision."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest


def test_inputs_are_broadcast_and_outputs_have_their_shape(cupy: ModuleType) -> None:
    both = cupy.ElementwiseKernel(
        "T x, bool m", "T y, bool n_", "y = m ? x : 0; n_ = !m;"
    )
    mask = np.array([[True], [False]])
    y, n = both(cupy.asarray(np.arange(3.0)), cupy.asarray(mask))
    assert np.array_equal(y.get(), np.where(mask, np.arange(3.0), 0))
    assert np.array_equal(n.get(), np.broadcast_to(~mask, (2, 3)))
    y, _ = both(cupy.zeros((0,)), cupy.asarray(mask))
    assert y.shape == (2, 0)
    y, _ = both(cupy.ones(()), True)
    assert y.shape == () and y.get() == 1


def test_arrays_of_one_letter_are_of_one_type(cupy: ModuleType) -> None:
    add = cupy.ElementwiseKernel("T x, T y", "T z", "z = x + y;")
    single, double = cupy.ones(2, dtype="f"), cupy.ones(2)
    assert add(single, 2).get().dtype == np.float32
    with pytest.raises(TypeError, match="mismatched"):
        add(single, double)
    with pytest.raises(ValueError, match="Loop size"):
        add(1, 2)
    with pytest.raises(TypeError, match="Unsupported"):
        add(double, np.ones(2))
    with pytest.raises(TypeError, match="number of arguments"):
        add(double)


def test_a_double_among_numbers_of_single_precision_is_refused(
    cupy: ModuleType,
) -> None:
    half = cupy.ElementwiseKernel("T x", "T y", "y = 0.5 * x;")
    kernels = importlib.import_module("cupy._kernels")
    assert half.source({"T": "float64"})[1]
    with pytest.raises(kernels.CompileException, match="double"):
        half(cupy.ones(2, dtype="f"))


def test_without_a_compiler_kernels_say_what_they_need(
    cupy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = importlib.import_module("cupy._kernels")
    monkeypatch.setenv("CXX", "no-such-compiler")
    own = cupy.ElementwiseKernel("T x", "T y", "y = x + 1 + 2 + 3 + 5 + 7;")
    monkeypatch.setattr(kernels, "_FOLDER", kernels._FOLDER / "nowhere")
    with pytest.raises(kernels.CompileException, match=r"C\+\+ compiler"):
        own(cupy.ones(2))


@pytest.mark.parametrize("given", ["T i", "T x, T x"])
def test_names_that_stand_for_something_else_are_refused(
    given: str, cupy: ModuleType
) -> None:
    with pytest.raises(ValueError, match="parameter names"):
        cupy.ElementwiseKernel(given, "T y", "y = 1;")


def launched(cupy: ModuleType) -> int:
    """How many launches there were."""
    return int(importlib.import_module("cupy._config").launched.total())


def test_what_is_added_in_place_is_one_launch(cupy: ModuleType) -> None:
    """CuPy stores nothing where it finds the very entries that it is given."""
    x, before = cupy.zeros((2, 3)), launched(cupy)
    x[1:] += 1
    x[0, 1] += 2
    assert launched(cupy) - before == 2
    assert x.get().tolist() == [[0, 2, 0], [1, 1, 1]]
    x[1] = x[0]
    x[0] = x[0, ::-1]
    assert launched(cupy) - before == 4
    row = x[0, 1]
    row += 1
    assert x[0, 1].get() == 3


def test_kernels_write_where_they_are_told(cupy: ModuleType) -> None:
    both = cupy.ElementwiseKernel("T x", "T y, T z", "y = x + 1; z = 2 * x;")
    x, out = cupy.asarray(np.arange(3.0)), cupy.zeros((2, 5))
    found = both(x, out[0, ::2], out[1, 2:])
    assert out.get().tolist() == [[1, 0, 2, 0, 3], [0, 0, 0, 2, 4]]
    assert found[1].data.ptr == out[1, 2:].data.ptr
    step = cupy.ElementwiseKernel("T x, T y", "T z", "z = x + y;")
    assert step(out[0], x[1], out[0]).get().tolist() == [2, 1, 3, 1, 4]
    with pytest.raises(ValueError, match="mismatched"):
        step(out[:1], 1, out[0])
    with pytest.raises(TypeError, match="mismatched"):
        step(x, 1, cupy.zeros(3, dtype="f"))
    with pytest.raises(TypeError, match="number of arguments"):
        both(x, x)


def test_kernels_do_not_read_what_others_of_their_threads_write(
    cupy: ModuleType,
) -> None:
    step = cupy.ElementwiseKernel("T x", "T y", "y = 2 * x;")
    x = cupy.asarray(np.arange(4.0))
    with pytest.raises(RuntimeError, match="order"):
        step(x[:-1], x[1:])
    assert step(x[::2], x[1::2]).get().tolist() == [0, 4]


# Kernels that reduce


def test_entries_are_reduced_along_axes(cupy: ModuleType) -> None:
    squares = cupy.ReductionKernel(
        "T x, T y", "T z", "x * y", "a + b", "z = sqrt(a)", "0", "squares"
    )
    x = np.arange(24.0).reshape(2, 3, 4)
    row = np.arange(4.0)
    given = cupy.asarray(x), cupy.asarray(row)
    assert squares(*given).get() == np.sqrt((x * row).sum())
    for axis in (0, -1, (0, 2), (2, 1)):
        for kept in (False, True):
            want = np.sqrt((x * row).sum(axis=axis, keepdims=kept))
            got = squares(*given, axis=axis, keepdims=kept).get()
            assert got.shape == want.shape and np.allclose(got, want)
    out = cupy.zeros(4)
    assert squares(*given, axis=(0, 1), out=out) is out
    assert np.allclose(out.get() ** 2, (x * row).sum(axis=(0, 1)))
    assert squares(given[0], 2).get() == np.sqrt(2 * x.sum())
    with pytest.raises(ValueError, match="duplicate"):
        squares(*given, axis=(0, 0))
    with pytest.raises(ValueError, match="Loop size"):
        squares(1, 2)


def test_of_no_entries_the_identity_is_left(cupy: ModuleType) -> None:
    given = "T x, T y", "T z", "x * y", "a + b", "z = a - 1"
    none = cupy.zeros((0, 3)), 1
    assert cupy.ReductionKernel(*given, "0")(*none, axis=0).get().tolist() == [-1] * 3
    assert cupy.ReductionKernel(*given, None)(*none, axis=1).shape == (0,)
    with pytest.raises(ValueError, match="no identity"):
        cupy.ReductionKernel(*given, None)(*none)


@pytest.mark.parametrize(
    ("given", "made", "entry", "post"),
    [("x", "y", "exp(x)", "y = a"), ("in0", "out0", "in0", "out0 = a")],
)
def test_names_that_one_array_must_not_have_are_refused(
    given: str, made: str, entry: str, post: str, cupy: ModuleType
) -> None:
    """CUB is told of one array by replacing names, also within words."""
    kernels = importlib.import_module("cupy._kernels")
    own = cupy.ReductionKernel(f"T {given}", f"T {made}", entry, "a + b", post, "0")
    with pytest.raises(kernels.CompileException):
        own(cupy.ones(2))


def test_after_the_sum_numbers_are_known_and_arrays_are_not(cupy: ModuleType) -> None:
    kernels = importlib.import_module("cupy._kernels")
    scaled = cupy.ReductionKernel("T x, T s", "T y", "x", "a + b", "y = a / s", "0")
    assert scaled(cupy.ones((2, 3)), 2, axis=0).get().tolist() == [1, 1, 1]
    with pytest.raises(kernels.CompileException, match="not declared"):
        scaled(cupy.ones(2), cupy.ones(()))
