"""The site as it was built: `make docs` builds it, and runs this.

Every link leads to a page and a place on it, every picture is there, and nothing is
loaded from elsewhere.
"""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.documents import ROOT

SITE = ROOT / "build" / "site"
PAGES = sorted(SITE.rglob("*.html"))
LOADED = {"script", "img", "link", "iframe", "source", "video", "object", "embed"}


class Page(HTMLParser):
    """The places of a page, where its links lead, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.words = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src", "data") and value:
                (self.loads if tag in LOADED else self.links).append(value)

    def handle_data(self, data: str) -> None:
        self.words += len(data.split())


@cache
def page(path: Path) -> Page:
    return Page(path)


def test_all_pages_are_built() -> None:
    names = {path.relative_to(SITE).with_suffix("").as_posix() for path in PAGES}
    docs = ROOT / "docs"
    wanted = {
        x.relative_to(docs).with_suffix("").as_posix() for x in docs.rglob("*.md")
    }
    assert wanted <= names
    assert {"overview", "security-policy", "changelog"} <= names
    assert all(page(path).words > 100 for path in PAGES if path.name != "404.html")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_links_lead_to_places(path: Path) -> None:
    lost = []
    for link in page(path).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or path.name == "404.html":
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        is_page = target.suffix == ".html"
        anchor = unquote(parts.fragment)
        if not target.is_file() or (is_page and anchor not in page(target).ids | {""}):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_nothing_is_loaded_from_elsewhere(path: Path) -> None:
    for link in page(path).loads:
        parts = urlsplit(link)
        assert not parts.netloc, link
        if path.name != "404.html":
            assert (path.parent / parts.path).is_file(), link
    text = path.read_text(encoding="utf-8")
    assert 'class="mermaid"' not in text  # whose script the theme would fetch
    for style in re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL):
        assert "@import" not in style and "//" not in style


def test_styles_load_nothing_from_elsewhere() -> None:
    sheets = sorted(SITE.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        assert not re.search(r"url\(['\"]?(https?:)?//", sheet.read_text("utf-8"))
