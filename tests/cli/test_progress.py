"""The bar, on terminals after a second and gone at the end; elsewhere, lines."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensorgen import pipeline
from tensorgen.cli import streams
from tensorgen.cli.streams import Lines, Progress, Silent
from tensorgen.cli.voice import progress
from tests.cli.shell import Shell


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_comes_after_a_second_and_goes_at_the_end() -> None:
    now = [0.0]
    terminal = Terminal()
    bar = Progress(["a.yaml", "b.yaml"], lambda: now[0], terminal)
    bar("f: planning f_grad")
    now[0] = 0.9
    bar("f: planning f_hess")
    assert terminal.getvalue() == ""
    now[0] = 1.1
    bar("f: writing f_grad")
    assert "f: writing f_grad" in terminal.getvalue()
    assert "0/2" in terminal.getvalue()
    bar.advance()
    now[0] = 1.5
    bar("g: planning\x1b[2J")
    shown = terminal.getvalue()
    assert "1/2" in shown and "g: planning" in shown and "\x1b[2J" not in shown
    bar.end()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_bar_that_never_came_leaves_nothing() -> None:
    terminal = Terminal()
    bar = Progress(["a.yaml"], lambda: 0.0, terminal)
    bar("f: planning f_grad")
    bar.end()
    assert terminal.getvalue() == ""


def test_where_it_is_no_terminal_there_is_a_line_every_twenty_seconds() -> None:
    now, pipe = [0.0], io.StringIO()
    told = Lines(["a.yaml", "b.yaml"], lambda: now[0], pipe)
    for now[0] in (0.1, 19.9, 20.1, 20.2, 39.0):
        told("f: planning f_grad")
    assert pipe.getvalue() == "20 s: a.yaml (1 of 2): f: planning f_grad\n"
    told.advance()
    now[0] = 41.0
    told("g: planning\x1b[2J")
    told.end()
    _, second = pipe.getvalue().splitlines()
    assert second.startswith("41 s: b.yaml (2 of 2): g: planning")
    assert "\x1b" not in second


def test_a_terminal_gets_a_bar_a_pipe_lines_and_who_is_quiet_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert isinstance(progress(False, ["a.yaml"]), Lines)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(progress(False, ["a.yaml"]), Progress)
    assert type(progress(True, ["a.yaml"])) is Silent


def test_a_long_run_into_a_pipe_says_what_it_is_at(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "SILENCE", 0.0)
    shell.write("a.yaml", "tensorgen: 1\ninputs: {x: [n]}\nfunctions: {f: sum(x)}\n")

    monkeypatch.setitem(sys.modules, "tensorgen.pipeline", pipeline)
    said = shell("gen", "a.yaml", "-b", "numpy").err
    assert "0 s: a.yaml (1 of 1): f: " in said and said.endswith("wrote a_numpy.py\n")
    said = shell("verify", "a.yaml", "-b", "numpy").err
    assert "verifying f of a_numpy.py" in said


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_shells_get_what_completes(shell: Shell, shell_name: str) -> None:
    run = shell("completion", shell_name)
    assert run.code == 0 and "_TENSORGEN_COMPLETE" in run.out


def test_completion_knows_commands_and_options() -> None:
    words = {"COMP_WORDS": "tensorgen gen --ch", "COMP_CWORD": "2"}
    run = subprocess.run(
        [sys.executable, "-m", "tensorgen"],
        env={"_TENSORGEN_COMPLETE": "bash_complete", **words},
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert re.findall(r"--\S+", run.stdout) == ["--check"]


def test_watching_without_its_package_says_what_to_install(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.write("a.yaml")
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    run = shell("gen", "--watch", "a.yaml")
    assert run.code == 2 and "pip install 'tensorgen[watch]'" in run.err


def test_watching_writes_again_when_a_spec_changes(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    watchfiles = pytest.importorskip("watchfiles")
    path = shell.write("a.yaml")
    other = str(shell.folder / "notes.txt")

    def changes(*folders: Path, watch_filter, raise_interrupt):  # type: ignore[no-untyped-def]
        assert [*folders] == [shell.folder]
        assert watch_filter(None, str(path)) and not watch_filter(None, other)
        yield set()
        path.write_text("wrong", "utf-8")
        yield set()
        raise KeyboardInterrupt

    monkeypatch.setattr(watchfiles, "watch", changes)
    run = shell("gen", "--watch", "a.yaml", "-b", "numpy")
    assert run.code == 130
    lines = run.err.splitlines()
    assert lines[0] == "wrote a_numpy.py"
    assert lines[1].startswith("watching a.yaml")
    assert lines[2] == "unchanged a_numpy.py"
    assert "a.yaml:1:1: error: " in run.err
