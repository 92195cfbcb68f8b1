"""The table of operators beside THOAD's is true: each row up to order 3."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen.calculus.differentiate import Differentiate
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.lang import elaborate
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.stable import StableForms
from tensorgen.spec.read import read_spec
from tensorgen.verify.interpret import evaluate

pytestmark = pytest.mark.thorough

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "from-thoad.md").read_text(encoding="utf-8")

Array = Any


def _table() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "operator_table", DOCS / "operator_table.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TABLE = _table()


def interpreter(text: str) -> Callable[[dict[str, Array]], Array]:
    """The function of a row by the reference interpreter, before any rewrite."""
    graph = Graph(StableForms())
    program = elaborate(read_spec(Source("row", text)), graph, Differentiate(graph))
    (node,) = (f.node for f in program.functions)

    def value(given: dict[str, Array]) -> Array:
        return evaluate([node], given, FUNCTIONS, OPERATORS, TABLE.SIZES)[0]

    return value


WEIGHTS = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
STEP = 2e-3


def slope(function: Callable[[Array], Array], at: Array, direction: Array) -> Array:
    """The derivative along a direction, of eighth order of accuracy."""
    return sum(
        weight / STEP * sign * function(at + sign * step * STEP * direction)
        for step, weight in WEIGHTS
        for sign in (1, -1)
    )


@pytest.mark.parametrize("row", TABLE.ROWS, ids=lambda row: row.torch)
def test_a_row_is_generated_up_to_order_three(row: Any) -> None:
    made = TABLE.Derivatives(row)
    assert made.line() in PAGE.splitlines(), "run python docs/operator_table.py"
    x, given = row.variable, made.arguments
    interpreted = interpreter(TABLE.spec(row))
    value = interpreted(given)
    np.testing.assert_allclose(made.at(0), value, rtol=1e-12, atol=1e-14)
    direction = np.random.default_rng(1).uniform(-1, 1, np.shape(given[x]))

    def below(order: int, point: Array) -> Array:
        if order == 0:
            return interpreted({**given, x: point})
        return made.at(order, point).dense()

    for order in range(1, row.top + 1):
        found = made.at(order).dense()
        assert found.shape == value.shape + order * direction.shape
        along = np.tensordot(found, direction, direction.ndim)
        expected = slope(partial(below, order - 1), given[x], direction)
        scale = max(1.0, float(np.max(np.abs(expected))))
        np.testing.assert_allclose(along, expected, rtol=0, atol=1e-8 * scale)


def test_every_row_of_the_table_stands_in_the_code() -> None:
    text = PAGE.partition(TABLE.BEGIN)[2].partition(TABLE.END)[0]
    assert len(text.strip().splitlines()) == 2 + len(TABLE.ROWS)
