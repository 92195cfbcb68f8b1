"""Fixtures of the tests of rendered modules."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.device.library import stand_in


@pytest.fixture
def cupy() -> Iterator[ModuleType]:
    """The stand-in for CuPy, imported in place of a CuPy that may be installed."""
    with stand_in() as module:
        yield module
