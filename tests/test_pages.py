"""The code of pages runs; that of those who come from elsewhere agrees with it.

Blocks of Python after the mark `<!-- in PACKAGE -->` need a package; where it is absent
they are left out, and the other blocks of the page run alone. `spec` is the text of the
last block of YAML.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.device.library import stand_in
from tests.documents import ROOT, Block, blocks

DOCS = ROOT / "docs"
COMPARED = [DOCS / f"from-{name}.md" for name in ("jax", "pytorch", "casadi", "sympy")]
PLAIN = [DOCS / f"{name}.md" for name in ("notebooks", "security")]


def run(path: Path) -> dict[str, Any]:
    """Run the code of a page, and return the names that it binds."""
    names: dict[str, Any] = {}
    for block in blocks(path):
        if block.language == "yaml":
            names["spec"] = block.text
        elif block.language == "python" and _is_there(block):
            exec(compile(block.text, f"<{block.name}>", "exec"), names)
    return names


def _is_there(block: Block) -> bool:
    where, _, package = block.mark.partition("in ")
    return not block.mark or (not where and find_spec(package) is not None)


@pytest.mark.parametrize("path", [*COMPARED, *PLAIN], ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(path: Path) -> None:
    assert "tensorgen" in run(path)


def test_the_code_for_devices_runs_on_the_stand_in() -> None:
    with stand_in():
        assert run(DOCS / "gpus.md")["value"].shape == ()


@pytest.mark.parametrize("path", COMPARED, ids=lambda path: path.stem)
def test_every_task_is_compared(path: Path) -> None:
    there = [b for b in blocks(path) if b.mark.startswith("in ")]
    specs = [b for b in blocks(path) if b.language == "yaml"]
    assert len(there) >= len(specs) >= 3
    assert sum("assert" in b.text for b in there) >= len(specs)
