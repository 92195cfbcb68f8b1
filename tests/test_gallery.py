"""The gallery is whole: `make gallery` runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.gallery import PAGES, entry, index, names, picture
from tensorgen.errors import Source
from tensorgen.spec.read import read_spec

ROOT = Path(__file__).resolve().parent.parent


def test_the_index_lists_every_entry() -> None:
    assert (PAGES / "index.md").read_text(encoding="utf-8") == index()
    runs = {p.stem for p in (ROOT / "examples" / "gallery").glob("*.py")}
    assert runs - {"__init__", "runs"} == {*names()}
    assert len(names()) >= 25


@pytest.mark.parametrize("name", names())
def test_an_entry_has_a_spec_that_can_be_read_a_page_and_a_picture(name: str) -> None:
    spec = entry(name).SPEC
    read_spec(Source(spec.name, spec.read_text(encoding="utf-8")))
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert f"]({picture(name)})" in page
    assert 2_000 < (PAGES / picture(name)).stat().st_size < 60_000
