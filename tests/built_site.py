"""The site as it was built: `make docs` builds it, and runs this.

Every link leads to a page and a place on it, every picture is there, and nothing is
loaded from elsewhere. What stands in the package is in its reference, each function has
a page, and colors have the contrast that text needs. `site_in_browser.py` looks at
pages themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest

import tensorgen
from tensorgen import engines
from tensorgen.explanation.function_reference import ELEMENT, Entry, cuda, entries
from tests.contrast import AA, color, contrast, over, properties
from tests.documents import ROOT

SITE = ROOT / "build" / "site"
PLAY = SITE / "play" / "index.html"
PAGES = sorted({*SITE.rglob("*.html")} - {PLAY})
"""What is made of pages in `docs`; the other one has tests of its own."""
FUNCTIONS = list(entries())
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
    written = (
        p for p in PAGES if p.name != "404.html" and p.parent.name != "functions"
    )
    assert all(page(path).words > 100 for path in written)


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


def test_the_page_to_type_on_is_there_and_led_to() -> None:
    assert PLAY.is_file() and (PLAY.parent / "packages.zip").is_file()
    assert "play/index.html" in page(SITE / "index.html").links
    # Two in the text, and one in the menu.
    assert page(SITE / "play.html").links.count("play/index.html") == 3


def test_styles_load_nothing_from_elsewhere() -> None:
    sheets = sorted(SITE.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        assert not re.search(r"url\(['\"]?(https?:)?//", sheet.read_text("utf-8"))


def test_the_package_is_in_its_reference() -> None:
    for package, name in ((tensorgen, "api"), (engines, "engines")):
        ids = page(SITE / f"{name}.html").ids
        for public in {*package.__all__} - {"__version__"}:
            where = getattr(package, public).__module__
            assert {f"{package.__name__}.{public}", f"{where}.{public}"} & ids, public


CLASSES = (
    *("Jacobian", "LossHessian", "_Factorization", "JointHessian", "JointDerivative"),
    *("LossProblem", "LossOver", "BoundedProblem", "BoundedSensitivity"),
)


def _methods(module: Any) -> Iterator[tuple[str, Any]]:
    """The public methods of classes, and properties, each by its name on the page."""
    for name in CLASSES:
        for member in dir(getattr(module, name)):
            made = getattr(getattr(module, name), member)
            # Constants are told in the docstrings of their classes.
            if member[0] != "_" and (callable(made) or hasattr(made, "__get__")):
                yield f"emitted.{name}.{member}", made


@pytest.mark.filterwarnings("ignore::tensorgen.SpecWarning")
def test_methods_of_objects_are_in_the_reference() -> None:
    methods = dict(_methods(tensorgen.load(ROOT / "docs" / "emitted.yaml")))
    path = SITE / "objects.html"
    ids, text = page(path).ids, path.read_text(encoding="utf-8")
    assert {"emitted.LossProblem.hvp", "emitted.LossHessian.solve"} <= {*methods} & ids
    renamed = {*methods} - ids
    assert all(methods[x].__name__ != x.rpartition(".")[2] for x in renamed)
    names = {name.rpartition(".")[2] for name in renamed}
    assert names == {"fun", "jac", "hess", "hessp"}
    assert all(f"<code>{name}</code>" in text for name in names)


@pytest.mark.parametrize("entry", FUNCTIONS, ids=lambda entry: entry.name)
def test_a_function_has_a_page(entry: Entry) -> None:
    path = SITE / "functions" / f"{entry.name}.html"
    text = path.read_text(encoding="utf-8")
    assert f"<title>{entry.name} - tensorgen</title>" in text
    for part in ("derivative", "numpy", "example"):
        assert part in page(path).ids
    formulas = re.findall(r"<math .*?</math>", text)
    assert formulas or "too long to be read" in text
    for formula in formulas:
        assert "<mtext>" not in formula.replace("<mtext>, else 0</mtext>", "")
        ElementTree.fromstring(formula)
    if entry.sort == ELEMENT:
        assert ("cuda" in page(path).ids) == bool(cuda(entry)[0])


def test_the_page_of_functions_leads_to_each() -> None:
    pages = {f"{entry.name}.html" for entry in FUNCTIONS}
    assert pages <= {*page(SITE / "functions" / "index.html").links}
    links = {*page(SITE / "language.html").links}
    assert {f"functions/{name}" for name in pages} <= links


def test_few_pages_list_all_functions_beside_them() -> None:
    text = (SITE / "tutorial.html").read_text(encoding="utf-8")
    assert "functions/index.html" in text or "language.html" in text
    assert "functions/sigmoid.html" not in text


def test_the_search_finds_functions_by_their_names() -> None:
    index = (SITE / "search" / "search_index.json").read_text(encoding="utf-8")
    docs = {doc["location"]: doc for doc in json.loads(index)["docs"]}
    for entry in FUNCTIONS:
        doc = docs[f"functions/{entry.name}.html"]
        assert doc["title"] == entry.name and doc["boost"] >= 2
    exp, exprel = (docs[f"functions/{name}.html"] for name in ("exp", "exprel"))
    assert exp["boost"] > exprel["boost"]  # what is typed is a prefix of both


def test_the_search_needs_no_server() -> None:
    found = (SITE / "search" / "search_index.js").read_text(encoding="utf-8")
    assert found.startswith("var __index = {")
    assert "../iframe-worker.js" in page(SITE / "functions" / "exp.html").loads


def test_formulas_are_typeset() -> None:
    for name in ("gallery/logistic", "explain", "laplace"):
        text = (SITE / f"{name}.html").read_text(encoding="utf-8")
        assert '<div class="formula"><math display="block">' in text


def _schemes() -> list[dict[str, str]]:
    """The palettes that a page offers, as attributes of its root."""
    text = (SITE / "index.html").read_text(encoding="utf-8")
    options = re.findall(r'<input class="md-option"[^>]*>', text)
    return [dict(re.findall(r'(data-md-color-\w+)="([^"]+)"', x)) for x in options]


GROUNDS = {
    "--md-default-bg-color": (
        *("--md-default-fg-color", "--md-default-fg-color--light"),
        *("--md-default-fg-color--lighter", "--md-typeset-color"),
        *("--md-typeset-a-color", "--md-accent-fg-color"),
    ),
    "--md-code-bg-color": (
        *("--md-code-fg-color", "--md-typeset-a-color", "--md-accent-fg-color"),
        *(f"--md-code-hl-{x}-color" for x in ("number", "special", "function", "name")),
        *(f"--md-code-hl-{x}-color" for x in ("constant", "keyword", "string")),
        *(f"--md-code-hl-{x}-color" for x in ("operator", "punctuation", "comment")),
        *(f"--md-code-hl-{x}-color" for x in ("generic", "variable")),
    ),
    "--md-primary-fg-color": ("--md-primary-bg-color", "--md-primary-bg-color--light"),
    "--md-footer-bg-color": ("--md-footer-fg-color", "--md-footer-fg-color--light"),
}
"""What is written in on a ground, each by the theme's name for its color."""


def test_colors_have_the_contrast_that_text_needs() -> None:
    sheets = [
        path.read_text(encoding="utf-8")
        for name in ("assets/stylesheets/main.*.css", "assets/stylesheets/pal*.css")
        for path in SITE.glob(name)
    ]
    assert len(sheets) == 2
    sheets.append((SITE / "site.css").read_text(encoding="utf-8"))
    schemes = _schemes()
    assert {x["data-md-color-scheme"] for x in schemes} == {"default", "slate"}
    for root in schemes:
        known = properties(sheets, root)
        white = color(known["--md-default-bg-color"], known)
        for ground, texts in GROUNDS.items():
            below = over(color(known[ground], known), white)
            faint = {x: contrast(color(known[x], known), below) for x in texts}
            faint = {x: ratio for x, ratio in faint.items() if ratio < AA}
            assert faint == {}, (root, ground)
