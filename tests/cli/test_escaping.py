"""What a person named, files and settings, never steers the terminal."""

import pytest

from tensorgen import cli
from tests.cli.shell import Shell

EVIL = "a\x1b[31m\u202e\nerror: no"
SHOWN = r"a\x1b[31m\u202e\nerror: no"


@pytest.mark.parametrize(
    "arguments",
    [
        ["gen", f"{EVIL}.yaml"],
        ["gen", "a.yaml", "-o", EVIL],
        ["gen", "a.yaml", "-o", EVIL, "--check"],
        ["gen", "a.yaml", f"--{EVIL}"],
        ["gen", "a.yaml", "--mode", EVIL],
        [EVIL],
    ],
    ids=["spec", "output", "check", "option", "mode", "command"],
)
def test_names_are_escaped(shell: Shell, arguments: list[str]) -> None:
    shell.write("a.yaml")
    run = shell(*arguments)
    assert SHOWN in run.err or repr(SHOWN)[1:-1] in run.err
    assert not any(line.startswith("error: no") for line in run.err.splitlines())
    assert all(line.isprintable() for line in run.err.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "9" * 5000,
        "x = " + "[" * 100_000,
        "a\0b",
        '[tool.tensorgen]\nmode = "a\\u0000\\u001b"',
        '[tool.tensorgen]\noutput = "a\\u0000"',
        "[tool.tensorgen]\nbackends = [{a = 1}, []]",
        '[tool.tensorgen]\n"\\u001b\\n" = 1',
    ],
    ids=["digits", "depth", "nul", "a mode", "a path", "tables", "a key"],
)
def test_settings_that_cannot_be_read_are_a_mistake(shell: Shell, text: str) -> None:
    shell.write("a.yaml")
    (shell.folder / "pyproject.toml").write_text(text)
    run = shell("gen", "a.yaml")
    assert run.code == cli.WRONG
    assert all(line.isprintable() for line in run.err.splitlines())
