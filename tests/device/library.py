"""CuPy for tests: the real one where there is a device, and the stand-in."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType

from tests.device.bindings import refusals

STAND_IN = Path(__file__).resolve().parent.parent / "cupy_stand_in"
_COUNTER = itertools.count()


@functools.cache
def missing() -> str | None:
    """Why there is no device to test on; None where there is one."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    try:
        importlib.import_module("cupy").zeros(1).sum().get()
    except Exception as error:
        # Whatever is wrong: an old driver, no card, a library that is not there.
        return f"CuPy finds no CUDA device ({type(error).__name__})"
    return None


@contextlib.contextmanager
def stand_in() -> Iterator[ModuleType]:
    """The stand-in for CuPy, in place of a CuPy that may be installed."""
    before = _forget()
    sys.path.insert(0, str(STAND_IN))
    try:
        yield importlib.import_module("cupy")
    finally:
        sys.path.remove(str(STAND_IN))
        _forget()
        sys.modules.update(before)


def _forget() -> dict[str, ModuleType]:
    names = [n for n in sys.modules if n.split(".")[0] in ("cupy", "cupyx")]
    return {name: sys.modules.pop(name) for name in names}


def execute(source: str) -> ModuleType:
    """Return a new module: a source for CuPy binds the CuPy of this moment.

    On the stand-in it is read first, for calls that tests may not reach.
    """
    if signatures := getattr(sys.modules.get("cupy"), "_signatures", None):
        assert _refused(source, signatures) == []
    name = f"device_{next(_COUNTER)}"
    result = ModuleType(name)
    sys.modules[name] = result  # dataclasses and NamedTuples look there
    exec(_compiled(source), result.__dict__)
    return result


@functools.cache
def _compiled(source: str) -> CodeType:
    return compile(source, "<device>", "exec")


_READ: dict[str, list[str]] = {}


def _refused(source: str, signatures: ModuleType) -> list[str]:
    """What is refused of a source, read once: each stand-in has the same table."""
    if source not in _READ:
        _READ[source] = refusals(source, signatures)
    return _READ[source]
