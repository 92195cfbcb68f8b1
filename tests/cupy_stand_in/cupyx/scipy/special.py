"""The stand-in's special functions."""

from __future__ import annotations

import importlib
from typing import Any

import scipy.special

_HERE = "cupyx.scipy.special"


def __getattr__(name: str) -> Any:
    if importlib.import_module("cupy._signatures").has(f"{_HERE}.{name}"):
        lifted = importlib.import_module("cupy._array").lifted
        return lifted(getattr(scipy.special, name), f"{_HERE}.{name}")
    raise AttributeError(f"module {_HERE!r} has no attribute {name!r}")
