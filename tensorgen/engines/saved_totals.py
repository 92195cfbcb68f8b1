"""Totals in files: what long rounds have made, kept and joined later."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

_Totals = TypeVar("_Totals")


def save_totals(path: str | os.PathLike[str], totals: Any) -> None:
    """Write totals of blocks to a file, as a whole or not at all.

    Those of CuPy are copied to the host.
    """
    target = Path(path)
    arrays = {name: _on_host(value) for name, value in totals._asdict().items()}
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(handle, "wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _on_host(value: Any) -> Any:
    return value.get() if hasattr(value, "get") else np.asarray(value)


def load_totals(
    path: str | os.PathLike[str],
    type: type[_Totals],
    asarray: Callable[[Any], Any] = np.asarray,
) -> _Totals:
    """Return the totals in a file, which are of that type; ValueError if they are not.

    The type is that of a function's totals, such as `LossValueAndGradTotals`, and
    `cupy.asarray` has those of a module for CuPy on the device again.
    """
    fields: tuple[str, ...] = type._fields  # type: ignore[attr-defined]
    with np.load(path, allow_pickle=False) as stored:
        if sorted(stored.files) != sorted(fields):
            found, wanted = (", ".join(sorted(x)) for x in (stored.files, fields))
            message = f"{os.fspath(path)}: expected {wanted} of {type.__name__}"
            raise ValueError(f"{message}, got {found}")
        return type(**{name: asarray(stored[name])[()] for name in fields})
