"""Infinity in sums: it is all of them, but for its sign."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tensorgen.ir.graph import Graph
from tensorgen.operators.scalar import infinity, ref, total
from tensorgen.operators.stable import StableForms


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(5, 2), Fraction(-3)])
def test_numbers_that_are_added_to_infinity_go(scale: Fraction) -> None:
    graph = Graph(StableForms())
    x = ref(graph.input("x", ()))
    side = infinity(graph, 1 if scale > 0 else -1)
    whole = infinity(graph, 1)
    assert total(graph, [(scale, whole), (1, x)]) == side
    assert total(graph, [(1, x), (scale, whole), (-2, x)]) == side
    assert total(graph, [(scale, whole)]) == side
