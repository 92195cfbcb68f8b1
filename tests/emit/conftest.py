"""Fixtures of the tests of rendered modules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

STAND_IN = Path(__file__).resolve().parent.parent / "cupy_stand_in"


def _forget() -> dict[str, ModuleType]:
    names = [n for n in sys.modules if n.split(".")[0] in ("cupy", "cupyx")]
    return {name: sys.modules.pop(name) for name in names}


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The stand-in for CuPy, imported in place of a CuPy that may be installed."""
    before = _forget()
    monkeypatch.syspath_prepend(STAND_IN)
    yield importlib.import_module("cupy")
    _forget()
    sys.modules.update(before)
