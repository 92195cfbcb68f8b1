"""A module in a file that workers import, rows for it, and a digest of all it gives."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tensorgen

NAME = "logistic_of_blocks"
ROWS, COLUMNS, AT_ONCE = 1013, 7, 77

SPEC = f"""
tensorgen: 1
module: {NAME}
blocks: m
inputs: {{w: [n], X: [m, n], y: [m], lam: {{shape: [], default: 0.1}}}}
functions:
  loss:
    expr: mean(log(1 + exp(-y * (X @ w)))) + lam * norm(w)**2
    wrt: w
    emit: [value, gradient, hessian, hvp, problem]
"""


def written(folder: Path) -> ModuleType:
    """Write the module to a folder from which this process and its workers import."""
    (folder / f"{NAME}.py").write_text(tensorgen.generate(SPEC), encoding="utf-8")
    return imported(folder)


def imported(folder: Path) -> ModuleType:
    """Return the module of a folder."""
    sys.path.insert(0, str(folder))
    sys.modules.pop(NAME, None)
    return importlib.import_module(NAME)


def rows() -> dict[str, Any]:
    """Return the rows, all at once."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    return {"X": X, "y": rng.choice([-1.0, 1.0], ROWS)}


def held() -> list[dict[str, Any]]:
    """Return the blocks of them as arrays."""
    data = rows()
    return [
        {name: array[k : k + AT_ONCE] for name, array in data.items()}
        for k in range(0, ROWS, AT_ONCE)
    ]


def saved(folder: Path) -> dict[str, Path]:
    """Write them to files."""
    paths = {name: folder / f"{name}.npy" for name in ("X", "y")}
    for name, array in rows().items():
        np.save(paths[name], array)
    return paths


def digest(module: ModuleType, blocks: Sequence[Any], map: Any = map) -> str:
    """Return the digest of value, gradient, Hessian and a product with it."""
    loss = module.LossProblem.over(blocks, map=map)
    v = np.linspace(-1, 1, COLUMNS)
    found = (*loss.fun_and_grad(v), loss.hess(v).dense(), loss.hvp(v, v**2))
    parts = b"".join(np.asarray(x).tobytes() for x in found)
    return hashlib.sha256(parts).hexdigest()


class OfBlock:
    """A block that does something before it gives its rows, once for a marker."""

    def __init__(
        self, block: Any, deed: Callable[[], Any], marker: Path | None
    ) -> None:
        self.block, self.deed, self.marker = block, deed, marker

    def __call__(self) -> Any:
        """Do it, unless the marker says that it was done, and return the rows."""
        if self.marker is None or not self.marker.exists():
            if self.marker is not None:
                self.marker.touch()
            self.deed()
        return self.block()


def die() -> None:
    """End this process as a kill would."""
    os._exit(9)


def spoil() -> None:
    """Fail as a file does that is not there."""
    raise FileNotFoundError(2, "No such file or directory", "rows.npy")


class Unsent(Exception):
    """An error that pickle does not bring to another process."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


def spoil_unsent() -> None:
    """Fail with an error that cannot be sent."""
    raise Unsent("rows", "columns")
