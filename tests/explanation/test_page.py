"""The page: whole, closed, and nothing from elsewhere; files of others stay."""

import re
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest

from tensorgen.explanation.dag import dag_of, dot
from tensorgen.explanation.drawing import NoGraphvizError, drawn
from tensorgen.explanation.page import page
from tensorgen.explanation.written_files import MARK, ForeignFileError, write_file
from tests.explanation.told import HOSTILE, subject, told, told_of

EMPTY = {"meta", "link", "br", "img"}
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "nav"),
    *("section", "h1", "h2", "h3", "p", "a", "code", "div", "pre", "span", "small"),
    *("table", "tr", "td", "math", "mrow", "mi", "mn", "mo", "mtext", "msub", "msup"),
    *("munderover", "msubsup", "mfrac", "msqrt", "svg", "path", "text", "g", "rect"),
}


class Reader(HTMLParser):
    """Holds a page to closing what it opens, and to what it may refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.classes: dict[str, set[str]] = {}
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        if tag not in EMPTY:
            self.open.append(tag)
        for name, value in attrs:
            assert value is not None
            assert name not in ("src", "style") and not name.startswith("on")
            if name == "href":
                self.links.append(value)
            elif name == "id":
                self.ids.append(value)
            elif name == "class":
                for own in value.split():
                    self.classes.setdefault(own, set()).add(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words += data


def parsed(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.parametrize(
    "name", ["logistic_regression", "matrix_factorization", "rosenbrock"]
)
def test_a_page_is_whole_and_asks_for_nothing_from_elsewhere(name: str) -> None:
    text = page(told(name))
    reader = parsed(text)
    assert reader.ids == [link.removeprefix("#") for link in reader.links]
    assert len(reader.ids) == len(told(name).subjects)
    assert not re.search(r"https?:|url\(|@import|<script", text)
    assert all(f"{x.name}" in reader.words for x in told(name).subjects)


def test_a_value_is_lit_up_in_formulas_statements_and_the_picture() -> None:
    text = page(told("logistic_regression"))
    start = text.index('<section id="f1">')
    reader = parsed(text[start : text.index('<section id="f2">')])
    names = [
        e.name for e in subject(told("logistic_regression"), "loss_grad").equations
    ]
    t = f"p{names.index('t')}"
    assert reader.classes[t] == {"mi", "span", "g"}
    assert reader.classes["s" + t[1:]] == {"span"}
    assert f"section:has(.{t}:hover)" in text


def test_matrices_stand_first_with_latex_to_copy() -> None:
    text = page(told("logistic_regression"))
    start = text.index('<section id="f1">')
    section = text[start : text.index('<section id="f2">')]
    assert section.index("<h3>In matrices</h3>") < section.index("<h3>Formula</h3>")
    first, second = (unescape(x) for x in re.findall(r'data-latex="([^"]*)"', section))
    assert r"{X}^{\top} \, \left(y \odot" in first
    assert r"\sum_{j=0}" in second
    assert "<mi>\N{DOWN TACK}</mi>" in section


def test_names_and_documentation_are_text_on_a_page() -> None:
    text = page(told_of(HOSTILE))
    reader = parsed(text)
    assert text.count("<!--") == text.count("-->") == 1
    assert "<script>alert(1)</script>" in reader.words
    assert "it's \"so\" \\ <script src='http://a.b'></script>" in reader.words


def test_every_value_of_a_small_function_is_in_its_picture() -> None:
    of = told("rosenbrock")
    reader = page(of)
    for k, own in enumerate(of.subjects):
        end = f'<section id="f{k + 1}">'
        section = reader[reader.index(f'<section id="f{k}">') :].partition(end)[0]
        assert section.count("<rect ") == len(dag_of(own).vertices)


def test_files_that_are_not_ours_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    text = page(told("rosenbrock"))
    assert write_file(path, text)
    assert not write_file(path, text)
    assert write_file(path, text.replace("f_grad", "f_other"))
    path.write_text("work", encoding="utf-8")
    with pytest.raises(ForeignFileError, match="was not written by tensorgen explain"):
        write_file(path, text)
    assert path.read_text(encoding="utf-8") == "work"
    assert write_file(path, text, force=True)
    assert path.read_text(encoding="utf-8") == text
    assert [x.name for x in tmp_path.iterdir()] == ["a.html"]


def test_a_mark_further_down_makes_no_file_ours(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("work\n" * 100 + MARK, encoding="utf-8")
    with pytest.raises(ForeignFileError):
        write_file(path, "new")


class _MissingError(Exception):
    """The program is not there."""


@pytest.mark.parametrize("program", [True, False])
def test_pictures_are_drawn_by_graphviz(
    monkeypatch: pytest.MonkeyPatch, program: bool
) -> None:
    text = dot(told("rosenbrock"))
    drawing = '<?xml version="1.0"?>\n<!-- by dot -->\n<svg></svg>\n'

    class Source:
        def __init__(self, given: str) -> None:
            assert given == text

        def pipe(self, format: str, encoding: str) -> str:
            if not program:
                raise _MissingError
            assert (format, encoding) == ("svg", "utf-8")
            return drawing

    library = SimpleNamespace(Source=Source, ExecutableNotFound=_MissingError)
    monkeypatch.setitem(sys.modules, "graphviz", library)
    if program:
        expected = f'<?xml version="1.0"?>\n{MARK}\n<svg></svg>\n'
        assert drawn(text) == expected
    else:
        with pytest.raises(NoGraphvizError, match="install Graphviz"):
            drawn(text)


def test_what_to_install_for_pictures_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(NoGraphvizError, match=re.escape("'tensorgen[explain]'")):
        drawn("digraph {}")
