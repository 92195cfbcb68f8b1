"""The published schema in yaml-language-server, as editors run it: `make editors`.

Needs Node and npm, and an index of packages, or the server in `build/editors` already;
without them these tests are skipped, and counted.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.editors.client import Client

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "editors"
SERVER = PLACE / "node_modules" / ".bin" / "yaml-language-server"
SCHEMA = ROOT / "schema" / "tensorgen.schema.json"
SPEC = f"""\
# yaml-language-server: $schema={SCHEMA.as_uri()}
tensorgen: 1
dims: {{n: 20}}
inputs:
  x: {{shape: [n], doc: a vector}}
functions:
  f:
    expr: sum(x**2)
    wrt: x
    emit: [value, gradient]
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    # Most who work on this have no Node; `.ci/run` says what it skips.
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("Node and npm are not here")
    if not SERVER.exists():
        PLACE.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--prefix", str(PLACE), "--no-audit", "--no-fund"]
        try:
            subprocess.run(
                [*command, "yaml-language-server"],
                capture_output=True,
                timeout=300,
                check=True,
            )
        except subprocess.SubprocessError:
            pytest.skip("npm cannot install yaml-language-server here")
    folder = tmp_path_factory.mktemp("specs")
    with Client([node, str(SERVER.resolve()), "--stdio"], folder) as client:
        yield client


def place(text: str, after: str) -> tuple[int, int]:
    """The line and the column behind some text."""
    before = text[: text.index(after) + len(after)]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def labels(found: Any) -> set[str]:
    items = found["items"] if isinstance(found, dict) else found
    return {item["label"].strip() for item in items or []}


def test_a_spec_is_right_and_a_wrong_key_is_found(client: Client) -> None:
    assert client.write("right.yaml", SPEC) == []
    (found,) = client.write("wrong.yaml", SPEC.replace("wrt:", "wtr:"))
    assert "wtr" in found["message"]
    assert found["range"]["start"] == {"line": 8, "character": 4}
    (found,) = client.write("order.yaml", SPEC.replace("{n: 20}", "{n: -3}"))
    assert found["range"]["start"]["line"] == 2


@pytest.mark.parametrize(
    ("text", "after", "wanted"),
    [
        (SPEC + "unk", "\nunk", {"unknowns"}),
        (SPEC.replace("    wrt: x\n", "    w\n"), "    w", {"where", "wrt"}),
        (SPEC.replace("doc: a vector", "s"), "[n], s", {"spd", "symmetric", "sparse"}),
        (SPEC.replace("gradient]", "]"), "[value, ", {"hessian", "hvp", "problem"}),
        (SPEC + "backends: [n", "backends: [", {"numpy", "cupy"}),
    ],
)
def test_keys_and_words_are_completed(
    client: Client, text: str, after: str, wanted: set[str]
) -> None:
    name = f"{abs(hash(after))}.yaml"
    client.write(name, text)
    assert wanted <= labels(client.at(name, *place(text, after), "completion"))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("dims", "Names of sizes"),
        ("  x", "An argument: its shape"),
        ("    wrt", "Inputs to differentiate by"),
        ("    emit", "by default value and first derivative"),
        ("{shape", "A shape: [m, n]"),
    ],
)
def test_what_is_under_the_pointer_is_explained(
    client: Client, word: str, said: str
) -> None:
    client.write("hover.yaml", SPEC)
    line, column = place(SPEC, word)
    found = client.at("hover.yaml", line, column - 1, "hover")
    contents = found["contents"]
    text = contents["value"] if isinstance(contents, dict) else contents
    assert said in text.replace("\\", "")
