"""Sums over merged axes of what is sparse are over the axes themselves."""

from __future__ import annotations

import numpy as np

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Node, affine, delta, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.reshape import reshape
from tensorgen.operators.stable import StableForms
from tensorgen.passes.context import Context
from tensorgen.passes.order.factor_sums import Effort
from tensorgen.passes.order.reshape_back import reshape_back
from tensorgen.passes.rounds import Round
from tensorgen.verify.interpret import evaluate

N, M = Dim.symbol("n"), Dim.symbol("m")


def rewritten(graph: Graph, node: Node) -> Node:
    known = Round(Context(graph), Effort(), set(), set(), lambda x: x)
    return reshape_back(known, node)


def diagonal(graph: Graph) -> Node:
    """A diagonal matrix, as a vector."""
    tied, sizes = [delta({0: 1, 1: -1})], dict.fromkeys((0, 1), N)
    d = graph.input("d", (N,))
    matrix = graph.product((0, 1), [(d, (0,))], constraints=tied, sizes=sizes)
    return reshape(graph, matrix, (N * N,))


def test_a_range_of_other_labels_stays_where_it_is() -> None:
    graph = Graph(StableForms())
    flat = diagonal(graph)
    V, w = graph.input("V", (N * N, M)), graph.input("w", (M,))
    node = graph.product(
        "i",
        [(flat, "l"), (V, "la"), (w, "p")],
        constraints=[Constraint("ge", affine([("p", 1), ("i", -1)]))],
        sizes={"i": M},
    )
    found = rewritten(graph, node)
    assert found is not node
    assert not any(x is flat for x in topological([found]))
    rng = np.random.default_rng(0)
    given = {"d": rng.random(3), "V": rng.random((9, 4)), "w": rng.random(4)}
    (value,) = evaluate([found], given, FUNCTIONS, OPERATORS)
    total = given["d"] @ given["V"][::4].sum(axis=1)
    expected = total * np.cumsum(given["w"][::-1])[::-1]
    np.testing.assert_allclose(value, expected, rtol=1e-13)


def test_what_would_be_larger_than_its_factors_stays() -> None:
    graph = Graph(StableForms())
    v, w = graph.input("v", (N * N, M)), graph.input("w", (N * N, M))
    node = graph.einsum("l,la,lb->ab", diagonal(graph), v, w)
    assert rewritten(graph, node) is node
