"""Hooks of MkDocs: what the site takes in from beside `docs`, and where links lead.

What is made when the site is built has modules of its own: pages of functions
`function_pages.py`, formulas `typeset.py`. Pages made from docstrings are made by
mkdocstrings; for that of modules' classes, `emitted.yaml` is generated here.

Pages stand in the repository as one reads them there: their links lead to files, also
to those outside of `docs`. On the site a link to a page or a picture that is taken in
leads to it, and of one to another file of the repository the text is left. A link to a
file that does not exist is an error.
"""

from __future__ import annotations

import logging
import posixpath
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import tensorgen
from docs import function_pages, static_play
from docs.typeset import typeset

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "overview.md",
    "SECURITY.md": "security-policy.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages from beside `docs`, and what they are called on the site."""
PLAY = ROOT / "build" / "play"
"""The page of `tensorgen play` as files, which the site has in a folder of its own."""
SERVED = {"tensorgen/play/page/page.html": "play/index.html"}
"""What one sees in the repository, and works on the site."""
RESULTS = "benchmarks/results"
"""A folder of pictures and tables, which pages show and lead to."""
EMITTED = ROOT / "build" / "emitted" / "emitted.py"
"""The module whose classes docs/objects.md tells of."""
TABLES = "language.md"
"""The page with tables of functions."""
LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<to>[^()\s]+)\)")
FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"^<!-- .* -->\n", re.MULTILINE)

log = logging.getLogger("mkdocs.hooks.site")


def on_startup(command: str, dirty: bool) -> None:
    """Write what is made: the module of docs/objects.md, the page of static_play.py."""
    EMITTED.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(action="ignore", category=tensorgen.SpecWarning):
        text = tensorgen.generate(ROOT / "docs" / "emitted.yaml")
    EMITTED.write_text(text, encoding="utf-8")
    static_play.build(PLAY, static_play.named_runtime())


def on_config(config: Any) -> Any:
    """Fill in folders, leave out pages that are not there, and add others last."""
    docs = Path(config.docs_dir)
    config.nav = [*_entries(config.nav, docs)]
    named = {*_pages(config.nav)}
    every = sorted(x.relative_to(docs).as_posix() for x in docs.rglob("*.md"))
    if others := [page for page in every if page not in named]:
        config.nav.append({"More": others})
    return config


def _entries(nav: list[Any], docs: Path) -> Iterator[Any]:
    made = {*PAGES.values(), *SERVED.values()}
    for entry in nav:
        ((title, target),) = entry.items()
        if isinstance(target, list):
            yield {title: [*_entries(target, docs)]}
        elif target == f"{function_pages.FOLDER}/":
            yield {title: function_pages.nav()}
        elif target.endswith("/"):
            pages = sorted(x.name for x in (docs / target).glob("*.md"))
            pages.sort(key=lambda name: name != "index.md")
            if pages:
                yield {title: [target + name for name in pages]}
        elif target in made or (docs / target).is_file():
            yield entry
        else:
            log.info("no page %s", target)


def _pages(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        for target in entry.values() if isinstance(entry, dict) else [entry]:
            yield from _pages(target) if isinstance(target, list) else [target]


def on_files(files: Files, config: Any) -> Files:
    """Take in what is beside `docs`: pages, pictures and tables, and what is made."""
    for name, text in function_pages.pages().items():
        files.append(File.generated(config, name, content=text))
    for path, name in PAGES.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    for made in sorted(x for x in PLAY.rglob("*") if x.is_file()):
        name = f"play/{made.relative_to(PLAY).as_posix()}"
        files.append(File.generated(config, name, abs_src_path=str(made)))
    for result in sorted((ROOT / RESULTS).glob("*.*")):
        name = f"{RESULTS}/{result.name}"
        files.append(File.generated(config, name, abs_src_path=str(result)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Let links lead to pages of the site; take out marks of quotations."""
    at = {name: path for path, name in PAGES.items()}.get(page.file.src_uri)
    here = posixpath.dirname(at if at is not None else f"docs/{page.file.src_uri}")
    start = posixpath.dirname(page.file.src_uri)

    def led(found: re.Match[str]) -> str:
        target, sign, anchor = found["to"].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        path = posixpath.normpath(posixpath.join(here, target))
        name = {**PAGES, **SERVED}.get(path, path.removeprefix("docs/"))
        if files.get_file_from_path(name) is not None:
            shown = posixpath.relpath(name, start or ".")
            return f"{found['text']}({shown}{sign}{anchor})"
        if not (ROOT / path).exists():
            log.warning("%s links to %s, which does not exist", page.file.src_uri, path)
        return found["text"][1:-1]

    if page.file.src_uri == TABLES:
        markdown = function_pages.linked(markdown)
    parts = FENCED.split(MARK.sub("", markdown))  # code is every second one
    parts[::2] = [LINK.sub(led, part) for part in parts[::2]]
    parts[1::2] = [typeset(part) for part in parts[1::2]]
    return "".join(parts)
