"""What would be released, installed as by users, and run: `make release-check`.

The wheel and the sdist are built, and each is installed by pip, with what it needs from
the index, into an environment that has nothing else and does not see the checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import tensorgen
from tests.projects.places import ROOT, with_numpy

VERSION = tensorgen.__version__
NEEDED = (
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "pyproject.toml",
    "schema/tensorgen.schema.json",
    "examples/projects/hatch/pyproject.toml",
    "tests/release/check.py",
)
"""What an sdist is to have beside the package."""
LARGEST_WHEEL = 2 * 2**20
"""Bytes: somewhat more than the source and the templates take, compressed."""
SAID = "tensorgen: 1\nfunctions: {f: {expr: sum(x**2), wrt: x}}\ninputs: {x: [n]}\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def env(
    request: pytest.FixtureRequest,
    built: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "venv"
    venv.create(folder, with_pip=False)
    (file,) = built.glob("*.whl" if request.param == "wheel" else "*.tar.gz")
    command = ["-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    done = subprocess.run(
        [sys.executable, *command, "--quiet", str(file)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


def run(env: Path, folder: Path, program: str, *words: str) -> str:
    """Run a program of an environment in a folder, and return what it prints."""
    plain = {k: x for k, x in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [str(env / "bin" / program), *words],
        cwd=folder,
        env=plain,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def test_archives_hold_what_they_should_and_nothing_else(built: Path) -> None:
    assert sorted(x.name for x in built.iterdir()) == [
        f"tensorgen-{VERSION}-py3-none-any.whl",
        f"tensorgen-{VERSION}.tar.gz",
    ]
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {x.partition("/")[2] for x in file.getnames()}
    assert {*NEEDED} <= names
    listed = subprocess.run(
        ["git", "ls-files", "tensorgen", "templates"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    files = listed.stdout.split() if listed.returncode == 0 else []
    assert {*files} <= names
    (wheel,) = built.glob("*.whl")
    packed = {*zipfile.ZipFile(wheel).namelist()}
    own = {x if x.startswith("tensorgen/") else f"tensorgen/{x}" for x in files}
    info = f"tensorgen-{VERSION}.dist-info"
    assert own <= packed
    assert {x.partition("/")[0] for x in packed} == {"tensorgen", info}
    assert f"{info}/licenses/LICENSE" in packed
    kinds = {x.rpartition(".")[2] for x in packed if not x.startswith(info)}
    assert kinds == {"py", "j2", "yaml", "tg", "typed", "html", "css", "js"}
    assert wheel.stat().st_size < LARGEST_WHEEL


def test_twine_finds_nothing_wrong(built: Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict"]
    done = subprocess.run(
        [*command, *map(str, sorted(built.iterdir()))], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_runs_where_nothing_else_is(env: Path, tmp_path: Path) -> None:
    where = run(
        env, tmp_path, "python", "-c", "import tensorgen as t; print(t.__file__)"
    )
    assert Path(where.strip()).is_relative_to(env)
    assert f"tensorgen {VERSION}" in run(env, tmp_path, "tensorgen", "--version")
    run(env, tmp_path, "tensorgen", "init", "fit.yaml", "--template", "glm")
    run(env, tmp_path, "tensorgen", "gen", "fit.yaml", "-b", "numpy")
    run(env, tmp_path, "tensorgen", "gen", "fit.yaml", "-b", "numpy", "--check")
    assert "WRONG" not in run(
        env, tmp_path, "tensorgen", "verify", "fit.yaml", "-b", "numpy"
    )
    assert "Structure:" in run(env, tmp_path, "tensorgen", "explain", "fit.yaml")
    run(env, tmp_path, "tensorgen", "explain", "fit.yaml", "--html", "fit.html")
    shown = run(env, tmp_path, "tensorgen", "bench", "fit.yaml", "--seconds", "0.01")
    assert "JAX is not installed" in shown
    assert "logsumexp" in run(env, tmp_path, "tensorgen", "functions")
    assert "NumPy" in run(env, tmp_path, "tensorgen", "functions", "softmax")
    schema = run(env, tmp_path, "tensorgen", "schema")
    assert schema == (ROOT / "schema" / "tensorgen.schema.json").read_text("utf-8")
    assert "_TENSORGEN_COMPLETE" in run(
        env, tmp_path, "tensorgen", "completion", "bash"
    )


def test_headers_carry_the_version_and_modules_need_numpy_alone(
    env: Path, tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(SAID, "utf-8")
    run(env, tmp_path, "python", "-m", "tensorgen", "gen", "small.yaml", "-b", "numpy")
    text = (tmp_path / "small_numpy.py").read_text("utf-8")
    assert text.startswith(
        f"# Generated by tensorgen {VERSION} from small.yaml (sha256 "
    )
    alone = with_numpy(tmp_path / "alone")
    code = "import small_numpy as m; print(m.f_grad([1.0, 2.0]))"
    assert run(alone, tmp_path, "python", "-c", code) == "[2. 4.]\n"


def test_templates_of_init_are_all_packed(env: Path, tmp_path: Path) -> None:
    names = sorted(x.stem for x in (ROOT / "tensorgen/cli/starters").glob("*.yaml"))
    assert len(names) >= 6
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    for name in names:
        run(env, tmp_path, "tensorgen", "init", f"{name}.yaml", "--template", name)
    assert sorted(x.stem for x in tmp_path.iterdir()) == names
