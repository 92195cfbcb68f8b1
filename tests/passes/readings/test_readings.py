"""How products read their factors, and which labels are left of what is read."""

from __future__ import annotations

import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Product, delta
from tensorgen.passes.readings.readings import reading

N = Dim.of("n")


@pytest.mark.parametrize("other", ["p", "q"])
def test_what_nobody_else_mentions_is_fixed_first(other: str) -> None:
    graph = Graph()
    A, b = graph.input("A", (N, N)), graph.input("b", (N,))
    tie = delta({"p": 1, "q": -1, "i": -1})
    sizes = {"i": N, "p": N, "q": N}
    factors = [(A, "pq"), (b, other)]
    node = graph.product("i", factors, constraints=[tie], sizes=sizes)
    assert isinstance(node, Product)
    place = [ref.node for ref in node.factors].index(A)
    found = reading(node, place)
    assert found is not None
    (kept,) = node.factors[1 - place].labels
    assert kept in found.sizes
    assert len(found.sizes) == 2
    # The other axis is read at a sum or a difference of what is left.
    assert sorted(len(form.labels) for form in found.forms) == [1, 2]
