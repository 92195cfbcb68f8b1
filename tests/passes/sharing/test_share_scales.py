"""A derivative that several products scale is scaled once."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.passes.sharing.share_scales import share_scales
from tensorgen.verify.interpret import evaluate

SIZES = {"t": 200, "a": 50, "b": 60}


def gradients(graph: Graph, called: bool = True) -> tuple[list[Node], Node, Node]:
    """Two products of a residual over a size, flat; the residual, and the size."""
    m, o, x = (graph.input(n, d) for n, d in (("m", "ta"), ("o", "ab"), ("x", "ta")))
    y, t = graph.input("y", ["t", "b"]), graph.size(Dim.symbol("t"))
    r = graph.map("tanh", [0, 1], [(y, [0, 1])])
    n = graph.map("pow", [], [(t, []), (graph.constant(-1), [])])
    if called:
        graph.suggest(graph.einsum("tb,->tb", r, n, coefficient=2), "d_out")
    roots = [
        graph.einsum("ta,tb,->ab", m, r, n, coefficient=2),
        graph.einsum("ta,tb,ab,->t", x, r, o, n, coefficient=2),
    ]
    return roots, r, n


def scalings(roots: list[Node], n: Node) -> int:
    """How many products are multiplied by a number."""
    return sum(
        isinstance(node, Product) and n in {ref.node for ref in node.factors}
        for node in topological(roots)
    )


def test_a_derivative_is_scaled_once() -> None:
    graph = Graph()
    roots, _, n = gradients(graph)
    found = share_scales(Context(graph, CostModel(SIZES)), roots)
    assert (scalings(roots, n), scalings(found, n)) == (2, 1)
    rng = np.random.default_rng(0)
    shapes = {"m": (7, 2), "o": (2, 3), "x": (7, 2), "y": (7, 3)}
    given = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    before = evaluate(roots, given, FUNCTIONS, OPERATORS)
    after = evaluate(found, given, FUNCTIONS, OPERATORS)
    for got, expected in zip(after, before, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize("case", ["no name", "one product", "few reads"])
def test_what_no_reader_would_scale_stays_as_it_is(case: str) -> None:
    graph = Graph()
    roots, _, _ = gradients(graph, called=case != "no name")
    roots = roots[:1] if case == "one product" else roots
    sizes = SIZES | {"a": 3} if case == "few reads" else SIZES
    assert share_scales(Context(graph, CostModel(sizes)), roots) == roots
