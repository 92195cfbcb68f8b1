"""Diagnostics for machines, and for people in colours."""

import json

import pytest

from tensorgen import cli
from tensorgen.cli import streams
from tests.cli.shell import SPEC, WRONG, Shell


def test_json_has_every_fault_with_its_place(shell: Shell) -> None:
    shell.write("a.yaml", WRONG)
    run = shell("gen", "--format", "json", "a.yaml", "none.yaml")
    assert (run.code, run.err) == (cli.WRONG, "")
    _, first, last = json.loads(run.out)
    place = {"file": "a.yaml", "line": 2, "column": 1, "end_line": 2, "end_column": 10}
    assert first["severity"] == "error" and first.items() >= place.items()
    assert "'functoins' is not a key of a spec" in first["message"]
    assert first["hint"] == "did you mean 'functions'?"
    assert last["file"] == "none.yaml" and last["line"] is None


def test_github_gets_commands_that_nothing_in_a_spec_can_end(shell: Shell) -> None:
    text = WRONG.replace("functoins", "'::%functoins'") + "module: m\n"
    shell.write("a,b.yaml", text)
    run = shell("gen", "--format", "github", "a,b.yaml")
    (first,) = (line for line in run.out.splitlines() if "line=2" in line)
    assert first.startswith("::error file=a%2Cb.yaml,line=2,endLine=2,col=2,endColumn=")
    _place, message = first.removeprefix("::error ").split("::", 1)
    assert message.startswith("'::%25functoins' is not a key of a spec")
    assert "%0Ahint: " in run.out


def test_sarif_has_the_places_where_viewers_look(shell: Shell) -> None:
    shell.write("a.yaml", WRONG)
    run = shell("gen", "--format", "sarif", "a.yaml")
    (one,) = json.loads(run.out)["runs"]
    assert one["tool"]["driver"]["name"] == "tensorgen"
    (place,) = one["results"][1]["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "a.yaml"},
        "region": {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 10},
    }
    assert one["results"][0]["ruleId"] in [
        r["id"] for r in one["tool"]["driver"]["rules"]
    ]


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_stale_files_are_faults_and_nothing_is_said_beside(
    shell: Shell, form: str
) -> None:
    shell.write("a.yaml")
    run = shell("gen", "--check", "--format", form, "a.yaml", "-b", "numpy")
    assert (run.code, run.err) == (cli.STALE, "")
    assert "a_numpy.py" in run.out and "missing" in run.out
    shell("gen", "a.yaml", "-b", "numpy")
    run = shell("gen", "--check", "--format", form, "a.yaml", "-b", "numpy")
    assert run.code == cli.FINE and "a_numpy.py" not in run.out


def test_a_form_for_machines_goes_with_nothing_else_on_stdout(shell: Shell) -> None:
    shell.write("a.yaml")
    run = shell("gen", "--format", "json", "--stdout", "a.yaml")
    assert run.code == cli.WRONG and "--format needs stdout" in run.err


def test_a_difference_has_colours_on_a_terminal_alone(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.write("a.yaml")
    shell("gen", "a.yaml", "-b", "numpy")
    shell.write("a.yaml", SPEC.replace("x2", "x3"))
    plain = shell("gen", "--diff", "a.yaml", "-b", "numpy").out
    assert "\x1b" not in plain
    monkeypatch.setattr(streams, "color", lambda stream=None: True)
    coloured = shell("gen", "--diff", "a.yaml", "-b", "numpy").out
    assert "\x1b[31m-# cross-country: x2 é\x1b[0m\n" in coloured
    assert "\x1b[32m+# cross-country: x3 é\x1b[0m\n" in coloured
    assert len(coloured.splitlines()) == len(plain.splitlines())


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    assert streams.color(terminal)  # type: ignore[arg-type]
    monkeypatch.setenv("NO_COLOR", "1")
    assert not streams.color(terminal)  # type: ignore[arg-type]
