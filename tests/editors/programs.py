"""Editors with the settings of `docs/editors.md`, as they start them: `make editors`.

Each that is not installed is skipped, and told of at the end. Helix and Zed draw on a
terminal and a screen: they say what they make of their settings, or that they are here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent / "drivers"
EXTENSION = ROOT / "examples" / "editors" / "vscode"
SPEC = """\
tensorgen: 1
inputs: {weights: [n]}
functions:
  f: {expr: summ( weights ), wrt: weights}
"""
MENDED = SPEC.replace("summ( weights )", "sum(w)").replace("weights", "w")


def settings(editor: str, language: str) -> str:
    """The first block of settings that the page shows for an editor."""
    page = (ROOT / "docs" / "editors.md").read_text("utf-8")
    section = page.partition(f"\n## {editor}\n")[2].partition("\n## ")[0]
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return found[0]


def program(*names: str) -> str:
    """The path of a program by the first of its names that is installed."""
    for name in names:
        if found := shutil.which(name):
            return found
    # `make editors` lists what it has skipped: few machines have all of these editors.
    pytest.skip(f"{' or '.join(names)} is not installed")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a spec, where `tensorgen` is found by its name."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    script = f'#!/bin/sh\nexec "{sys.executable}" -m tensorgen "$@"\n'
    (bin_ / "tensorgen").write_text(script)
    (bin_ / "tensorgen").chmod(0o755)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "a.yaml").write_text(SPEC)
    return tmp_path


def run(project: Path, *command: str) -> str:
    """What a program prints that runs in the project, with nobody's own settings."""
    own = {
        "PATH": f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(project),
        "XDG_CONFIG_HOME": str(project / "config"),
    }
    done = subprocess.run(
        command,
        cwd=project,
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_neovim(project: Path) -> None:
    nvim = program("nvim")
    (project / "init.lua").write_text(settings("Neovim", "lua"))
    driver = str(HERE / "neovim.lua")
    told = run(
        project,
        nvim,
        "--headless",
        "-u",
        "init.lua",
        "a.yaml",
        "-c",
        f"luafile {driver}",
    )
    assert "did you mean 'sum'?" in told and "completed weights" in told, told
    assert (project / "a.yaml").read_text() == MENDED, told


def test_emacs(project: Path) -> None:
    emacs = program("emacs")
    (project / "settings.el").write_text(settings("Emacs", "elisp"))
    driver = str(HERE / "emacs.el")
    told = run(project, emacs, "--batch", "-l", "settings.el", "-l", driver)
    assert "did you mean 'sum'?" in told and "completed weights" in told, told
    assert (project / "a.yaml").read_text() == MENDED, told


def test_helix(project: Path) -> None:
    hx = program("hx", "helix")
    folder = project / "config" / "helix"
    folder.mkdir(parents=True)
    (folder / "languages.toml").write_text(settings("Helix", "toml"))
    told = run(project, hx, "--health", "yaml")
    assert str(project / "bin" / "tensorgen") in told


def test_zed(project: Path) -> None:
    zed = program("zed", "zeditor")
    assert run(project, zed, "--version")
    binary = json.loads(settings("Zed", "json"))["lsp"]["yaml-language-server"][
        "binary"
    ]
    assert "language server" in run(
        project, binary["path"], *binary["arguments"], "--help"
    )


def test_the_extension_of_vs_code_starts_and_stops_the_server(project: Path) -> None:
    node = program("node")
    told = run(project, node, str(HERE / "vscode.js"), str(EXTENSION), str(project))
    assert told.splitlines() == [
        *("start tensorgen lsp", "for yaml tensorgen", "stop"),
        *(f"start {project}/bin/tensorgen lsp --stdio", "for yaml tensorgen", "stop"),
        *("start none", "error: tensorgen: 'none' does not start (not found)."),
    ]


def test_the_settings_name_the_server() -> None:
    helix = tomllib.loads(settings("Helix", "toml"))
    own = helix["language-server"]["tensorgen"]
    zed = json.loads(settings("Zed", "json"))["lsp"]["yaml-language-server"]["binary"]
    given = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    server = given["contributes"]["configuration"]["properties"]["tensorgen.server"]
    commands = [
        [own["command"], *own["args"]],
        [zed["path"], *zed["arguments"]],
        server["default"],
    ]
    assert commands == [["tensorgen", "lsp"]] * 3
    for part in (*given["contributes"]["languages"], *given["contributes"]["grammars"]):
        for key in {"configuration", "path"} & {*part}:
            json.loads((EXTENSION / part[key]).read_text("utf-8"))
    assert (EXTENSION / given["main"]).is_file()
