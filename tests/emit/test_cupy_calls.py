"""Modules for CuPy ask for what CuPy has, and call it as it may be called."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests import goldens
from tests.device.bindings import refusals

MODULES = [name for name in goldens.names() if name.endswith("_cupy.py")]


@pytest.mark.parametrize("name", MODULES)
def test_every_call_of_a_module_binds(cupy: ModuleType, name: str) -> None:
    assert refusals(goldens.text(name), cupy._signatures) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cp.max(x, initial=0.0)", "unexpected keyword argument 'initial'"),
        ("(x + 1).min(initial=1)", "unexpected keyword argument 'initial'"),
        ("cp.linalg.cond(x)", "no such name"),
        ("x.setflags(write=False)", "no such name"),
        ("cp.errstate(all='ignore')", "no such name"),
        ("cp.multiply.at(x, 0, 1)", "no such name"),
        ("cp.exp(x, x, x)", "too many positional arguments"),
        ("csr_matrix(x, size=3)", "unexpected keyword argument 'size'"),
        ("cp.concatenate([x, *x], 0, axis=1)", "multiple values"),
    ],
)
def test_what_does_not_bind_is_found(cupy: ModuleType, line: str, said: str) -> None:
    head = "import cupy as cp\nfrom cupyx.scipy.sparse import csr_matrix\n"
    (found,) = refusals(f"{head}def f(x):\n    {line}\n", cupy._signatures)
    assert said in found


def test_what_binds_is_not(cupy: ModuleType) -> None:
    source = """
        import math
        import cupy as cp

        class Kept:
            def max(self, initial): ...

        def f(x, names):
            names.sort(key=len)
            x.max(initial=0)
            math.prod(names, start=2)
            return cp.max(x, 0), x.sum(axis=0), cp.finfo(x.dtype).eps, cp.pi.real
    """.replace("\n        ", "\n")
    assert refusals(source, cupy._signatures) == []
