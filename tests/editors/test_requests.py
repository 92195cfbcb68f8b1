"""What editors ask `tensorgen lsp`, by the protocol, and do with its answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tensorgen.editor.definitions import PRELUDE
from tests.editors.client import Client, Refused
from tests.editors.specs import SPEC, inside

SMILE = "\N{GRINNING FACE}"
WIDE = SPEC.replace("doc: the unknowns", f'doc: "{SMILE}", spd: false')
"""A spec in which columns of characters are not those of UTF-16."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    command = [sys.executable, "-m", "tensorgen", "lsp"]
    with Client(command, tmp_path_factory.mktemp("specs")) as client:
        assert client.write("a.yaml", SPEC) == []
        yield client


def place(before: str, text: str = SPEC) -> tuple[int, int]:
    """The line and the column behind a piece of a text, in the units of editors."""
    _, offset = inside(before, text)
    line = text[:offset].split("\n")
    return len(line) - 1, len(line[-1].encode("utf-16-le")) // 2


def changed(text: str, edits: Sequence[Any]) -> str:
    """What an editor makes of edits, which count columns in UTF-16."""
    lines = [line.encode("utf-16-le") for line in text.splitlines(keepends=True)]
    starts = [sum(map(len, lines[:k])) for k in range(len(lines) + 1)]
    whole = b"".join(lines)

    def offset(at: Any) -> int:
        return starts[int(at["line"])] + 2 * int(at["character"])

    for edit in sorted(edits, key=lambda x: offset(x["range"]["start"]), reverse=True):
        start, end = (offset(edit["range"][x]) for x in ("start", "end"))
        whole = whole[:start] + edit["newText"].encode("utf-16-le") + whole[end:]
    return whole.decode("utf-16-le")


def test_it_says_what_it_can_do(client: Client) -> None:
    can = client.can
    for what in ("hover", "definition", "references", "documentHighlight"):
        assert can[f"{what}Provider"]
    assert can["documentSymbolProvider"] and can["documentFormattingProvider"]
    assert can["renameProvider"] == {"prepareProvider": True}
    assert can["codeActionProvider"] == {"codeActionKinds": ["quickfix"]}
    assert can["completionProvider"]["triggerCharacters"] == ["."]


def test_a_word_is_completed(client: Client) -> None:
    wide = WIDE.replace("spd: false", "symm")
    client.write("wide.yaml", wide)
    found = client.at("wide.yaml", *place("symm", wide), "completion")
    by_label = {item["label"]: item for item in found["items"]}
    assert "spd" in by_label and "positive" not in by_label  # it is there already
    edit = by_label["symmetric"]["textEdit"]
    assert changed(wide, [edit]) == wide.replace("symm", "symmetric")
    line, column = place("double(a, tot")
    items = client.at("a.yaml", line, column, "completion")["items"]
    (item,) = (x for x in items if x["label"] == "total")
    assert item["detail"].startswith("total = sum(d[k]") and item["kind"] == 6
    (item,) = (x for x in items if x["label"] == "x")
    assert item["documentation"]["kind"] == "markdown"


def test_a_definition_and_references_are_found(client: Client) -> None:
    (found,) = client.at("a.yaml", *place("double(a, tot"), "definition")
    line, column = place("      total")
    assert found["uri"] == client.uri("a.yaml")
    assert found["range"]["end"] == {"line": line, "character": column}
    context = {"includeDeclaration": False}
    (found,) = client.at("a.yaml", *place("      total"), "references", context=context)
    assert found["range"]["start"]["line"] == line + 1
    assert len(client.at("a.yaml", line, column, "documentHighlight")) == 2
    client.write("b.yaml", SPEC.replace("norm(y)", "norm(gelu(y))"))
    (found,) = client.at("b.yaml", *place("norm("), "definition")
    assert found["uri"] == Path(PRELUDE).as_uri()
    line = found["range"]["start"]["line"]
    assert Path(PRELUDE).read_text().splitlines()[line].startswith("gelu(x) =")


def test_a_name_is_renamed(client: Client) -> None:
    client.write("wide.yaml", WIDE)
    at = place("wrt: x", WIDE)
    found = client.at("wide.yaml", *at, "prepareRename")
    assert found["placeholder"] == "x"
    assert found["range"]["end"] == dict(zip(("line", "character"), at, strict=True))
    edit = client.at("wide.yaml", *at, "rename", newName="longer")
    after = changed(WIDE, edit["changes"][client.uri("wide.yaml")])
    assert f'longer: {{shape: [n], positive: true, doc: "{SMILE}"' in after
    assert after.count("longer") == 12 and client.write("wide.yaml", after) == []


def test_a_name_is_refused_with_the_reason(client: Client) -> None:
    with pytest.raises(Refused, match="'X' is the name of an input twice") as refused:
        client.at("a.yaml", *place("wrt: x"), "rename", newName="X")
    assert refused.value.code == -32803
    with pytest.raises(Refused, match="here is no name that the spec defines"):
        client.at("a.yaml", *place("emit: [val"), "prepareRename")


def test_a_document_is_formatted(client: Client) -> None:
    wrong = WIDE.replace("X @ x", "X@  x").replace("2 * t + u", "2 *t + u  ")
    client.write("wide.yaml", wrong)
    options = {"tabSize": 2, "insertSpaces": True}
    edits = client.of("wide.yaml", "formatting", options=options)
    assert changed(wrong, edits) == WIDE
    assert client.of("a.yaml", "formatting", options=options) == []


def test_line_ends_of_windows_are_kept(client: Client) -> None:
    wrong = WIDE.replace("X @ x", "X@  x").replace("\n", "\r\n")
    client.write("wide.yaml", wrong)
    options = {"tabSize": 2, "insertSpaces": True}
    edits = client.of("wide.yaml", "formatting", options=options)
    assert changed(wrong, edits) == WIDE.replace("\n", "\r\n")


def test_what_is_meant_is_offered_where_the_fault_is(client: Client) -> None:
    wrong = WIDE.replace("both.loss", "both.los").replace("sum(f**2)", "sum(ff**2)")
    found = client.write("wide.yaml", wrong)
    assert len(found) == 2
    while found:
        one, *_ = found
        actions = client.of(
            "wide.yaml",
            "codeAction",
            range=one["range"],
            context={"diagnostics": [one]},
        )
        (action,) = (x for x in actions if x["diagnostics"] == [one])
        assert action["kind"] == "quickfix" and action["isPreferred"]
        wrong = changed(wrong, action["edit"]["changes"][client.uri("wide.yaml")])
        found = client.write("wide.yaml", wrong)
    assert wrong == WIDE
    start = {"line": 0, "character": 0}
    nowhere = {"start": start, "end": start}
    assert (
        client.of("wide.yaml", "codeAction", range=nowhere, context={"diagnostics": []})
        == []
    )


def test_an_outline_has_what_is_within(client: Client) -> None:
    found = client.of("a.yaml", "documentSymbol")
    by_name = {one["name"]: one for one in found}
    assert [x["name"] for x in by_name["f"]["children"]] == ["d", "s", "s", "total"]
    assert by_name["f"]["range"]["end"]["line"] == place("jacobian")[0]


def test_of_other_files_nothing_is_said(client: Client) -> None:
    client.write("other.yaml", "on: push\nx: summ(y )\n")
    for what in ("hover", "completion", "definition", "prepareRename"):
        assert client.at("other.yaml", 1, 4, what) is None
    assert client.of("other.yaml", "documentSymbol") is None
