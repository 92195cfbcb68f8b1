"""Blocks of statements: the places of a module that tests reach or do not reach."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from itertools import count

from tests.mutations import PACKAGE

ROOT = PACKAGE.parent
REACHED = ROOT / "build" / "reach"
"""Where `tests/reach.py` writes down which tests reach which blocks."""


def version() -> str:
    """Return what tells the code of the package from any other: numbers are of one."""
    texts = (path.read_bytes() for path in sorted(PACKAGE.rglob("*.py")))
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def numbered() -> dict[str, dict[int, tuple[int, int]]]:
    """Return the first and last lines of all blocks, by module and number."""
    found, numbers = {}, count()
    for path in sorted(PACKAGE.rglob("*.py")):
        inner = bodies(ast.parse(path.read_text("utf-8")))
        lines = {next(numbers): _lines(body) for body in inner}
        found[path.relative_to(PACKAGE).as_posix()] = lines
    return found


def _lines(body: Sequence[ast.stmt]) -> tuple[int, int]:
    return body[0].lineno, body[-1].end_lineno or body[-1].lineno


def bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    """Return the lists of statements below a node that run when something is called."""
    found: list[list[ast.stmt]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                found.append(body)
    return found
