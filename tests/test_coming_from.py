"""The pages for those who come from elsewhere: their code runs, and agrees.

Blocks after the mark `<!-- in PACKAGE -->` need a package; where it is absent they are
left out, and the other blocks of the page run alone. `spec` is the text of the last
block of YAML.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.documents import ROOT, blocks

PAGES = {
    name: ROOT / "docs" / f"from-{name}.md"
    for name in ("jax", "pytorch", "casadi", "sympy")
}


@pytest.mark.parametrize("path", PAGES.values(), ids=[*PAGES])
def test_the_code_of_a_page_runs(path: Path) -> None:
    names: dict[str, Any] = {}
    loaded = 0
    for block in blocks(path):
        if block.language == "yaml":
            names["spec"] = block.text
        elif block.language == "python" and _is_there(block.mark):
            loaded += "tensorgen.load" in block.text
            exec(compile(block.text, f"<{block.name}>", "exec"), names)
    assert loaded >= 3


def _is_there(mark: str) -> bool:
    package = mark.removeprefix("in ")
    return not mark or find_spec(package) is not None


@pytest.mark.parametrize("path", PAGES.values(), ids=[*PAGES])
def test_every_task_is_compared(path: Path) -> None:
    there = [b for b in blocks(path) if b.mark.startswith("in ")]
    specs = [b for b in blocks(path) if b.language == "yaml"]
    assert len(there) >= len(specs) >= 3
    assert sum("assert" in b.text for b in there) >= len(specs)
