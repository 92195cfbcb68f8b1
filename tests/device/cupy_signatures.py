"""What CuPy's functions and methods take, by version: read from packages of it.

`python -m tests.device.cupy_signatures FOLDER...` imports the CuPy that each folder
holds, one process for each, and writes the table that the stand-in holds calls to. The
packages import without a driver; libraries of CUDA that they ask for are stood in for.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

TABLE = Path(__file__).resolve().parent.parent / "cupy_stand_in" / "signatures.json"
# Of what NumPy and SciPy have too, all; of the rest what modules use.
_MODULES = {
    "cupy": "numpy",
    "cupy.fft": "numpy.fft",
    "cupy.lib.stride_tricks": "numpy.lib.stride_tricks",
    "cupy.linalg": "numpy.linalg",
    "cupyx.scipy.special": "scipy.special",
}
_CLASSES = {
    "cupy.ndarray": "numpy.ndarray",
    "cupyx.scipy.sparse.csc_matrix": "scipy.sparse.csc_matrix",
    "cupyx.scipy.sparse.csr_matrix": "scipy.sparse.csr_matrix",
    "cupyx.scipy.sparse.linalg.LinearOperator": "scipy.sparse.linalg.LinearOperator",
    "cupyx.scipy.sparse.linalg.SuperLU": "scipy.sparse.linalg.SuperLU",
}
_MADE = {
    "cupyx.scipy.sparse.linalg.LinearOperator": (
        "cupyx.scipy.sparse.linalg._interface._CustomLinearOperator"
    )
}
_OTHERS = """
    cupy.ElementwiseKernel cupy.ReductionKernel cupy.asnumpy
    cupy.ndarray cupy.cuda.Device cupy.cuda.alloc cupy.cuda.alloc_pinned_memory
    cupy.cuda.Event cupy.cuda.Event.record cupy.cuda.Event.synchronize
    cupy.cuda.Stream cupy.cuda.Stream.synchronize cupy.cuda.Stream.wait_event
    cupy.cuda.get_current_stream cupy.cuda.MemoryPointer.copy_from_host_async
    cupyx.allow_synchronize cupyx.errstate
    cupyx.scipy.sparse.linalg.splu
"""
_LIBRARIES = "cublas cusolver cusparse"
_ANYTHING = "(*args, **kwargs)"
VALUE = "value"
"""What is no function."""


def recorded() -> dict[str, str]:
    """What the CuPy that is imported here has: parameters by name."""
    for library in _LIBRARIES.split():
        name = f"cupy_backends.cuda.libs.{library}"
        sys.modules[name] = _Anything(name)
        setattr(importlib.import_module("cupy_backends.cuda.libs"), library, None)
    found = {"version": importlib.import_module("cupy").__version__}
    for name, model in {**_MODULES, **_CLASSES}.items():
        ours, theirs = _at(name), _at(model)
        is_class = name in _CLASSES
        if is_class and name != "cupy.ndarray":
            found[name] = _parameters(_at(_MADE.get(name, name)))
        for member in sorted({*dir(ours)} & {*dir(theirs)}):
            own = getattr(ours, member)
            if not member.startswith("_") and not isinstance(own, ModuleType):
                found[f"{name}.{member}"] = _parameters(own, bound=is_class)
                if isinstance(own, _at("cupy.ufunc")) and _scatters(own):
                    found[f"{name}.{member}.at"] = _parameters(own.at)
    for name in _OTHERS.split():
        own = _at(name)
        bound = isinstance(_at(name.rpartition(".")[0]), type)
        # What is compiled is told by its documentation alone.
        told = _documented(own) if isinstance(own, type) else _ANYTHING
        found[name] = _parameters(own, bound) if told == _ANYTHING else told
    return found


class _Anything(ModuleType):
    """A library of CUDA that is not here."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name)


def _at(path: str) -> Any:
    """What a dotted name stands for."""
    module, _, rest = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        return getattr(_at(module), rest)


def _scatters(own: Any) -> bool:
    """Whether an elementwise function has an `at` that does more than refuse."""
    try:
        own.at(None, None, None)
    except NotImplementedError:
        return False
    except Exception:  # None is no array
        return True
    return True


def _parameters(own: Any, bound: bool = False) -> str:
    """The parameters of what is called, or that it is a value."""
    if isinstance(own, _at("cupy.ufunc")):
        given = ", ".join(f"x{k + 1}" for k in range(own.nin))
        out = "out=None" if own.nout == 1 else "out1=None, out2=None, out=None"
        return f"({given}, /, {out}, *, dtype=None, casting=None)"
    if not callable(own):
        return VALUE
    try:
        made = isinstance(own, type)
        signature = inspect.signature(own.__init__ if made else own)
        names = [*signature.parameters.values()][int(bound or made) :]
    except (TypeError, ValueError):
        return _documented(own)
    return "(" + ", ".join(_written(names)) + ")"


def _written(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Parameters as text, whose defaults are not told."""
    named = False
    for k, one in enumerate(parameters):
        before = parameters[k - 1].kind if k else one.kind
        if one.kind != before == one.POSITIONAL_ONLY:
            yield "/"
        if one.kind == one.KEYWORD_ONLY and not named:
            yield "*"
        named = named or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        stars = "*" * (one.kind == one.VAR_POSITIONAL)
        stars += "**" * (one.kind == one.VAR_KEYWORD)
        yield stars + one.name + ("" if one.default is one.empty else "=None")
    if parameters and parameters[-1].kind == inspect.Parameter.POSITIONAL_ONLY:
        yield "/"


def _documented(own: Any) -> str:
    """Of what is compiled: `_ndarray_base.max(self, int axis=None) -> ...`."""
    first = (own.__doc__ or "").strip().partition("\n")[0]
    found = re.search(r"\w+\((.*)\)", first.partition(" ->")[0])
    if found is None:
        return _ANYTHING
    parts = []
    for one in filter(None, found[1].split(", ")):
        name, default, _ = one.partition("=")
        if name.split()[-1] != "self":
            parts.append(name.split()[-1] + ("=None" if default else ""))
    return "(" + ", ".join(parts) + ")"


def _joined(tables: list[dict[str, str]]) -> dict[str, list[str | None]]:
    """One table: what all versions agree on once, else what each says."""
    names = sorted({name for table in tables for name in table})
    found = {}
    for name in names:
        row = [table.get(name) for table in tables]
        found[name] = row[:1] if len({*row}) == 1 else row
    return found


def main(folders: list[str]) -> None:
    """Print what one CuPy has, or write the table of several."""
    if not folders:
        print(json.dumps(recorded()))
        return
    tables = []
    for folder in folders:
        known = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.getcwd()])}
        command = [sys.executable, "-m", "tests.device.cupy_signatures"]
        done = subprocess.run(command, env=known, check=True, capture_output=True)
        tables.append(json.loads(done.stdout.decode().splitlines()[-1]))
    # A name a line, so that a difference can be read.
    rows = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in _joined(tables).items())
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
