"""The stand-in's extras."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

_config: Any = importlib.import_module("cupy._config")
DeviceSynchronized = _config.DeviceSynchronized


@contextlib.contextmanager
def errstate(*, linalg: str) -> Iterator[None]:
    """Look whether linear algebra succeeded, with `raise`, or do not, with `ignore`."""
    before, _config.linalg = _config.linalg, linalg
    try:
        yield
    finally:
        _config.linalg = before


@contextlib.contextmanager
def allow_synchronize(allow: bool) -> Iterator[None]:
    """Raise where the host waits for the device, unless `allow`."""
    warnings.warn("cupyx.allow_synchronize will be removed", stacklevel=3)
    before, _config.synchronize = _config.synchronize, allow
    try:
        yield
    finally:
        _config.synchronize = before
