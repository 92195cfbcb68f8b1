"""Links of documents lead to files that are there, or to addresses that can be ones."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.documents import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\(([^()\s]+)\)")
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")


def links(text: str) -> list[str]:
    """The targets of the links of a page, none of them in code."""
    return LINK.findall(CODE.sub("`", FENCED.sub("", text)))


def fault(page: Path, target: str) -> str | None:
    """What is wrong with a link, if anything."""
    parts = urlsplit(target)
    if parts.scheme or target.startswith("//"):
        host = parts.hostname or ""
        good = parts.scheme == "https" and re.fullmatch(
            r"[a-z0-9-]+(\.[a-z0-9-]+)+", host
        )
        return None if good else f"{target} is no address of the web"
    if parts.path and not (page.parent / parts.path).exists():
        return f"{target} does not exist"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    found = links(page.read_text(encoding="utf-8"))
    assert [x for target in found if (x := fault(page, target))] == []


@pytest.mark.parametrize(
    "target",
    ["http://a.org", "https://a", "//a.org/b", "https:/a.org", "none.md", "ftp:a"],
)
def test_a_wrong_link_is_found(target: str) -> None:
    text = f"see [it\nhere]({target}), not `[this](code)`\n```text\n[or](that)\n```\n"
    assert links(text) == [target]
    assert fault(ROOT / "README.md", target) is not None


def test_good_links_are_let_pass() -> None:
    for target in ("https://a.org/b?c#d", "docs/time.md#what-it-costs", "#limits"):
        assert fault(ROOT / "README.md", target) is None
