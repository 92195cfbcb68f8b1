"""Modelled arithmetic and memory of code, against what runs."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from textwrap import indent
from typing import Any

import numpy as np
import pytest

from tensorgen.arrays.arrays import array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import peak
from tensorgen.arrays.operations import Add, Multiply, Permute, Power
from tensorgen.arrays.statements import Let, Release
from tensorgen.arrays.work import arithmetic
from tensorgen.arrays.written import written
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.lower import lower
from tests.lower.support import arguments

SIZES = {"m": 700, "n": 500, "k": 40}
m, n, k = map(Dim.of, SIZES)


def gram(graph: Graph) -> Node:
    X, w = graph.input("X", (m, n)), graph.input("w", (m,))
    return graph.product([0, 1], [(X, (2, 0)), (w, (2,)), (X, (2, 1))])


def chain(graph: Graph) -> Node:
    A, B, x = graph.input("A", (m, n)), graph.input("B", (n, k)), graph.input("x", (k,))
    inner = graph.product([0], [(B, (0, 1)), (x, (1,))])
    return graph.product([0], [(A, (0, 1)), (inner, (1,))])


def outer(graph: Graph) -> Node:
    x, y = graph.input("x", (m,)), graph.input("y", (n,))
    spread = graph.product([0, 1], [(x, (0,)), (y, (1,))])
    exp = graph.map("exp", [0, 1], [(spread, (0, 1))])
    return graph.product([0], [(exp, (0, 1))])


CASES = {"gram": gram, "chain": chain, "outer": outer}


def allocated(code: Code, given: dict[str, Any], sizes: dict[str, int]) -> int:
    """The bytes that the text of code holds at most when it runs."""
    text = written(code, "np")
    space: dict[str, Any] = {"np": np, "dtype": np.dtype(float), **given, **sizes}
    lines = "\n".join([*text.lines, f"return {', '.join(text.returns)}"])
    exec(f"def f({', '.join(given)}):\n{indent(lines, '    ')}", space)
    space["f"](**given)  # what is made once is not counted
    tracemalloc.start()
    space["f"](**given)
    _, measured = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return measured


@pytest.mark.parametrize("name", CASES)
def test_the_peak_is_what_is_allocated(name: str) -> None:
    graph = Graph()
    root = CASES[name](graph)
    code = lower(graph, [root])
    measured = allocated(code, arguments([root], SIZES), SIZES)
    modelled = 8 * peak(code, lambda dim: dim.value(SIZES))
    assert modelled == pytest.approx(measured, rel=0.02, abs=4096)


X, Y = variable("X", (m, n), base="X"), variable("Y", (m, n), base="Y")
T = variable("T", (m, n), base="T")
SQUARE = array(Power(Fraction(2)), X)
VIEW = variable("V", (n, m), base="T")


@pytest.mark.parametrize(
    ("code", "most"),
    [
        (Code((Let("T", SQUARE), Release(("T",))), (SQUARE,)), 1),
        (Code((Let("T", SQUARE),), (SQUARE,)), 2),
        # What another name shows is not given up.
        (
            Code(
                (
                    Let("T", SQUARE),
                    Let("V", array(Permute((1, 0)), T)),
                    Release(("T",)),
                ),
                (array(Power(Fraction(2)), VIEW),),
            ),
            2,
        ),
        # Operators go from the left to the right, and write over what nobody has.
        (Code((), (array(Add((1, 1, 1)), SQUARE, SQUARE, SQUARE),)), 2),
        (Code((), (array(Multiply(Fraction(2), 1), SQUARE),)), 1),
        (Code((), (array(Multiply(Fraction(2), 2), X, Y),)), 1),
        (Code((), (array(Multiply(Fraction(2), 2), X, variable("x", (n,))),)), 2),
    ],
)
def test_what_is_released_or_written_over_is_not_held(code: Code, most: int) -> None:
    rng = np.random.default_rng(0)
    given = {"X": rng.random((700, 500)), "Y": rng.random((700, 500))}
    measured = allocated(code, {**given, "x": rng.random(500)}, SIZES)
    modelled = 8 * peak(code, lambda dim: dim.value(SIZES))
    assert modelled == 8 * most * 700 * 500
    assert measured == pytest.approx(modelled, rel=0.02)


def test_arithmetic_is_a_polynomial_in_sizes() -> None:
    graph = Graph()
    assert arithmetic(lower(graph, [chain(graph)])) == 2 * n * k + 2 * m * n
    graph = Graph()
    assert arithmetic(lower(graph, [gram(graph)])) == m * n + 2 * m * n * n
