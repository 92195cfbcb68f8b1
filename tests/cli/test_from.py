"""`tensorgen from`: specs of formulas in other notations, on the command line."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import yaml

from tensorgen import cli
from tensorgen.cli.codes import NOTATIONS
from tensorgen.frontends import notations
from tests.cli.shell import Shell

LEAST_SQUARES = "norm2(A*x - y)^2\n"


def test_the_notations_are_those_of_the_table() -> None:
    assert set(NOTATIONS) == set(notations.NOTATIONS)


def test_a_spec_is_printed(shell: Shell) -> None:
    run = shell("from", "--text", LEAST_SQUARES, "--emit", "value,hessian")
    assert run.code == cli.FINE
    found = yaml.safe_load(run.out)
    assert found["functions"]["f"] == {
        "expr": "norm(A @ x - y)**2",
        "wrt": "x",
        "emit": ["value", "hessian"],
    }
    assert "note: Assumed: x and y are vectors; A is a matrix.\n" in run.err
    assert shell("from", "-q", "--text", LEAST_SQUARES).err == ""
    assert shell.files() == []


def test_a_file_is_written_and_what_was_changed_is_kept(shell: Shell) -> None:
    shell.write("fit.mc", LEAST_SQUARES)
    run = shell("from", "fit.mc", "-o", "fit.yaml", "--wrt", "x")
    assert (run.code, run.out) == (cli.FINE, "")
    assert run.err.endswith("wrote fit.yaml; next: tensorgen gen fit.yaml\n")
    path = shell.folder / "fit.yaml"
    assert yaml.safe_load(path.read_text("utf-8"))["module"] == "fit"
    run = shell("from", "fit.mc", "-o", "fit.yaml", "--wrt", "x")
    assert run.err.endswith("unchanged fit.yaml; next: tensorgen gen fit.yaml\n")
    # As it was written, it may be replaced; changed since, it is somebody's work.
    run = shell("from", "fit.mc", "-o", "fit.yaml", "--wrt", "A")
    assert run.code == cli.FINE and "wrt: A" in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8") + "# mine\n", "utf-8")
    before = path.read_bytes()
    run = shell("from", "fit.mc", "-o", "fit.yaml")
    assert run.code == cli.WRONG and path.read_bytes() == before
    assert "was changed since tensorgen wrote it; name another file, or" in run.err
    assert shell("from", "fit.mc", "-o", "fit.yaml", "--force").code == cli.FINE
    foreign = shell.write("mine.yaml", "mine")
    run = shell("from", "fit.mc", "-o", "mine.yaml")
    assert run.code == cli.WRONG and foreign.read_text("utf-8") == "mine"
    assert "mine.yaml exists and was not written by tensorgen from" in run.err


def test_the_notation_follows_from_the_file_or_is_said(shell: Shell) -> None:
    shell.write("a.tex", r"\sum_{i=1}^n x_i^2")
    assert "expr: sum(x[i]**2, i)" in shell("from", "a.tex").out
    shell.write("a.txt", "variables\n Vector x\nmin\n x'*x\n")
    assert "expr: x @ x" in shell("from", "a.txt").out
    assert shell("from", "a.txt", "--as", "matrixcalculus").code == cli.WRONG


def test_standard_input_is_read(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(LEAST_SQUARES.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert "module: formula" in shell("from", "-").out


def test_what_is_wrong_is_told(shell: Shell, tmp_path: Path) -> None:
    run = shell("from", "--text", "x'*(A*x")
    assert (run.code, run.out) == (cli.WRONG, "")
    assert run.err.startswith("<text>:1:8: error: '(' is not closed: ')' is missing\n")
    assert shell("from", "none.mc").err.startswith("error: cannot read none.mc: ")
    (tmp_path / "a.mc").write_bytes(b"x'*\xff")
    run = shell("from", "a.mc")
    assert run.code == cli.WRONG and "a.mc:1:4: error: the file is not UTF-8" in run.err
    assert "say FILE, or --text" in shell("from").err
    assert "say FILE, or --text" in shell("from", "a.mc", "--text", "x").err
    run = shell("from", "--text", "x'*x", "--wrt", "y")
    assert run.code == cli.WRONG and "no variable 'y'" in run.err
    run = shell("from", "--text", "x'*x", "--emit", "hesian")
    assert run.code == cli.WRONG and "hessian" in run.err
    assert shell.files() == ["a.mc"]
