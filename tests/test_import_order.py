"""The layout of the package: imports point one way, files are short, start is quick."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tensorgen"

# A stage may import itself and what stands before it.
STAGES = (
    "version",
    "errors",
    "files",
    "ir",
    "operators",
    "prices",
    "fields",
    "calculus",
    "spec",
    "lang",
    "passes",
    "arrays",
    "lower",
    "structure",
    "emit",
    "check",
    "plans",
)
# Emission receives finished code: nothing is elaborated, optimised or lowered there.
FORBIDDEN = {"emit": ("lang", "passes", "lower")}
# All that stands before the first pass.
UNOPTIMISED = ("ir", "operators", "prices", "fields", "calculus", "spec", "lang")
# What the modules beside the stages may import; "" is the package's own `__init__`.
OUTSIDE = {
    "pipeline": ("pipeline", *STAGES),
    "verify": ("verify", "errors", "files", *UNOPTIMISED),
    "explanation": ("explanation", "loading", "pipeline", *STAGES),
    "play": ("play", "frontends", "explanation", "verify", "pipeline", *STAGES),
    "editor": ("editor", "explanation", *STAGES),
    "hooks": ("hooks", "cli", "pipeline", "errors", "files"),
    "frontends": (
        *("frontends", "loading", "explanation", "verify", "errors", "files"),
        *UNOPTIMISED,
    ),
    "engines": ("engines",),
    "bench": ("bench", "explanation", "verify", *STAGES),
    "cli": (
        *("", "cli", "pipeline", "verify", "explanation", "bench", "editor", "play"),
        *("frontends", "errors", "files", "spec", "emit"),
    ),
    "__main__": ("cli",),
    "loading": ("pipeline", "notebook", "errors", "files"),
    "notebook": ("notebook", "loading", *STAGES),
    "": ("loading", "explanation", "frontends", "notebook", "errors", "version"),
}
MOST_LINES = 450


def part(module: tuple[str, ...]) -> str:
    """Return the stage, or the module beside the stages, to which a module belongs."""
    return module[0] if module else ""


def allowed(importer: str) -> tuple[str, ...]:
    """Return the parts that a part may import."""
    if importer in STAGES:
        before = STAGES[: STAGES.index(importer) + 1]
        return tuple(x for x in before if x not in FORBIDDEN.get(importer, ()))
    return OUTSIDE.get(importer, ())


def module_name(path: Path, package: Path) -> tuple[str, ...]:
    """Return a file's dotted name below the package, as a tuple."""
    parts = path.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


@cache
def nodes(path: Path) -> list[ast.Import | ast.ImportFrom | ast.FunctionDef]:
    """Return what imports and what defines functions in a file."""
    found = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef
    return [node for node in found if isinstance(node, kinds)]


def imports(path: Path, package: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield line and target, below the package, of each import of the package.

    Imports inside functions and under `TYPE_CHECKING` count like all others.
    """
    here = module_name(path, package)
    inside = here if path.name == "__init__.py" else here[:-1]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top, *below = alias.name.split(".")
                if top == package.name:
                    yield node.lineno, tuple(below)
        elif isinstance(node, ast.ImportFrom):
            dotted = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                target = (*inside[: len(inside) - node.level + 1], *dotted)
            elif dotted[:1] == (package.name,):
                target = dotted[1:]
            else:
                continue
            for alias in node.names:
                # `from tensorgen import ir` names a module, `__version__` a value.
                inner = package.joinpath(*target, alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                yield node.lineno, (*target, alias.name) if is_module else target


def faults(package: Path) -> list[str]:
    """Return one line for each import that points the wrong way."""
    return [
        f"{path.relative_to(package)}:{line}: {importer or package.name} imports {what}"
        for path in sorted(package.rglob("*.py"))
        for importer in [part(module_name(path, package))]
        for line, target in imports(path, package)
        for what in [part(target)]
        if what not in allowed(importer)
    ]


def circles(package: Path) -> list[list[str]]:
    """Return the modules that import one another, by whatever way, in groups."""
    paths = {module_name(path, package): path for path in package.rglob("*.py")}
    reached = {
        module: {target for _, target in imports(path, package)} - {module}
        for module, path in paths.items()
    }
    for through in sorted(paths):
        for module in paths:
            if through in reached[module]:
                reached[module] |= reached[through]
    groups = {
        tuple(sorted(x for x in reached[module] if module in reached.get(x, ())))
        for module in paths
        if module in reached[module]
    }
    return [[".".join(module) for module in group] for group in sorted(groups)]


def test_imports_point_one_way() -> None:
    assert faults(PACKAGE) == []


def test_no_modules_import_one_another() -> None:
    assert circles(PACKAGE) == []


def test_a_circle_is_found_through_types_alone(tmp_path: Path) -> None:
    package = tmp_path / "tensorgen"
    (package / "ir").mkdir(parents=True)
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "
    for name, text in [
        ("a", "from tensorgen.ir import b"),
        ("b", "def f():\n    from tensorgen.ir.c import x"),
        ("c", types + "from tensorgen.ir.a import X"),
        ("d", "from tensorgen.ir.a import y"),
    ]:
        (package / "ir" / f"{name}.py").write_text(text, encoding="utf-8")
    assert circles(package) == [["ir.a", "ir.b", "ir.c"]]


def test_every_module_belongs_to_a_stage_or_is_known() -> None:
    found = {part(module_name(path, PACKAGE)) for path in PACKAGE.rglob("*.py")}
    assert found - {*STAGES, *OUTSIDE} == set()


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("ir/graph.py", "from tensorgen.calculus import x", "ir imports calculus"),
        ("ir/graph.py", "from ..calculus import x", "ir imports calculus"),
        ("ir/graph.py", "from tensorgen import emit", "ir imports emit"),
        ("spec/__init__.py", "from ..lang.parse import x", "spec imports lang"),
        ("spec/read.py", "def f():\n    import tensorgen.pipeline", "imports pipeline"),
        ("cli.py", "from tensorgen import lower", "cli imports lower"),
        ("emit/write.py", "from tensorgen.lower import lower", "emit imports lower"),
        ("emit/write.py", "from tensorgen.passes import x", "emit imports passes"),
        ("__init__.py", "from .ir import graph", "tensorgen imports ir"),
        ("helpers.py", "from tensorgen import errors", "helpers imports errors"),
    ],
)
def test_an_import_of_a_later_stage_is_found(
    tmp_path: Path, file: str, text: str, fault: str
) -> None:
    package = tmp_path / "tensorgen"
    for stage in STAGES:
        (package / stage).mkdir(parents=True)
    (package / file).write_text(text, encoding="utf-8")
    (line,) = faults(package)
    assert fault in line


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("calculus/reverse.py", "from ..ir.graph import x\nfrom .rules import y"),
        ("plans/build_module.py", "from tensorgen.version import __version__"),
        ("pipeline.py", "from tensorgen import emit, spec"),
        ("cli.py", "def f():\n    from .pipeline import gen"),
        ("ir/graph.py", "import numpy\nfrom numpy.linalg import inv"),
    ],
)
def test_an_import_of_an_earlier_stage_is_allowed(
    tmp_path: Path, file: str, text: str
) -> None:
    package = tmp_path / "tensorgen"
    for stage in STAGES:
        (package / stage).mkdir(parents=True)
    (package / file).write_text(text, encoding="utf-8")
    assert faults(package) == []


@pytest.mark.parametrize("file", ["mutants.py", "conftest.py"])
def test_the_tests_that_tools_name_are_there(file: str) -> None:
    tests = ROOT / "tests"
    text = (tests / file).read_text(encoding="utf-8")
    named = re.findall(r'"(?:tests/)?((?:\w+/)*test_\w+\.py)"', text)
    assert len(named) > 5
    assert [name for name in named if not (tests / name).is_file()] == []


def test_no_file_is_too_long_to_hold() -> None:
    sources = [
        path
        for folder in ("tensorgen", "tests", "examples", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.is_relative_to(ROOT / "tests" / "golden")
    ]
    assert len(sources) > 20
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources
    }
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}


def test_the_command_line_starts_without_the_heavy_modules() -> None:
    program = (
        "import sys; import tensorgen.cli;"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    heavy = {"numpy", "sympy", "scipy", "jinja2", "black", "yaml", "uvicorn"}
    assert heavy & set(run.stdout.split()) == set()


def test_no_function_is_too_long_to_read() -> None:
    longest = {
        f"{path.relative_to(PACKAGE)}: {node.name}": node.end_lineno - node.lineno + 1
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None
    }
    assert len(longest) > 1000
    assert {name: n for name, n in longest.items() if n > 60} == {}
