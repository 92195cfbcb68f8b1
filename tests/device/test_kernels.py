"""The stand-in's kernels refuse what CuPy does, and doubles in single precision."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from tests.device.library import stand_in


@pytest.fixture
def cupy() -> Iterator[ModuleType]:
    with stand_in() as module:
        yield module


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
