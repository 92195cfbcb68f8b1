"""Lowering decides by what arrays are, never by how they would be written."""

import ast
from pathlib import Path

import tensorgen

PACKAGE = Path(tensorgen.__file__).parent
READERS = {"re", "ast", "tensorgen.arrays.printer", "tensorgen.arrays.statement_text"}


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_nothing_is_read_off_text() -> None:
    for path in sorted((PACKAGE / "lower").glob("*.py")):
        assert not imported(path) & READERS, path.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Attribute) and node.attr == "text"), path
