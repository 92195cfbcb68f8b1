"""Parameters of which some show a law, and all are shown by `make thorough`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every: int) -> list[Any]:
    """Leave each but the first of so many cases to the thorough tests."""
    return [case if k % every == 0 else left(case) for k, case in enumerate(cases)]


def left(case: Any) -> Any:
    """Leave a case to the thorough tests."""
    return pytest.param(case, marks=pytest.mark.thorough)
