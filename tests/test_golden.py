"""The modules generated from `examples/`, kept in `tests/golden` and read in review.

`make golden` rewrites them. What an owner would object to when reading them is tested
here, so that it cannot come back unseen.
"""

import ast
import re
from pathlib import Path

import pytest

import tensorgen

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
SPECS = sorted((ROOT / "examples").glob("*.yaml"))
FILES = {
    f"{spec.stem}_{backend}.py": (spec, backend)
    for spec in SPECS
    for backend in ("numpy", "cupy")
}


def golden(name: str) -> str:
    """Return the text of a golden file."""
    return (GOLDEN / name).read_text(encoding="utf-8")


def functions(name: str) -> dict[str, ast.FunctionDef]:
    """Return the public functions of a golden file by their names."""
    return {
        node.name: node
        for node in ast.parse(golden(name)).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


@pytest.mark.parametrize("name", FILES)
def test_a_golden_file_is_what_is_generated(name: str) -> None:
    spec, backend = FILES[name]
    assert golden(name) == tensorgen.generate(spec, backend=backend), "make golden"


def test_there_is_no_golden_file_too_many() -> None:
    assert {path.name for path in GOLDEN.glob("*.py")} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_names_are_not_numbered_temporaries(name: str) -> None:
    found = {
        node.id
        for node in ast.walk(ast.parse(golden(name)))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert [n for n in sorted(found) if re.fullmatch(r"_?(t|tmp|v|x)\d+", n)] == []


@pytest.mark.parametrize("name", FILES)
def test_plain_products_are_not_written_as_einsum(name: str) -> None:
    # Every contraction of the examples is a matrix product, batched at most.
    assert "einsum" not in golden(name)


@pytest.mark.parametrize("name", FILES)
def test_every_public_function_is_documented_typed_and_exported(name: str) -> None:
    exported = next(
        ast.literal_eval(node.value)
        for node in ast.parse(golden(name)).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "__all__"
    )
    found = functions(name)
    assert found and set(found) <= set(exported)
    for function in found.values():
        assert ast.get_docstring(function)
        assert function.returns is not None
        arguments = [*function.args.args, *function.args.kwonlyargs]
        assert all(argument.annotation for argument in arguments)
