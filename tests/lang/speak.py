"""Short ways to elaborate an expression and to look at what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorgen.calculus.differentiate import Differentiate
from tensorgen.errors import Diagnostic, Source, SpecError
from tensorgen.ir.graph import Graph
from tensorgen.lang import ElaboratedFunction, Program, elaborate
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.stable import StableForms
from tensorgen.spec.read import read_spec
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify

Array = Any

HEAD = """tensorgen: 1
module: spec
dims: [m, n, k]
inputs:
  X: [m, n]
  Y: [m, n]
  A: [n, n]
  B: [k, n, n]
  u: [m]
  v: [n]
  w: [n]
  long: [2*n]
  wide: [n + k - 1]
  three: [3]
  one: [1]
  c: scalar
  row: {shape: [k], index: m}
  tri: {shape: [k, 3], index: n}
"""
SIZES = {"m": 3, "n": 4, "k": 2}


def numbers() -> dict[str, Array]:
    """Return values for the inputs of `HEAD`, none of them special."""
    random = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "X": (3, 4),
        "Y": (3, 4),
        "A": (4, 4),
        "B": (2, 4, 4),
        "u": (3,),
        "v": (4,),
        "w": (4,),
        "long": (8,),
        "wide": (5,),
        "three": (3,),
        "one": (1,),
        "c": (),
    }
    values: dict[str, Array] = {
        name: random.normal(size=shape) for name, shape in shapes.items()
    }
    values["A"] = values["A"] + 3 * np.eye(4)
    values["B"] = values["B"] + 3 * np.eye(4)
    values["row"] = np.array([2, 0])
    values["tri"] = np.array([[0, 1, 3], [3, 1, 2]])
    return values


def spec_of(expression: str, left: str = "f", where: str = "", macros: str = "") -> str:
    """Return a spec with one function."""
    text = HEAD
    if macros:
        text += "definitions: |\n" + _indented(macros, 2)
    text += f'functions:\n  "{left}":\n'
    if where:
        text += "    where: |\n" + _indented(where, 6)
    return text + "    expr: |\n" + _indented(expression, 6)


def _indented(text: str, by: int) -> str:
    return "".join(" " * by + line + "\n" for line in text.splitlines())


def program(text: str) -> Program:
    """Read and elaborate a whole spec."""
    graph = Graph(StableForms())
    spec = read_spec(Source("spec.yaml", text))
    found = elaborate(spec, graph, Differentiate(graph))
    verify([f.node for f in found.functions])
    return found


def function(
    expression: str, left: str = "f", where: str = "", macros: str = ""
) -> ElaboratedFunction:
    """Elaborate a spec with one function."""
    return program(spec_of(expression, left, where, macros)).functions[0]


def value(
    expression: str,
    left: str = "f",
    where: str = "",
    macros: str = "",
    given: Mapping[str, Array] | None = None,
) -> Array:
    """Elaborate one function and interpret it."""
    node = function(expression, left, where, macros).node
    arguments = {**numbers(), **(given or {})}
    return evaluate([node], arguments, FUNCTIONS, OPERATORS, SIZES)[0]


def faults(
    expression: str, left: str = "f", where: str = "", macros: str = ""
) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a spec of one function."""
    return faults_of(spec_of(expression, left, where, macros))


def faults_of(text: str) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a spec."""
    try:
        program(text)
    except SpecError as error:
        return error.diagnostics
    return ()


def only_fault(
    expression: str, left: str = "f", where: str = "", macros: str = ""
) -> tuple[str, str, str]:
    """Return message, marked text and hint of the one fault of an expression."""
    (fault,) = faults(expression, left, where, macros)
    span = fault.span
    assert span is not None
    return fault.message, span.source.text[span.start : span.end], fault.hint or ""


def checks(expression: str, left: str = "f") -> list[str]:
    """Return the size conditions that are left to be checked at run time."""
    return [check.message for check in function(expression, left).checks]
