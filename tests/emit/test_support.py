"""Support code that modules share: one file beside them, which holds all of it."""

from __future__ import annotations

import ast
import importlib
import itertools
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen import cli
from tensorgen.emit.backends import BACKENDS
from tensorgen.emit.imports import defined
from tensorgen.emit.support import support_code, support_names
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec

pytestmark = pytest.mark.thorough

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
_COUNT = itertools.count()

SPARSE = """\
tensorgen: 1
module: chain
inputs: {x: [n + 1, 2], u: [n], lam: [n]}
functions:
  f:
    expr: sum(x**2) + sum(u**2) + sum(lam*(x[1:, 0] - x[:-1, 1]*sin(u)))
    wrt: [x, u]
    emit: [gradient, hessian]
"""
DENSE = """\
tensorgen: 1
module: coupled
inputs: {a: [k], b: [k], A: [k, k]}
functions:
  f:
    expr: exp(a @ A @ b) + sum(a**4) + sum(b**2)
    wrt: [a, b]
    emit: [value, hessian, problem]
  g: {expr: sum(exp(A @ a)), wrt: a, emit: [hessian, 3]}
"""
MESH = """\
tensorgen: 1
module: mesh
inputs: {x: [n], e: {shape: [m, 2], index: n}, w: [n]}
functions:
  f: {expr: "sum(w * x**2) + sum((x[e[:, 0]] - x[e[:, 1]])**4)",
      wrt: x, emit: [hessian]}
"""
SPECS = {"chain": SPARSE, "coupled": DENSE, "mesh": MESH}


def write(folder: Path, *specs: str, package: bool = False) -> Path:
    """Write the modules of some specs, with shared support code."""
    folder.mkdir(exist_ok=True)
    if package:
        (folder / "__init__.py").touch()
    for name in specs:
        texts = compile_spec(
            Source(f"{name}.yaml", SPECS[name]),
            ["numpy"],
            "cross-country",
            laid_out=False,
            support="shared",
            in_package=package,
        )
        for file, text in texts.items():
            (folder / file).write_text(text, "utf-8")
    return folder


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """All modules, in a package of their own."""
    package = f"shared_support_{next(_COUNT)}"
    write(tmp_path / package, *SPECS, package=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    return {name: importlib.import_module(f"{package}.{name}_numpy") for name in SPECS}


def test_modules_of_a_package_compute_what_modules_alone_do(
    packaged: dict[str, ModuleType],
) -> None:
    rng = np.random.default_rng(0)
    x, u, lam = rng.normal(size=(6, 2)), rng.normal(size=5), rng.normal(size=5)
    a, b, A = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3))
    edges, w = np.array([[0, 1], [1, 2], [2, 4]]), np.ones(5)
    given: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
        "chain": [("f_hess", (x, u, lam))],
        "coupled": [("f_hess", (a, b, A)), ("g_hess", (a, A))],
        "mesh": [("f_hess", (rng.normal(size=5), edges, w))],
    }
    for name, calls in given.items():
        alone = tensorgen.load(SPECS[name])
        for function, arguments in calls:
            own = getattr(packaged[name], function)(*arguments)
            other = getattr(alone, function)(*arguments)
            assert own.structure == other.structure
            right = rng.normal(size=own.shape[0])
            ways = (type(h.factorize(9.0)).__name__ for h in (own, other))
            assert len({*ways}) == 1
            np.testing.assert_array_equal(own.dense(), other.dense())
            np.testing.assert_array_equal(own @ right, other @ right)
            np.testing.assert_allclose(
                own.solve(right, 9.0), other.solve(right, 9.0), rtol=1e-12
            )


def test_wrong_arguments_are_told_of_alike(packaged: dict[str, ModuleType]) -> None:
    wrong = np.ones((6, 3)), np.ones(5), np.ones(5)
    said = []
    for module in (packaged["chain"], tensorgen.load(SPARSE)):
        with pytest.raises(ValueError, match="x: expected shape") as error:
            module.f_grad(*wrong)
        said.append(str(error.value))
    assert said[0] == said[1]


def test_modules_outside_of_packages_import_by_name(tmp_path: Path) -> None:
    folder = write(tmp_path / "flat", "chain", "mesh")
    code = "import chain_numpy, mesh_numpy; print(chain_numpy.JointHessian.__module__)"
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True
    )
    assert (told.stdout.strip(), told.stderr) == ("_tensorgen_support_numpy", "")


def test_type_checkers_and_linters_find_nothing(tmp_path: Path) -> None:
    folders = [
        write(tmp_path / name, *SPECS, package=name == "package")
        for name in ("flat", "package")
    ]
    files = [str(path) for folder in folders for path in sorted(folder.glob("*.py"))]
    mypy = ["mypy", "--strict", "--ignore-missing-imports", f"--cache-dir={tmp_path}"]
    # Where the module beside these belongs among imports depends on where ruff runs.
    ruff = ["ruff", "check", "--isolated", "--no-cache", "--ignore=I001"]
    for command in (mypy, ruff):
        told = subprocess.run(
            [sys.executable, "-m", *command, *files],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_examples_use_what_the_shared_file_defines(backend: str) -> None:
    names = support_names(backend)
    assert [*names] == defined(support_code(backend, "0.0", laid_out=False))
    assert len({*names}) == len(names)
    for path in EXAMPLES[::4]:
        source = Source(path.name, path.read_text("utf-8"))
        texts = compile_spec(
            source, [backend], "cross-country", False, checked=False, support="shared"
        )
        own, shared = texts.values()
        assert not {*defined(own)} & {*names}
        assert shared == support_code(backend, tensorgen.__version__, laid_out=False)


def test_the_command_writes_one_file_for_all_specs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> int:
        given = ["tensorgen", "gen", "--fast", "-b", "numpy", *arguments]
        monkeypatch.setattr(sys, "argv", given)
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert isinstance(left.value.code, int)
        return left.value.code

    monkeypatch.chdir(tmp_path)
    for name, text in SPECS.items():
        Path(f"{name}.yaml").write_text(text, "utf-8")
    shared = Path("_tensorgen_support_numpy.py")
    assert run("--support", "shared", "chain.yaml", "mesh.yaml") == cli.FINE
    text = shared.read_text("utf-8")
    assert run("--support", "shared", "coupled.yaml") == cli.FINE
    assert shared.read_text("utf-8") == text
    assert run("--support", "shared", "--check", "mesh.yaml") == cli.FINE
    shared.unlink()
    assert run("--support", "shared", "--check", "mesh.yaml") == cli.STALE
    assert f"missing: {shared}" in capsys.readouterr().err
    shared.write_text("own = 1\n", "utf-8")
    assert run("--support", "shared", "mesh.yaml") == cli.WRONG
    assert "was not generated by tensorgen" in capsys.readouterr().err
    assert shared.read_text("utf-8") == "own = 1\n"
    Path("__init__.py").touch()
    assert run("--support", "shared", "--check", "--diff", "mesh.yaml") == cli.STALE
    assert "+from ._tensorgen_support_numpy import" in capsys.readouterr().out


def test_a_spec_may_say_where_support_code_stands() -> None:
    text = MESH.replace("module: mesh", "module: mesh\nsupport: shared")
    files = compile_spec(Source("a.yaml", text), ["numpy"], "cross-country", False)
    assert [*files] == ["mesh_numpy.py", "_tensorgen_support_numpy.py"]
    assert tensorgen.generate(text) == tensorgen.generate(text, "numpy")
    assert "_tensorgen_support" not in tensorgen.generate(text)


def test_a_long_derivative_is_a_short_module() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "shooting.yaml"
    source = Source.decode(path.name, path.read_bytes())
    texts = compile_spec(source, ["numpy"], "cross-country", support="shared")
    tree = ast.parse(texts["shooting_numpy.py"])
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    # Not lines: these are as many as formulas in docstrings and laid-out sums take.
    every = [x for f in functions for x in ast.walk(f) if isinstance(x, ast.stmt)]
    assert len(every) <= 250
