"""No name of a spec hides what generated code uses, whatever it names."""

import ast
import builtins
import inspect
import re
import symtable
from pathlib import Path

import numpy as np
import pytest

import tensorgen
from tensorgen import SpecError
from tensorgen.operators.helpers.helper_table import HELPERS
from tensorgen.spec.names import METHOD_NAMES, RESERVED, RESERVED_OF_INPUTS
from tests import goldens
from tests.hostile.names import SPECS, plain_values, tables, values

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.j2"))
# What each role is called, all at once: dims and values of `where` give way.
TAKEN = (
    {"qi": "for_value", "qd": "columns", "ql": "math"},
    {"qi": "data", "qd": "rows", "ql": "special"},
    {"qi": "shapes", "qd": "weight", "ql": "Scalar"},
    {"qi": "given", "qd": "values", "ql": "expm"},
    {"qi": "kept", "qd": "size", "ql": "Hessian"},
    {"qi": "lower", "qd": "data", "ql": "vars"},
    {"qi": "operand", "qd": "for_gradient", "ql": "dtype"},
)


def _referred(source: str) -> set[str]:
    """The names that functions of a module use and do not define themselves."""
    return {
        symbol.get_name()
        for table in tables(symtable.symtable(source, "module", "exec"))
        for symbol in table.get_symbols()
        if table.get_type() != "module" and symbol.is_global()
    }


def _own(source: str) -> set[str]:
    """The names that come from the spec: exported ones and derivative classes."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            found.update(ast.literal_eval(node.value))
        elif isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base) for base in node.bases}
            if any(base.startswith("_Structured") for base in bases):
                found.add(node.name)
    return found


@pytest.mark.parametrize("name", goldens.names())
def test_all_that_functions_of_modules_refer_to_is_reserved(name: str) -> None:
    source = goldens.text(name)
    names = _referred(source) - _own(source)
    assert {n for n in names if n[0] != "_"} <= RESERVED


def test_all_that_helpers_refer_to_is_reserved() -> None:
    source = "\n".join(HELPERS.values())
    names = _referred(source)
    assert {n for n in names if n[0] != "_"} <= RESERVED


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_all_that_templates_bind_or_take_from_python_is_reserved(path: Path) -> None:
    text = re.sub(r"\{[%{#].*?[%}#]\}", "_", path.read_text("utf-8"))
    found = set(re.findall(r"^(?:class|def) (\w+)|^(\w+)\b.* = ", text, re.MULTILINE))
    names = {name for pair in found for name in pair}
    for imported in re.findall(r"^(?:from \S+ )?import (.+)$", text, re.MULTILINE):
        names.update(part.split()[-1] for part in imported.split(", "))
    names.update(set(re.findall(r"(?<![.\w])(\w+)\(", text)) & set(dir(builtins)))
    assert {n for n in names if n[:1].isalpha()} <= RESERVED


@pytest.mark.parametrize("text", SPECS)
def test_methods_that_take_inputs_bind_nothing_of_their_own(text: str) -> None:
    own = {*re.findall(r"\w+", text), "self", "data", "dtype"}
    module = symtable.symtable(inspect.getsource(tensorgen.load(text)), "m", "exec")
    packs = [table for table in tables(module) if table.get_name() == "pack"]
    assert packs
    for table in packs:
        bound = {s.get_name() for s in table.get_symbols() if s.is_local()}
        assert bound <= own


@pytest.mark.parametrize("names", TAKEN, ids=lambda names: "-".join(names.values()))
def test_names_of_the_frame_change_no_value(names: dict[str, str]) -> None:
    text = SPECS[TAKEN.index(names) % len(SPECS)]
    for own, plain in zip(values(text, names), plain_values(text), strict=True):
        np.testing.assert_allclose(own, plain)


@pytest.mark.parametrize("name", sorted(RESERVED - RESERVED_OF_INPUTS))
def test_inputs_may_be_called_what_only_other_functions_use(name: str) -> None:
    text = SPECS[len(name) % len(SPECS)]
    for own, plain in zip(values(text, {"qi": name}), plain_values(text), strict=True):
        np.testing.assert_allclose(own, plain)


@pytest.mark.parametrize(
    ("role", "name"),
    [
        *(("input", name) for name in sorted(RESERVED_OF_INPUTS)),
        *((role, name) for role in ("dim", "function") for name in sorted(RESERVED)),
    ],
)
def test_what_would_hide_the_frame_is_refused(role: str, name: str) -> None:
    names = {"input": "x", "dim": "n", "function": "f"} | {role: name}
    text = (
        "tensorgen: 1\ninputs: {{{input}: [{dim}]}}\nfunctions: {{{function}: {input}}}"
    )
    with pytest.raises(SpecError, match=f"'{name}' cannot be the name of"):
        tensorgen.generate(text.format(**names))


def test_a_dim_keeps_its_name_in_expressions_and_gives_way_in_code() -> None:
    text = "tensorgen: 1\ninputs: {x: [rows, rows_]}\nfunctions: {f: rows * x + rows_}"
    source = tensorgen.generate(text)
    assert "rows_, rows__ = x.shape" in source
    f = tensorgen.load(text).f
    np.testing.assert_array_equal(f(np.ones((2, 3))), np.full((2, 3), 5.0))
    assert METHOD_NAMES.isdisjoint({"n", "m", "k"})


@pytest.mark.parametrize(
    "text",
    [
        "inputs: {x: [rows], rows_: scalar}\nfunctions: {f: x}",
        "inputs: {x: [ct]}\nfunctions: {f: {expr: x, wrt: x, emit: [vjp]}}",
        "inputs: {x: [n], dx: [n]}\n"
        "functions: {f: {expr: sum(x * dx), wrt: x, emit: [problem]}}",
        "inputs: {x: [n], FGradient: scalar}\n"
        "functions: {f: {expr: sum(x) * FGradient, wrt: [x, FGradient]}}",
        "inputs: {x: [n], y: [n]}\nfunctions:\n"
        "  f: {expr: sum(x * y), wrt: [x, y]}\n  F: {expr: sum(x * y), wrt: [x, y]}",
    ],
    ids=["a dim in code", "a cotangent", "a direction", "a tuple", "two tuples"],
)
def test_names_that_meet_in_code_are_reported(text: str) -> None:
    with pytest.raises(SpecError):
        tensorgen.generate("tensorgen: 1\n" + text)


def test_classes_of_derivatives_give_way_to_other_names() -> None:
    text = """\
tensorgen: 1
inputs: {JointHessian2: [n], FHessian: [n]}
functions:
  joint: {expr: sum(JointHessian2**4), wrt: JointHessian2, emit: [hessian]}
  f: {expr: sum(FHessian**4), wrt: FHessian, emit: [hessian]}
"""
    module = tensorgen.load(text)
    for hessian in (module.joint_hess([1.0, 2.0]), module.f_hess([1.0, 2.0])):
        np.testing.assert_allclose(hessian.dense(), np.diag([12.0, 48.0]))
