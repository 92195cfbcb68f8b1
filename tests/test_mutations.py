"""The faults of `make mutants` are faults, and in many places of the compiler."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutations import PACKAGE, TABLE, TEXTS, mutants


@pytest.mark.thorough  # seconds for the texts of all of them
def test_each_mutant_is_another_text_of_a_module() -> None:
    found = [*mutants(seed=0, share=0.02)]
    names = [mutant.name for mutant in found]
    assert len(set(names)) == len(names)
    by_path = {mutant.path: mutant for mutant in found}
    for path, mutant in by_path.items():
        compile(mutant.text, path, "exec")
    sources = {path: Path(PACKAGE, path).read_text("utf-8") for path in by_path}
    right = {
        path: (text, ast.unparse(ast.parse(text))) for path, text in sources.items()
    }
    assert [m.name for m in found if m.text in right[m.path]] == []
    assert sum(name.startswith(TEXTS[0]) for name in names) > 100
    assert sum(name.startswith(TABLE) for name in names) > 50
    rooms = {Path(path).parts[0] for path in by_path}
    assert rooms == {"calculus", "ir", "operators", "passes"}
