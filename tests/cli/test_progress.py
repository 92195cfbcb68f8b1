"""The bar: on terminals alone, after a second, and gone at the end."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensorgen.cli.streams import Progress
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


def test_who_is_quiet_or_a_pipe_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress(False, ["a.yaml"]) is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert progress(False, ["a.yaml"]) is not None
    assert progress(True, ["a.yaml"]) is None


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
