"""The modules generated from `examples/`, kept in `tests/golden` and read in review.

`make golden` rewrites them. What an owner would object to when reading them is tested
here, so that it cannot come back unseen.
"""

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tensorgen
from tensorgen.check import Report
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec
from tests import goldens
from tests.goldens import text as golden

ROOT = Path(__file__).resolve().parent.parent
SPECS = sorted((ROOT / "examples").glob("*.yaml"))
FILES = {
    f"{spec.stem}_{backend}.py": (spec, backend)
    for spec in SPECS
    for backend in ("numpy", "cupy")
}
# Contractions of arrays with three axes and more.
HIGHER = ("attention_layer", "gaussian_mixture", "mesh_energy")


def functions(name: str) -> dict[str, ast.FunctionDef]:
    """Return the public functions of a golden file by their names."""
    return {
        node.name: node
        for node in ast.parse(golden(name)).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_golden_files_are_what_is_generated(spec: Path) -> None:
    source = Source.decode(str(spec), spec.read_bytes())
    told: dict[str, Report] = {}
    backends, tell = ["numpy", "cupy"], told.__setitem__
    texts = compile_spec(source, backends, "cross-country", report=tell)
    for name, text in texts.items():
        assert golden(name) == text, "make golden"
        # All functions of the examples are held exactly against calculus, but for
        # those of a Hessian that is definite for real numbers, and not for residues.
        assert told[name].exact
        assert told[name].floating == [] or spec.stem == "bilevel_ridge"
        assert told[name].unchecked == {}


# What a value is, where nothing is known of what it is for; numbered where it recurs.
GENERIC = re.compile(
    r"(weighted|scaled|total|difference|product|sums|gathered|spread|powers|value"
    r"|solution)(_\d+)?"
)


def test_generic_names_are_few() -> None:
    names = [
        line.targets[0].id
        for file in FILES
        if file.endswith("_numpy.py")
        for scope in ast.parse(golden(file)).body
        if isinstance(scope, ast.FunctionDef | ast.ClassDef)
        if not scope.name.startswith("_") or scope.name.endswith("Point")
        for line in ast.walk(scope)
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)
    ]
    generic = [name for name in names if GENERIC.fullmatch(name)]
    assert 0 < len(generic) < 0.08 * len(names)


@pytest.mark.parametrize("command", ["check", "format --check"])
def test_linters_and_formatters_find_nothing_to_mend(
    command: str, tmp_path: Path
) -> None:
    goldens.main("--to", tmp_path)
    ruff = [sys.executable, "-m", "ruff", *command.split(), "--isolated", "--no-cache"]
    run = subprocess.run([*ruff, str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_the_python_interface_gives_the_golden_bytes() -> None:
    spec, backend = FILES["softmax_regression_cupy.py"]
    text = tensorgen.generate(spec, backend=backend)
    assert golden("softmax_regression_cupy.py") == text


def test_there_is_no_golden_file_too_many() -> None:
    assert goldens.names() == sorted(FILES)


def test_a_difference_makes_one_text_of_the_other() -> None:
    theirs = "import numpy as np\nx = np.exp(t)\ny = x\nz = y\n"
    ours = "import cupy as cp\n# first\nx = cp.exp(t)\nz = y\nlast\n"
    found = goldens.difference("a_cupy.py", theirs, ours)
    assert "exp" not in found and "-y = x" in found
    lines = goldens._patched(goldens._renamed(theirs), found)
    assert "".join(lines) == ours


@pytest.mark.parametrize("name", FILES)
def test_names_are_not_numbered_temporaries(name: str) -> None:
    found = {
        node.id
        for node in ast.walk(ast.parse(golden(name)))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert [n for n in sorted(found) if re.fullmatch(r"_?(t|tmp|v|x)\d+", n)] == []


@pytest.mark.parametrize("name", [n for n in FILES if not n.startswith(HIGHER)])
def test_plain_products_are_not_written_as_einsum(name: str) -> None:
    # Every contraction in these is a matrix product, batched at most. Of rows of blocks
    # one by one, einsum takes a third of the time of `(a * b).sum(axis=1)`.
    for function in functions(name).values():
        text = ast.unparse(function)
        assert "einsum" not in text.replace("np.einsum('ij,ij->i', ", "")


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_reshaped_or_copied_without_need(name: str) -> None:
    # The derivative objects may: they give out arrays of their own.
    for function in functions(name).values():
        text = "\n".join(map(ast.unparse, function.body[1:]))
        assert not re.search(r"\.(reshape|ravel|ascontiguousarray)\(", text)
        for copied in re.finditer(r"^(\w+) = \w+\.copy\(\)$|\.copy\(", text, re.M):
            # `S = K.copy()` is right where S is written to and K has a name.
            # Nor is a turned matrix that rows of another are spread beside.
            if re.search(r"\.T$", text[: copied.start()]) and re.match(
                r"\.copy\(\)(,| -) \w+\[", text[copied.start() :]
            ):
                continue
            assert copied[1], copied[0]
            whole = rf"({copied[1]}|cp\.diagonal\({copied[1]}\))"
            assert re.search(rf"^{whole}\[.*\] [-+]?= ", text, re.M), copied[0]


def test_the_gradient_of_logistic_regression_is_three_to_five_statements() -> None:
    gradient = functions("logistic_regression_numpy.py")["loss_grad"]
    docstring, *statements = gradient.body
    assert isinstance(docstring, ast.Expr)
    assert 3 <= len(statements) <= 5


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_the_hessian_of_a_quadratic_form_is_a_plus_its_transpose(backend: str) -> None:
    text = """
        tensorgen: 1
        inputs: {x: [n], A: [n, n]}
        functions:
          f: {expr: x @ A @ x, wrt: x, emit: [hessian, dense_hessian]}
    """
    source = tensorgen.generate(textwrap.dedent(text), backend=backend)
    for function in ast.parse(source).body:
        if isinstance(function, ast.FunctionDef) and function.name.startswith("f_"):
            # After the docstring: the check of the arguments, and the result.
            _, check, result = map(ast.unparse, function.body)
            assert "_arrays(" in check
            assert "A + A.T" in result
            if function.name == "f_hess_dense":
                assert result == "return A + A.T"


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
