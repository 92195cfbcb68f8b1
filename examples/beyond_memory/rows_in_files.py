"""What the examples beside this share: the module, rows in files, Newton's method."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tensorgen

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "beyond_memory"
AT_ONCE = 50_000  # rows that are made at a time
SMALL = 1e-9  # norm of the gradient at a minimum


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows how large data are, and where they go."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--block", type=float, default=0.5, help="megabytes a block")
    parser.add_argument(
        "--folder", type=Path, default=BUILD, help="for module and data"
    )
    return parser


def module(folder: Path, name: str = "logistic_rows") -> Any:
    """Return the module of a spec, from a file that other processes import too."""
    folder.mkdir(parents=True, exist_ok=True)
    spec, path = HERE / f"{name}.yaml", folder / f"{name}.py"
    if not path.exists() or path.stat().st_mtime < spec.stat().st_mtime:
        written = path.with_suffix(f".{os.getpid()}")
        written.write_text(tensorgen.generate(spec), encoding="utf-8")
        written.replace(path)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(name)


def files(folder: Path, rows: int, columns: int) -> dict[str, Path]:
    """Return files with rows of a logistic model, written in pieces if they are not."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {x: folder / f"{x}_{rows}_{columns}.npy" for x in ("X", "y")}
    if all(path.exists() for path in paths.values()):
        return paths
    rng = np.random.default_rng(0)
    w = rng.standard_normal(columns) / np.sqrt(columns)
    shapes = {"X": (rows, columns), "y": (rows,)}
    opened = {x: open(path, "wb") for x, path in paths.items()}  # noqa: SIM115
    for name, file in opened.items():
        header = {"descr": "<f8", "fortran_order": False, "shape": shapes[name]}
        np.lib.format.write_array_header_1_0(file, header)
    for start in range(0, rows, AT_ONCE):
        X = rng.standard_normal((min(AT_ONCE, rows - start), columns))
        y = np.where(rng.logistic(size=len(X)) < X @ w, 1.0, -1.0)
        X.tofile(opened["X"])
        y.tofile(opened["y"])
    for file in opened.values():
        file.close()
    return paths


def newton(loss: Any, v: Any, tell: Callable[[str], object] = print) -> Any:
    """Return the minimum; tell iteration, value and norm of the gradient on the way."""
    f, g = loss.fun_and_grad(v)
    for iteration in range(50):
        norm = float(np.linalg.norm(g))
        tell(f"{iteration:3d}   {f:.12f}   {norm:9.2e}")
        if norm <= SMALL:
            break
        d = -loss.hess(v).solve(g)
        step, slope = 1.0, float(g @ d)
        while True:
            trial, gradient = loss.fun_and_grad(v + step * d)
            # The last steps lower the value by less than its rounding.
            if trial <= f + 1e-4 * step * slope + 1e-14 * abs(f) or step < 1e-6:
                break
            step /= 2
        v, f, g = v + step * d, trial, gradient
    return v


def digest(loss: Any, v: Any) -> str:
    """Return what tells value, gradient and Hessian apart from any others."""
    value, gradient = loss.fun_and_grad(v)
    parts = (np.asarray(x).tobytes() for x in (value, gradient, loss.hess(v).dense()))
    return hashlib.sha256(b"".join(parts)).hexdigest()
