"""Functions of the examples say what they return, by names that a reader can find."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorgen.errors import Source
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.functions.function_table import FUNCTIONS
from tensorgen.pipeline import compile_spec
from tests.goldens import text

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "examples").glob("*.yaml"))
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.yaml"))

LONG = {
    "attention_layer": ["loss_grad", "loss_hvp"],
    "bilevel_ridge": ["error_hvp"],
    "deep_equilibrium": ["loss_grad", "loss_hvp"],
    "garch": ["loss_hvp"],
    "gaussian_mixture": ["nll_hvp"],
    "neural_ode": ["loss_grad"],
    "nile": ["loss_grad", "loss_hvp"],
    "optimal_control": ["lagrangian_grad", "lagrangian_hess"],
    "oscillator_pinn": ["residual_jac"],
    "rollout": ["loss_hvp"],
    "total_variation": ["loss_grad", "loss_hess", "loss_hvp"],
}
LONG_IN_GALLERY = {
    "arthritis": ["nll_grad", "nll_hess"],
    "bundle": ["error_grad", "error_hess"],
    "cluster": ["energy_hess"],
    "co2": ["nll_grad"],
    "cox": ["nll_hess"],
    "football": ["nll_hess"],
    "influenza": ["loss_grad"],
    "mpc": ["lagrangian_grad", "lagrangian_hess"],
    "options": ["volatility_grad"],
    "regimes": ["filter"],
    "sleep": ["nll_grad", "nll_hess"],
    "slide": ["time_grad", "time_hess"],
    "soap_film": ["area_grad", "area_hess"],
    "tides": ["nll_hess"],
    "transformer": ["loss_grad"],
    "truss": ["response_jac"],
}
"""Where a result has no formula of six lines, nor terms of three, by names that say
what they are."""

NOTATION = (
    *(*FUNCTIONS, *ELEMENTWISE, *OPERATORS, "grad", "jac", "hess", "argmin"),
    *(
        "sum",
        "diag",
        "eye",
        "ones",
        "outer",
        "trace",
        "arange",
        "inf",
        "pi",
        "T",
        "None",
    ),
    *re.findall(
        r"\w+",
        (
            "delta where else, terms out of range, what the code computes, "
            "derivative of and by, along the direction"
        ),
    ),
)
REDUCTION = re.compile(r"(sum|max|min|norm|softmax|logsumexp)_\w*")


def functions(module: ast.Module) -> dict[str, ast.FunctionDef]:
    """The functions of a module."""
    return {f.name: f for f in module.body if isinstance(f, ast.FunctionDef)}


def pointers(module: ast.Module) -> list[str]:
    """The functions some of whose results have no formula."""
    public = (f for name, f in functions(module).items() if name[0] != "_")
    return [f.name for f in public if "Formulas: " in (ast.get_docstring(f) or "")]


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_results_of_examples_have_formulas(spec: Path) -> None:
    module = ast.parse(text(f"{spec.stem}_numpy.py"))
    assert pointers(module) == LONG.get(spec.stem, [])


@pytest.mark.thorough
@pytest.mark.parametrize("spec", GALLERY, ids=lambda path: path.stem)
def test_results_of_the_gallery_have_formulas(spec: Path) -> None:
    source = Source(spec.name, spec.read_text(encoding="utf-8"))
    for code in compile_spec(source, ["numpy"], "cross-country", False).values():
        module = ast.parse(code)
        assert pointers(module) == LONG_IN_GALLERY.get(spec.stem, [])
        check_names(spec, module)


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_formulas_name_what_a_reader_can_find(spec: Path) -> None:
    check_names(spec, ast.parse(text(f"{spec.stem}_numpy.py")))


def check_names(spec: Path, module: ast.Module) -> None:
    """Each name is an argument, of the spec, bound by code, or told by the formula."""
    own = functions(module)
    given = {*re.findall(r"\w+", spec.read_text(encoding="utf-8")), *NOTATION, *own}
    for name, function in own.items():
        if name[0] == "_":
            continue
        rows = formulas(ast.get_docstring(function) or "")
        left = {x for row in rows for x in re.findall(r"\w+", row.split(" = ")[0])}
        known = given | left | {*bound(function, own)}
        said = {x for row in rows for x in re.findall(r"(?<![\d.])\b[A-Za-z_]\w*", row)}
        unknown = {x for x in said - known if len(x.rstrip("0123456789")) > 1}
        assert not {x for x in unknown if not REDUCTION.fullmatch(x)}, (name, unknown)


def formulas(doc: str) -> list[str]:
    """The lines of a docstring that are formulas."""
    head = doc.partition("\nArguments:")[0]
    return [row.strip() for row in head.split("\n") if row.startswith("    ")]


def bound(function: ast.FunctionDef, own: dict[str, ast.FunctionDef]) -> Iterator[str]:
    """What a function and private ones that it calls bind, and their arguments."""
    waiting, seen = [function], {function.name}
    while waiting:
        one = waiting.pop()
        for node in ast.walk(one):
            if isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.Name) and node.id in own and node.id not in seen:
                seen.add(node.id)
                waiting.append(own[node.id])
