"""The faults of `make mutants` are faults, and in many places of the compiler."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorgen.operators.stable.rules import Rule, groups, parsed
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


@pytest.mark.thorough  # the faults of the table come first, and take a second
def test_a_rule_that_never_fires_leaves_all_others_with_their_points() -> None:
    def told(rules: dict[str, list[Rule]]) -> set[tuple[str, str, str, str]]:
        return {(x, r.left, r.right, r.points) for x, own in rules.items() for r in own}

    whole, number = told(groups()), 0
    for text in texts("# never fires"):
        broken = told(parsed(text))
        assert broken < whole
        assert len(broken) == len(whole) - 1
        number += 1
    assert number > 30


def texts(what: str) -> Iterator[str]:
    """The broken texts of rules whose mutants' names end so."""
    for mutant in mutants(seed=0, share=0.02):
        if mutant.path not in (TABLE, TEXTS[1]):
            return
        if mutant.name.endswith(what):
            found = re.search(r"parsed\((.*# Rules of scalars.*)\)", mutant.text)
            assert found is not None
            yield ast.literal_eval(found[1])
