"""The pages of the gallery are what the runs make."""

from __future__ import annotations

import pytest

from docs.gallery import PAGES, names, page

ENTRIES = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names()]


@pytest.mark.parametrize("name", ENTRIES)
def test_a_page_is_what_its_run_makes(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert page(name) == text, f"python docs/gallery.py {name}"
