"""What build hooks generate, and what they refuse."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import pytest

import tensorgen
from tensorgen.hooks.project_files import (
    WrongSettingsError,
    modules,
    wanted,
    write_beside,
)
from tests.projects.places import PROJECTS

MODULE = Path("src/fits/ridge_numpy.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(PROJECTS / "setuptools", tmp_path / "fits")
    return tmp_path / "fits"


def settled(project: Path, *lines: str) -> None:
    path = project / "pyproject.toml"
    head = path.read_text("utf-8").partition("[tool.tensorgen]")[0]
    path.write_text("\n".join([head + "[tool.tensorgen]", *lines]), "utf-8")


def test_files_are_those_of_gen_and_stand_beside_their_specs(project: Path) -> None:
    settings = wanted(project)
    assert settings is not None
    files = modules(project, settings)
    assert [*files] == [MODULE]
    spec = project / "src" / "fits" / "ridge.yaml"
    assert files[MODULE] == tensorgen.generate(spec)
    write_beside(project, files)
    assert (project / MODULE).read_text("utf-8") == files[MODULE]


def test_settings_hold_in_builds_too(project: Path) -> None:
    settled(
        project,
        'specs = ["src/**/*.yaml"]',
        'output = "src/made"',
        'support = "shared"',
    )
    settings = wanted(project)
    assert settings is not None
    names = {path.as_posix() for path in modules(project, settings)}
    assert names == {"src/made/ridge_numpy.py", "src/made/_tensorgen_support_numpy.py"}


def test_projects_that_name_no_specs_are_left_alone(project: Path) -> None:
    settled(project, 'mode = "reverse"')
    assert wanted(project) is None
    (project / "pyproject.toml").unlink()
    assert wanted(project) is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (('specs = ["src/fits/*.yml"]',), "no file below .* is meant by 'src/fits/"),
        (('specs = ["src/fits/*.yaml"]', 'output = "../x"'), "outside of the project"),
    ],
)
def test_what_leads_nowhere_is_said(
    project: Path, lines: tuple[str, ...], said: str
) -> None:
    settled(project, *lines)
    settings = wanted(project)
    assert settings is not None
    with pytest.raises(WrongSettingsError, match=said):
        modules(project, settings)


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        ('"src/a.yaml"', "'specs' is a list of patterns"),
        ('["/etc/*.yaml"]', "no path below the project"),
        ('["../*.yaml"]', "no path below the project"),
    ],
)
def test_wrong_patterns_are_refused(project: Path, specs: str, said: str) -> None:
    settled(project, f"specs = {specs}")
    with pytest.raises(click.UsageError, match=said):
        wanted(project)
