"""Structures are recognised and realised without a look at any text."""

import ast

from tests.test_import_order import PACKAGE, imports

PRINTERS = ("printer", "object_text", "statement_text", "arithmetic_text", "written")


def test_no_structure_is_told_from_text() -> None:
    for path in sorted((PACKAGE / "structure").glob("*.py")):
        targets = {target for _, target in imports(path, PACKAGE)}
        assert not targets & {("arrays", name) for name in PRINTERS}, path.name
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        names = {a.name for x in tree if isinstance(x, ast.Import) for a in x.names}
        assert names.isdisjoint(("re", "ast")), path.name
