"""Modules over a batch as modules of one sample, as references know functions.

A sample is put between two others, of the same numbers but a little smaller, and its
row of what comes back is taken: if that had a share in another row, it would differ.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from tensorgen.lang import Program
from tensorgen.operators.references import Array
from tensorgen.verify.verified_modules import Subject

SMALLER = 15 / 16
"""A factor that rounds nothing away, and leaves promises what they are."""


def of_one_sample(subject: Subject, program: Program) -> Subject:
    """Return a module whose functions take one sample, if it has a batch."""
    batch = tuple(x.name for x in program.spec.inputs if x.batch is not None)
    if not batch:
        return subject
    lines = [
        *(subject.imported, f"from {__name__} import OneSample", ""),
        f"module = OneSample(module, {batch!r})",
    ]
    made = OneSample(subject.module, batch)
    return replace(subject, module=made, imported="\n".join(lines))


class OneSample(ModuleType):
    """A module, with functions of one sample in the place of those over a batch."""

    def __init__(self, module: Any, batch: Collection[str]) -> None:
        super().__init__(module.__name__)
        self._module, self._batch = module, batch

    def __getattr__(self, name: str) -> Any:
        """Return what the module has, of one sample if that is over a batch."""
        found = getattr(self._module, name)
        if not inspect.isfunction(found):
            return found
        names = [*inspect.signature(found).parameters]
        own = {x for x in names if x in self._batch}
        if not own:
            return found
        own |= {f"d{x}" for x in own} | {
            x for x in names if x == "ct" or x.startswith("ct_")
        }
        return _of_one(found, own & {*names})


def _of_one(function: Callable[..., Any], batch: Collection[str]) -> Callable[..., Any]:
    signature = inspect.signature(function)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        every = given.arguments.values()
        arrays = [x for x in every if hasattr(x, "dtype") and not hasattr(x, "tocoo")]
        like = next((x for x in arrays if x.dtype.kind == "f"), np.zeros(0))
        for name in batch:
            if name in given.arguments:
                given.arguments[name] = _between(given.arguments[name], like)
        return _row(function(*given.args, **given.kwargs))

    return called


def _between(value: Any, like: Array) -> Array:
    """A sample between two others; numbers become arrays like another argument."""
    library = sys.modules[type(like).__module__.partition(".")[0]]
    own = library.asarray(value, like.dtype if isinstance(value, float) else None)
    other = own * own.dtype.type(SMALLER) if own.dtype.kind == "f" else own
    return library.stack([other, own, other])


def _row(found: Any) -> Any:
    """The row of the sample, of all that a function has returned."""
    if isinstance(found, Mapping):
        return {key: _row(x) for key, x in found.items()}
    if isinstance(found, tuple):
        parts = [_row(x) for x in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    return found[1]
