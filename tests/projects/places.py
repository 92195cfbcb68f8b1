"""Environments and clones in which projects are built, apart from the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = ROOT / "examples" / "projects"


def run(
    command: list[str] | str, folder: Path, env: Path, fine: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a command, or a line of a shell, in a folder with an environment's programs.

    Its exit code has to be 0, unless that is not to be `fine`.
    """
    path = os.pathsep.join([str(env / "bin"), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder,
        env={
            "PATH": path,
            "HOME": str(env),
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            # In what is cloned, `fits` lies beside its test.
            "PYTHONPATH": str(folder) if (folder / "fits").is_dir() else "",
            **{f"GIT_{x}_NAME": "somebody" for x in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{x}_EMAIL": "a@b.c" for x in ("AUTHOR", "COMMITTER")},
        },
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) == fine, (command, done.stdout, done.stderr)
    return done


def site(folder: Path) -> Path:
    """Where an environment has its packages."""
    paths = {"base": str(folder), "platbase": str(folder)}
    return Path(sysconfig.get_path("purelib", "venv", vars=paths))


def packages() -> list[Path]:
    """Where the running interpreter has its packages; not what these point to."""
    return [Path(path) for path in sys.path if Path(path).name == "site-packages"]


def with_all(folder: Path, wheel: Path) -> Path:
    """An environment that sees what is installed here, and tensorgen from its wheel."""
    venv.create(folder, with_pip=False)
    lines = "".join(f"{path}\n" for path in packages())
    (site(folder) / "parent.pth").write_text(lines, encoding="utf-8")
    command = ["pip", "--python", str(folder / "bin" / "python"), "install"]
    subprocess.run(
        [sys.executable, "-m", *command, "--quiet", "--no-deps", str(wheel)],
        check=True,
    )
    return folder


def with_numpy(folder: Path, *wheels: Path) -> Path:
    """An environment that has NumPy and some wheels, and nothing else."""
    venv.create(folder, with_pip=False)
    every = [x for path in packages() for x in sorted(path.iterdir())]
    for found in every:
        if re.fullmatch(r"numpy(\.libs|-.*\.dist-info)?", found.name):
            (site(folder) / found.name).symlink_to(found)
    if not wheels:
        return folder
    command = ["pip", "--python", str(folder / "bin" / "python"), "install"]
    subprocess.run(
        [sys.executable, "-m", *command, "--quiet", "--no-index", *map(str, wheels)],
        check=True,
    )
    return folder


def wheel_of(folder: Path, source: Path = ROOT) -> Path:
    """Build the wheel of tensorgen, of an sdist of it, and return its path."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*command, str(source)], check=True, capture_output=True)
    (found,) = folder.glob("tensorgen-*.whl")
    return found


def cloned(name: str, folder: Path, env: Path, *first: str) -> Path:
    """A fresh clone of a project, after `first` has been run in it and committed."""
    origin, clone = folder / "origin", folder / "clone"
    shutil.copytree(
        PROJECTS / name, origin, ignore=shutil.ignore_patterns("__pycache__", ".git")
    )
    lines = [*first, "git init -q .", "git add -A", "git commit -q -m begin"]
    for line in lines:
        run(line, origin, env)
    run(["git", "clone", "-q", str(origin), str(clone)], folder, env)
    return clone
