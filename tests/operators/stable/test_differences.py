"""Two terms of a sum that differ by less than either of them."""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.operators.scalar import apply, ref, times, total
from tensorgen.operators.stable import StableForms


def test_parts_of_one_are_one() -> None:
    graph = Graph(StableForms())
    p, x = (ref(graph.input(name, ("n",))) for name in "px")
    slope, one = apply(graph, "sigmoid", x), ref(graph.constant(1))
    rest = total(graph, [(1, one), (-1, p)])
    parts = [(1, times(graph, rest, slope)), (1, times(graph, p, slope))]
    assert total(graph, parts) == slope
