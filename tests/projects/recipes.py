"""The projects of `examples/projects`, built and run as by users: `make projects`.

Each is cloned afresh; the environment that builds it has tensorgen from its wheel, and
the one that runs what was built has NumPy alone.
"""

from __future__ import annotations

import shlex
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.projects.places import ROOT, cloned, run, wheel_of, with_all, with_numpy

BUILD = "python -m build --no-isolation --outdir dist ."
FIT = (
    "import fits, numpy, sys; X = numpy.eye(3); w = fits.fit(X, X @ [1.0, 2.0, 3.0]);"
    "assert abs(w - [1, 2, 3]).max() < 0.01;"
    "assert 'tensorgen' not in sys.modules; print(fits.ridge_numpy.__file__)"
)
GEN = "tensorgen gen -q fits/ridge.yaml"


@pytest.fixture(scope="session")
def env(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wheel = wheel_of(tmp_path_factory.mktemp("dist"))
    return with_all(tmp_path_factory.mktemp("env") / "venv", wheel)


@pytest.mark.parametrize("name", ["hatch", "setuptools"])
def test_wheels_have_modules_and_need_numpy_alone(
    name: str, env: Path, tmp_path: Path
) -> None:
    clone = cloned(name, tmp_path, env)
    run(BUILD, clone, env)  # an sdist, and the wheel of it
    (wheel,) = (clone / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"fits/__init__.py", "fits/ridge.yaml", "fits/ridge_numpy.py"} <= {*names}
    assert {x.split("/")[0] for x in names} == {"fits", "fits-1.0.dist-info"}
    assert not (clone / "src" / "fits" / "ridge_numpy.py").exists()
    run([*shlex.split(GEN)[:-1], "src/fits/ridge.yaml", "-o", "made"], clone, env)
    module = zipfile.ZipFile(wheel).read("fits/ridge_numpy.py").decode()
    assert module == (clone / "made" / "ridge_numpy.py").read_text("utf-8")
    alone = with_numpy(tmp_path / "alone", wheel)
    shown = run(["python", "-c", FIT], tmp_path, alone).stdout.strip()
    assert Path(shown).is_relative_to(alone)
    run(["python", "-c", "import tensorgen"], tmp_path, alone, fine=False)


@pytest.mark.parametrize("name", ["hatch", "setuptools"])
def test_editable_installs_have_modules_in_the_project(
    name: str, env: Path, tmp_path: Path
) -> None:
    clone = cloned(name, tmp_path, env)
    own = with_all(tmp_path / "own", next(env.parent.parent.glob("dist*/*.whl")))
    line = "python -m pip install -q --no-deps --no-build-isolation -e ."
    run(line, clone, own)
    module = clone / "src" / "fits" / "ridge_numpy.py"
    assert run(["python", "-c", FIT], tmp_path, own).stdout.strip() == str(module)
    run("python -m pytest -q", clone, own)
    assert run("git status --porcelain", clone, env).stdout == ""


@pytest.mark.parametrize("name", ["hatch", "setuptools"])
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("src/fits/ridge.yaml", "X @ w - y", "X @ v - y", "unknown name 'v'"),
        ("pyproject.toml", "fits/*.yaml", "fits/*.yml", "no file below"),
    ],
)
def test_what_is_wrong_ends_the_build(
    name: str, file: str, old: str, new: str, said: str, env: Path, tmp_path: Path
) -> None:
    clone = cloned(name, tmp_path, env)
    path = clone / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(f'specs = ["src/{old}', f'specs = ["src/{new}'))
    if file.endswith(".yaml"):
        path.write_text(text.replace(old, new), "utf-8")
    done = run(f"{BUILD} --wheel", clone, env, fine=False)
    assert said in done.stdout + done.stderr
    assert not [*clone.glob("dist/*.whl")]


def test_builds_of_others_are_left_alone(env: Path, tmp_path: Path) -> None:
    clone = cloned("setuptools", tmp_path, env)
    path = clone / "pyproject.toml"
    text = path.read_text("utf-8")
    path.write_text(text[: text.index("# Having")], "utf-8")
    run(BUILD, clone, env)
    (wheel,) = (clone / "dist").glob("*.whl")
    assert "fits/ridge_numpy.py" not in zipfile.ZipFile(wheel).namelist()


def test_make_makes_what_is_missing_or_stale(env: Path, tmp_path: Path) -> None:
    clone = cloned("make", tmp_path, env)
    run("make test", clone, env)
    assert run("make", clone, env).stdout == "make: Nothing to be done for 'all'.\n"
    spec = clone / "fits" / "ridge.yaml"
    spec.write_text(spec.read_text("utf-8").replace("/ 2 +", "/ 4 +"), "utf-8")
    module = clone / "fits" / "ridge_numpy.py"
    before = module.read_text("utf-8")
    run("make", clone, env)
    assert module.read_text("utf-8") != before
    assert run("git status --porcelain", clone, env).stdout == " M fits/ridge.yaml\n"


def github() -> list[str]:
    path = ROOT / "examples/projects/checked/.github/workflows/generated.yml"
    (job,) = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def gitlab() -> list[str]:
    path = ROOT / "examples/projects/checked/.gitlab-ci.yml"
    (job,) = yaml.safe_load(path.read_text("utf-8")).values()
    return [*job["script"]]


def hook() -> list[str]:
    """What pre-commit runs: the entry of the hook that is asked for, and the files."""
    asked = yaml.safe_load(
        (ROOT / "examples/projects/checked")
        .joinpath(".pre-commit-config.yaml")
        .read_text("utf-8")
    )
    (one,) = asked["repos"][0]["hooks"]
    assert one["files"] == r"^fits/.*\.yaml$"
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    entries = {x["id"]: x["entry"] for x in hooks}
    return [f"{entries[one['id']]} fits/ridge.yaml"]


def checking() -> list[str]:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    (entry,) = (x["entry"] for x in hooks if x["id"] == "tensorgen-check")
    return [f"{entry} fits/ridge.yaml"]


RECIPES = {"github": github, "gitlab": gitlab, "hook": hook, "check": checking}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_pass_what_is_fresh_and_stop_what_is_stale(
    name: str, env: Path, tmp_path: Path
) -> None:
    lines = RECIPES[name]()
    clone = cloned("checked", tmp_path, env, GEN)
    for line in lines:
        run(line, clone, env)
    spec = clone / "fits" / "ridge.yaml"
    spec.write_text(spec.read_text("utf-8").replace("/ 2 +", "/ 4 +"), "utf-8")
    run("git commit -q -a -m stale", clone, env)
    codes = []
    for line in lines:
        try:
            codes.append(run(line, clone, env).returncode)
        except AssertionError:
            codes.append(1)
            break
    assert codes[-1] == 1, "a stale module has to be noticed"


def test_the_hook_stops_a_commit_that_lacks_a_module_once(
    env: Path, tmp_path: Path
) -> None:
    clone = cloned("checked", tmp_path, env)
    (line,) = hook()
    assert "wrote fits/ridge_numpy.py" in run(line, clone, env, fine=False).stderr
    assert run("git status --porcelain", clone, env).stdout.startswith("?? ")
    run(line, clone, env)
