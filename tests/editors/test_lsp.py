"""`tensorgen lsp`: faults as one types, formulas and structure under the pointer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorgen.editor.faults import faults, is_spec
from tensorgen.editor.hover import told
from tensorgen.errors import Source
from tests.editors.client import Client, Refused

SPEC = """\
tensorgen: 1
dims: {m: 50, n: 20}
inputs:
  x: {shape: [n], positive: true, doc: "the unknowns"}
  row: {shape: [e], index: n}
  a: {shape: scalar, default: 0.5}
definitions: |
  double(t) = 2 * t
functions:
  f:
    where: |
      d[i] = x[i + 1] - x[i]
    expr: logsumexp(d) + double(a)  # sum is not here
    wrt: x
    emit: [value, hessian]
  g: f**2
"""


def said(word: str, shift: int = 0, text: str = SPEC) -> str:
    found = told(Source("a.yaml", text), text.index(word) + shift)
    return "" if found is None else found.markdown


def test_a_function_has_formula_structure_and_cost() -> None:
    text = said("  f:", 2)
    assert "**f**: Value of `f`." in text and "**f_hess**: Hessian of `f`" in text
    assert "d[i] = x[i + 1] - x[i]" in text and "stores 5*n = 100 of" in text
    assert "stores" in text and "flops" in text and "at m = " not in text
    assert said("f**2") == text


@pytest.mark.parametrize(
    ("word", "shift", "part"),
    [
        ("x:", 0, "**x**: shape (n,), nonnegative, positive\n\nthe unknowns"),
        ("row:", 0, "shape (e,), integers from 0 to n - 1"),
        ("a: {", 0, "a number, by default 0.5"),
        ("x[i + 1]", 0, "the unknowns"),
        ("logsumexp(d)", 10, "d[i] = x[i + 1] - x[i]\n```\n\nshape (n - 1,)"),
        ("logsumexp(d)", 0, "logsumexp(x"),
        ("double(a)", 0, "double = 2 * t"),
        ("m: 50", 0, "A dim, taken for 50"),
    ],
)
def test_a_name_is_explained(word: str, shift: int, part: str) -> None:
    assert part in said(word, shift)


def test_an_input_with_a_batch_is_of_one_sample() -> None:
    text = SPEC.replace("positive: true", "batch: [s]")
    assert "**x**: shape (n,), a sample a row, s in all" in said("x:", 0, text)


def test_where_no_name_stands_nothing_is_said() -> None:
    assert said("# sum", 3) == said("= 2 *", 0) == said("emit", 0) == ""


def test_faults_are_those_of_gen_and_the_language_is_known_in_wrong_specs() -> None:
    wrong = SPEC.replace("logsumexp(d)", "logsumxp(d)")
    (found,) = faults(Source("a.yaml", wrong))
    assert found.hint == "did you mean 'logsumexp'?"
    assert faults(Source("a.yaml", SPEC)) == ()
    assert "logsumexp(x" in said("logsumexp(1)", 0, wrong + "  h: logsumexp(1)\n")
    assert is_spec(SPEC) and not is_spec("name: x\nuses: tensorgen\n")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    command = [sys.executable, "-m", "tensorgen", "lsp", "--stdio"]
    with Client(command, tmp_path_factory.mktemp("specs")) as client:
        yield client


def test_an_editor_hears_of_faults_and_what_is_under_the_pointer(
    client: Client,
) -> None:
    assert client.write("a.yaml", SPEC) == []
    # The columns of the protocol are those of UTF-16.
    wrong = SPEC.replace('"the unknowns"', '"\N{GRINNING FACE}", spd: 3')
    (found,) = client.write("a.yaml", wrong)
    line = wrong.splitlines()[3]
    start = len(line[: line.index("spd")].encode("utf-16-le")) // 2
    assert found["range"]["start"] == {"line": 3, "character": start}
    assert found["source"] == "tensorgen"
    assert client.write("a.yaml", SPEC) == []
    hover = client.at("a.yaml", 9, 2, "hover")
    assert "stores 5*n = 100 of" in hover["contents"]["value"]
    assert hover["range"]["end"] == {"line": 9, "character": 3}


@pytest.mark.parametrize(
    ("line", "column"), [(999, 0), (-1, 0), (0, -1), ("x", 0), (None, 0)]
)
def test_a_place_that_is_none_is_answered_by_an_error(
    client: Client, line: Any, column: Any
) -> None:
    client.write("a.yaml", SPEC)
    with pytest.raises(Refused) as refused:
        client.at("a.yaml", line, column, "hover")
    assert refused.value.code == -32602
    # An end of a line and one of the text are places, and what is beyond the end of
    # a line is its end, as the protocol has it.
    for line, column in ((0, 99), (SPEC.count("\n"), 0)):
        assert client.at("a.yaml", line, column, "hover") is None


def test_what_is_no_spec_is_left_alone(client: Client) -> None:
    assert client.write("b.yaml", "on: push\njobs: {}\n") == []
    assert client.at("b.yaml", 0, 0, "hover") is None


def test_without_pygls_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, importlib.util as u\n"
        "old = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'pygls' else old(name, *a)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tensorgen", "lsp"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}", "PATH": "/"},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "lsp needs the package pygls: pip install 'tensorgen[lsp]'" in done.stderr
