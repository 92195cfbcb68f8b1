"""tensorgen works alike from a wheel, from an editable install and from a checkout.

Each way of installing it gets a virtual environment of its own, which sees the
dependencies of the running one, but not the tensorgen that is installed there.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tensorgen
from tests.projects.places import packages

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "examples" / "logistic_regression.yaml"
MODULE = "logistic_regression_numpy.py"


@dataclass(frozen=True)
class Installation:
    """An environment, and the folder from which its Python must be started."""

    folder: Path
    start: Path
    env: dict[str, str] = field(default_factory=dict)

    def run(self, program: str, *args: str) -> str:
        """Run a program of the environment, and return what it prints."""
        done = subprocess.run(
            [str(self.folder / "bin" / program), *args],
            cwd=self.start,
            env={**os.environ, "PYTHONPATH": "", **self.env},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def environment(folder: Path) -> Path:
    """Make an environment without pip that sees the running one's dependencies."""
    venv.create(folder, with_pip=False)
    paths = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", vars=paths))
    # A folder named in a .pth file is searched last, and its own .pth files, such as
    # that of an editable install, are not read.
    lines = "".join(f"{path}\n" for path in packages())
    (site / "parent.pth").write_text(lines, encoding="utf-8")
    return folder


def pip_install(folder: Path, *what: str) -> None:
    """Install into an environment, building without a network."""
    command = ["pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", *command, "--no-deps", "--no-build-isolation", *what],
        check=True,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from the sdist; return their folder."""
    folder = tmp_path_factory.mktemp("dist")
    build = (
        "import sys; from hatchling import build;"
        "getattr(build, 'build_' + sys.argv[1])(sys.argv[2])"
    )
    command = [sys.executable, "-c", build]
    subprocess.run([*command, "sdist", str(folder)], check=True, cwd=ROOT)
    (archive,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(archive, folder)
    source = folder / archive.name.removesuffix(".tar.gz")
    subprocess.run([*command, "wheel", str(folder)], check=True, cwd=source)
    return folder


@pytest.fixture(scope="module", params=["wheel", "editable", "checkout"])
def installed(
    request: pytest.FixtureRequest,
    built: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Installation:
    folder = environment(tmp_path_factory.mktemp(request.param) / "venv")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    if request.param == "checkout":
        return Installation(folder, elsewhere, {"PYTHONPATH": str(ROOT)})
    if request.param == "editable":
        pip_install(folder, "--editable", str(ROOT))
    else:
        pip_install(folder, *(str(wheel) for wheel in built.glob("*.whl")))
    return Installation(folder, elsewhere)


def test_the_wheel_holds_the_templates_and_nothing_but_the_package(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    templates = {
        f"tensorgen/{path.relative_to(ROOT).as_posix()}"
        for path in (ROOT / "templates").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert templates and templates <= set(names)
    tops = {name.split("/")[0] for name in names}
    assert tops == {"tensorgen", f"tensorgen-{tensorgen.__version__}.dist-info"}


def test_every_way_of_installing_runs_its_own_copy(
    request: pytest.FixtureRequest, installed: Installation
) -> None:
    shown = installed.run("python", "-c", "import tensorgen; print(tensorgen.__file__)")
    is_copy = "wheel" in request.node.callspec.id
    home = installed.folder if is_copy else ROOT
    assert Path(shown.strip()).is_relative_to(home)


def test_every_way_of_installing_generates_the_same_bytes(
    installed: Installation, tmp_path: Path
) -> None:
    command = ["gen", str(SPEC), "-o", str(tmp_path), "-b", "numpy"]
    installed.run("python", "-m", "tensorgen", *command)
    expected = tensorgen.generate(SPEC, backend="numpy")
    assert (tmp_path / MODULE).read_text(encoding="utf-8") == expected


def test_the_console_script_generates_too(
    installed: Installation, tmp_path: Path
) -> None:
    if not (installed.folder / "bin" / "tensorgen").exists():
        assert "PYTHONPATH" in installed.env, "only a checkout has no console script"
        return
    installed.run("tensorgen", "gen", str(SPEC), "-o", str(tmp_path), "-b", "numpy")
    assert (tmp_path / MODULE).exists()


def test_a_generated_module_needs_numpy_alone(tmp_path: Path) -> None:
    path = tmp_path / MODULE
    path.write_text(tensorgen.generate(SPEC, backend="numpy"), encoding="utf-8")
    program = (
        "import sys; import logistic_regression_numpy as module;"
        "print(module.loss([0.0], [[1.0]], [1.0]));"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    value, modules = run.stdout.splitlines()
    assert abs(float(value) - 0.6931471805599453) < 1e-15
    assert {"numpy", "logistic_regression_numpy"} <= set(modules.split())
    foreign = {"tensorgen", "scipy", "sympy", "jinja2", "black", "yaml", "click"}
    assert foreign & set(modules.split()) == set()
