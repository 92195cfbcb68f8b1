"""The site in a real browser, opened from its folder: `make docs` runs this too.

No page is wider than a phone, text is told from its ground, and the search finds
functions without a server.
"""

from __future__ import annotations

from typing import Any

import pytest

from tensorgen.explanation.function_reference import entries
from tests.built_site import PAGES, SITE
from tests.contrast import AA
from tests.play.browser import opened

pytestmark = pytest.mark.browser

LOOKED_AT = (
    *("index", "tutorial", "language", "derivatives", "performance", "from-thoad"),
    *("api", "engines", "objects", "gallery/logistic", "gallery/index"),
    *("functions/index", "functions/log", "functions/cholesky", "functions/spline"),
)
"""Pages that are looked at in both palettes; of those of functions, these alone."""
HOME = (SITE / "index.html").as_uri()
CONTRASTS = """() => {
  const parsed = (text) => {
    const found = text.match(/[\\d.]+/g).map(Number);
    return found.length < 4 ? [...found, 1] : found;
  };
  const over = (a, b) => [0, 1, 2].map((k) => a[3] * a[k] + (1 - a[3]) * b[k]);
  const linear = (x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  const light = (color) => [0.2126, 0.7152, 0.0722]
    .reduce((sum, weight, k) => sum + weight * linear(color[k] / 255), 0);
  const ground = (node) => {
    if (!node) return [255, 255, 255];
    const own = parsed(getComputedStyle(node).backgroundColor);
    return own[3] == 1 ? own : over(own, ground(node.parentElement));
  };
  const seen = { visibilityProperty: true, opacityProperty: true };
  const found = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode()); ) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.checkVisibility(seen)) continue;
    const below = ground(node);
    const above = over(parsed(getComputedStyle(node).color), below);
    const [most, least] = [light(above), light(below)].sort((x, y) => y - x);
    const name = `${node.tagName}.${node.className} ${text.data.trim().slice(0, 20)}`;
    found[name] = (most + 0.05) / (least + 0.05);
  }
  return found;
}"""

FIRST = """(name) => document.querySelector(".md-search-result__link")?.href
  .split("?")[0].endsWith(`/functions/${name}.html`)"""


def test_no_page_is_wider_than_a_phone(chromium: Any) -> None:
    wide = []
    looked_at = [SITE / f"{name}.html" for name in LOOKED_AT]
    others = {x for x in PAGES if x.name != "404.html" and x.parent.name != "functions"}
    with opened(chromium, HOME, "phone") as page:
        for path in [*looked_at, *sorted(others - {*looked_at})]:
            page.goto(path.as_uri())
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > page.viewport_size["width"]:
                wide.append((path.relative_to(SITE).as_posix(), width))
        assert page.told == []
    assert wide == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_told_from_its_ground(chromium: Any, scheme: str) -> None:
    faint: dict[tuple[str, str], float] = {}
    with opened(chromium, HOME, "desktop", scheme) as page:
        for name in LOOKED_AT:
            page.goto((SITE / f"{name}.html").as_uri())
            found = page.evaluate(CONTRASTS)
            assert len(found) > 10
            faint |= {(name, x): y for x, y in found.items() if y < AA - 0.01}
    assert faint == {}


def test_a_table_scrolls_by_itself_on_a_phone(chromium: Any) -> None:
    address = (SITE / "language.html").as_uri() + "#elementwise"
    with opened(chromium, address, "phone") as page:
        widths = page.evaluate(
            """() => [...document.querySelectorAll("article table")].map((table) => {
              const around = table.closest(".md-typeset__scrollwrap");
              return [around.scrollWidth, around.clientWidth,
                      getComputedStyle(around).overflowX];
            })"""
        )
    assert any(inner > outer for inner, outer, _ in widths)
    assert {overflow for *_, overflow in widths} == {"auto"}


def test_the_search_finds_each_function_first(chromium: Any) -> None:
    with opened(chromium, HOME) as page:
        page.click("[data-md-component=search-query]")
        page.get_by_text("Type to start searching").wait_for()
        for name in (entry.name for entry in entries()):
            page.fill("[data-md-component=search-query]", name)
            page.keyboard.press("Shift")  # the search listens to keys
            page.wait_for_function(FIRST, arg=name, timeout=10_000)
        assert page.told == []
