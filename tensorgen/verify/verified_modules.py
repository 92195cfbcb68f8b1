"""The modules that are verified: as they lie on disk, or as they would be written."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Subject:
    """A module, what to call it, and the lines that import it elsewhere."""

    name: str
    module: ModuleType
    imported: str
    backend: str = "numpy"

    def array(self, value: Any) -> Any:
        """Return an array of NumPy, or a matrix of SciPy, as one of the backend's."""
        if self.backend == "numpy":
            return value
        if hasattr(value, "tocoo"):
            sparse = importlib.import_module(f"{self.backend}x.scipy.sparse")
            return sparse.csr_matrix(value)
        if not isinstance(value, np.ndarray):
            return value
        return importlib.import_module(self.backend).asarray(value)

    def numbers(self, value: Any) -> Any:
        """Return what the backend has returned as an array of NumPy's."""
        return np.asarray(value.get() if hasattr(value, "get") else value)

    def wait(self) -> None:
        """Return when the backend has done all that it was asked for."""
        if self.backend != "numpy":
            importlib.import_module(self.backend).cuda.Device().synchronize()


def on_disk(path: Path, backend: str) -> Subject:
    """Import the module of a file, with what lies beside it.

    Raises whatever the module raises when it is imported.
    """
    folder, parts = path.absolute().parent, [path.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    name = ".".join(parts)
    with _first(folder):
        if len(parts) > 1:
            module = importlib.import_module(name)
        else:
            # Of several folders with a file of this name each has its own.
            digest = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12]
            module = _loaded(f"tensorgen_verified_{digest}_{path.stem}", path)
    imported = (
        f"import sys\n\nsys.path.insert(0, {str(folder)!r})\nimport {name} as module"
    )
    return Subject(path.name, module, imported, backend)


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def _first(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def generated(
    text: str, name: str, backend: str, spec: str = "", mode: str = "cross-country"
) -> Subject:
    """Build a module from its text; `spec` is the path that it is said to come from."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    module = ModuleType(f"tensorgen_verified_{digest}")
    sys.modules[module.__name__] = module
    exec(compile(text, f"<{name}>", "exec"), vars(module))
    call = f"tensorgen.load({spec!r}, {backend!r}, {mode!r})"
    return Subject(name, module, f"import tensorgen\n\nmodule = {call}", backend)


def why_not(backend: str) -> str:
    """Return why a backend cannot be run here, nothing if it can."""
    if backend == "numpy":
        return ""
    if importlib.util.find_spec(backend) is None:
        return f"{backend} is not installed"
    try:
        count = importlib.import_module(backend).cuda.runtime.getDeviceCount()
    except Exception as error:  # of the driver's own kinds
        return f"{backend} has no device: {error}"
    return "" if count else f"{backend} has no device"
