"""Every kernel of the examples and of the gallery compiles for devices, in both types.

That needs NVRTC and CuPy's headers, but no device, and is skipped without them.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from tests.device import nvrtc
from tests.device.cases import EXAMPLES, generated
from tests.device.library import execute, stand_in

SPECS = [*sorted(EXAMPLES.glob("*.yaml")), *sorted(EXAMPLES.glob("gallery/*.yaml"))]


@pytest.fixture(autouse=True)
def compiler() -> None:
    """Skip where there is nothing to compile with: NVRTC is no dependency of tests."""
    if reason := nvrtc.missing():
        pytest.skip(f"{reason}; see tests/device/nvrtc.py")


def sources(path: Path) -> dict[str, str]:
    """A program of all kernels of a spec's module for each type."""
    text = generated(path.read_text(encoding="utf-8"))[1]
    with stand_in(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernels = [*nvrtc.kernels_of(execute(text), _kernels())]
        return {
            dtype: nvrtc.program(kernels, dtype)
            for dtype in ("float32", "float64")
            if kernels
        }


def _kernels() -> ModuleType:
    return importlib.import_module("cupy._kernels")


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_kernels_compile_for_devices_and_single_precision_stays_single(
    path: Path,
) -> None:
    for dtype, source in sources(path).items():
        for architecture in nvrtc.ARCHITECTURES:
            made = nvrtc.compile_for(source, architecture)
            assert made.count(".entry") == source.count("__global__")
        if dtype == "float32":
            # CUDA's own sine takes doubles for large arguments, where it is exact.
            made = nvrtc.compile_for(source, architecture, "-use_fast_math")
            assert ".f64" not in made


def test_what_a_device_refuses_is_found() -> None:
    with stand_in() as cupy:
        wrong = cupy.ElementwiseKernel("T x", "T y", "y = nowhere(x);", "wrong")
        source = nvrtc.program([wrong], "float64")
    with pytest.raises(AssertionError, match="nowhere"):
        nvrtc.compile_for(source, nvrtc.ARCHITECTURES[0])
