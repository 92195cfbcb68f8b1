"""Files that are not what they seem: what is read, and what is in the way."""

import os
import sys
from pathlib import Path

import pytest

import tensorgen
from tensorgen import cli
from tensorgen.files import LARGEST_TEXT
from tests.cli.shell import SPEC, Shell, module


def said(shell: Shell, *arguments: str) -> str:
    """Return the one line that a command says before it exits with 2."""
    run = shell("gen", *arguments)
    assert (run.code, run.out) == (cli.WRONG, "")
    (line,) = run.err.splitlines()
    return line


# Specs


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_spec(shell: Shell, device: str) -> None:
    assert said(shell, device) == f"error: cannot read {device}: not a regular file"


def test_a_pipe_is_no_spec_and_keeps_nobody_waiting(shell: Shell) -> None:
    os.mkfifo("a.yaml")
    assert said(shell, "a.yaml") == "error: cannot read a.yaml: not a regular file"


def test_a_spec_beyond_all_size_is_not_read(shell: Shell) -> None:
    path = shell.write("a.yaml", SPEC)
    os.truncate(path, 2**40)  # a hole: it takes no space on the disk
    text = f"error: cannot read a.yaml: the file is larger than {LARGEST_TEXT:,} bytes"
    assert said(shell, "a.yaml") == text
    with pytest.raises(OSError, match="larger than"):
        tensorgen.generate(path)


def test_a_spec_that_links_to_itself_is_reported(shell: Shell) -> None:
    os.symlink("a.yaml", "a.yaml")
    assert "cannot read a.yaml: Too many levels of symbolic links" in said(
        shell, "a.yaml"
    )


# Settings


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ("tool = " + "[" * 100_000, "nested too deeply"),
        ("[tool.tensorgen]\noutput = 'a\0b'", "cannot read"),
        ('[tool.tensorgen]\noutput = "a\\u0000b"', "the character U+0000"),
        ("#" * (LARGEST_TEXT + 1), "is larger than"),
    ],
)
def test_no_settings_break_the_command(shell: Shell, settings: str, what: str) -> None:
    shell.write("pyproject.toml", settings)
    shell.write("a.yaml")
    run = shell("gen", "a.yaml")
    assert run.code == cli.WRONG and what in run.err


# What is in the way


def test_an_output_that_links_to_itself_is_reported(shell: Shell) -> None:
    shell.write("a.yaml")
    os.symlink("a_numpy.py", "a_numpy.py")
    for options in ([], ["--check"], ["--diff"], ["--force"]):
        line = said(shell, "a.yaml", *options)
        assert line == "error: a_numpy.py: Too many levels of symbolic links"


def test_a_folder_that_links_to_itself_is_reported(shell: Shell) -> None:
    shell.write("a.yaml")
    os.symlink("out", "out")
    assert said(shell, "a.yaml", "-o", "out").endswith("levels of symbolic links")


def test_a_pipe_in_the_way_keeps_nobody_waiting(shell: Shell) -> None:
    shell.write("a.yaml")
    os.mkfifo("a_numpy.py")
    for options in ([], ["--check"], ["--diff"], ["--force"]):
        line = said(shell, "a.yaml", *options)
        assert line == "error: a_numpy.py: not a regular file"


def test_a_folder_in_the_way_is_reported(shell: Shell) -> None:
    shell.write("a.yaml")
    os.mkdir("a_numpy.py")
    assert said(shell, "a.yaml", "--force") == "error: a_numpy.py: Is a directory"


def test_two_modules_are_not_written_to_one_file(shell: Shell) -> None:
    shell.write("a.yaml")
    os.symlink("a_cupy.py", "a_numpy.py")
    line = said(shell, "a.yaml")
    assert line == "error: a_numpy.py and a_cupy.py are links to one file"
    assert shell.files() == ["a.yaml"]
    assert shell("gen", "a.yaml", "-b", "cupy").code == cli.FINE


def test_a_link_to_another_folder_is_followed(shell: Shell) -> None:
    shell.write("a.yaml")
    other = shell.write("other/file.py", module(expr="x3"))
    os.symlink("other/file.py", "a_numpy.py")
    assert shell("gen", "a.yaml", "-b", "numpy").code == cli.FINE
    assert Path("a_numpy.py").is_symlink()
    assert other.read_text("utf-8") == module()
    assert shell.files() == ["a.yaml", "a_numpy.py", "other/file.py"]


@pytest.mark.skipif(sys.platform == "darwin", reason="all its file names are text")
def test_a_file_name_may_be_no_text(shell: Shell) -> None:
    name = os.fsdecode(b"\xff")
    shell.write("a.yaml")
    run = shell("gen", "a.yaml", "-b", "numpy", "-o", name, "--diff")
    assert run.code == cli.FINE
    assert shell("gen", "a.yaml", "-b", "numpy", "-o", name).code == cli.FINE
    assert Path(name, "a_numpy.py").read_text("utf-8") == module()
