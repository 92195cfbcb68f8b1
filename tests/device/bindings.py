"""What of CuPy a module asks for that CuPy lacks, or calls otherwise than it may.

Found in the syntax tree, so of all lines, whether tests reach them or not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType
from typing import TypeGuard

import numpy as np


def refusals(source: str, signatures: ModuleType) -> list[str]:
    """Return what the table of `signatures` refuses of a module for CuPy."""
    reader = _Reader(ast.parse(source), signatures)
    is_for_cupy = any(map(_of_cupy, reader.known.values()))
    return sorted({*reader.found()}) if is_for_cupy else []


def _of_cupy(path: str | None) -> TypeGuard[str]:
    return path is not None and path.startswith("cupy")


class _Reader:
    """What names of a module stand for."""

    def __init__(self, tree: ast.Module, signatures: ModuleType) -> None:
        self.tree, self.table = tree, signatures
        self.known: dict[str, str] = {}
        self.own: set[str] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    self.known |= {x.asname or x.name: x.name for x in names}
                case ast.ImportFrom(module=str(module), names=names):
                    self.known |= {x.name: f"{module}.{x.name}" for x in names}
                case ast.FunctionDef(name=name):
                    self.own.add(name)

    def found(self) -> Iterator[str]:
        """Yield each fault with its text."""
        inside = set[ast.AST]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield from self._call(node)
            if node in inside:
                continue
            path = self._path(node)
            if _of_cupy(path):
                inside.update(ast.walk(node))
                if not self._exists(path):
                    yield f"{path}: CuPy has no such name"
            elif isinstance(node, ast.Attribute) and self._lacks(node.attr):
                yield f".{node.attr}: arrays of CuPy have no such name"

    def _path(self, node: ast.AST) -> str | None:
        """The name of what an expression is, where that was imported."""
        match node:
            case ast.Name(id=name):
                return self.known.get(name)
            case ast.Attribute(value=value, attr=attr):
                inner = self._path(value)
                return inner and f"{inner}.{attr}"
            case _:
                return None

    def _exists(self, path: str) -> bool:
        """Whether there is such a name, or a member of a value that has one."""
        while path not in self.table.TABLE:
            if any(name.startswith(f"{path}.") for name in self.table.TABLE):
                return True
            path, _, _ = path.rpartition(".")
            if self.table.TABLE.get(path) != ["value"]:
                return False
        return bool(self.table.has(path))

    def _lacks(self, name: str) -> bool:
        """Whether arrays of NumPy alone have a member."""
        if name in self.own or name.startswith("_"):
            return False
        return hasattr(np.ndarray, name) and not self.table.has(f"cupy.ndarray.{name}")

    def _call(self, node: ast.Call) -> Iterator[str]:
        path = self._path(node.func)
        if path is None and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            shared = name in self.own or hasattr(list, name)  # whose it is
            if not shared and hasattr(np.ndarray, name):
                path = f"cupy.ndarray.{name}"
        if not _of_cupy(path) or not self.table.has(path):
            return
        if self.table.is_value(path):
            return
        if any(isinstance(x, ast.Starred) for x in node.args):
            return  # nobody knows how many
        kwargs = {x.arg: None for x in node.keywords if x.arg is not None}
        try:
            self.table.check(path, tuple(node.args), kwargs)
        except TypeError as error:
            yield f"{ast.unparse(node)}: {error}"
