"""Terms that are pairs with one operand are one pair."""

from __future__ import annotations

import numpy as np

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, topological
from tensorgen.operators.reference import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.factor_pairs import factor_pairs
from tests.ir.interpret import evaluate

Pairs = tuple[Graph, Node, list[Node]]


def pairs() -> Pairs:
    """Matrices, and a matrix that both are multiplied by."""
    graph = Graph()
    P = graph.input("P", ["n", "p"])
    return graph, P, [graph.input(name, ["n", "m"]) for name in "VW"]


def difference(graph: Graph, first: Node, second: Node) -> Node:
    axes = range(first.order)
    return graph.sum(axes, [(8, first, axes), (-2, second, axes)])


def contractions(roots: list[Node]) -> int:
    nodes = topological(roots)
    return sum(isinstance(node, Product) and bool(node.inner) for node in nodes)


def test_terms_that_share_an_operand_are_multiplied_once() -> None:
    graph, P, factors = pairs()
    terms = [graph.einsum("ki,kj->ij", W, P) for W in factors]
    root = difference(graph, *terms)
    found = factor_pairs(Context(graph), [root])
    assert (contractions([root]), contractions(found)) == (2, 1)
    rng = np.random.default_rng(0)
    shapes = {"P": (3, 4), "V": (3, 2), "W": (3, 2)}
    arguments = {name: rng.random(shape) for name, shape in shapes.items()}
    (before,) = evaluate([root], arguments, FUNCTIONS, OPERATORS)
    (after,) = evaluate(found, arguments, FUNCTIONS, OPERATORS)
    np.testing.assert_allclose(after, before, rtol=1e-13)
    # What something else needs, or a name stands for, is computed anyway.
    assert factor_pairs(Context(graph), [root, *terms]) == [root, *terms]
    for term in terms:
        graph.names[term] = "named"
    assert factor_pairs(Context(graph), [root]) == [root]


def test_what_terms_share_is_found_however_deep_it_is() -> None:
    graph, P, factors = pairs()
    Q, s = graph.input("Q", ["p", "q"]), graph.input("s", ["m"])
    terms = []
    for W in factors:
        inner = graph.einsum("ki,kj->ij", graph.einsum("ki,i->ki", W, s), P)
        terms.append(graph.einsum("ij,jk->ki", inner, Q))
    root = difference(graph, *terms)
    found = factor_pairs(Context(graph), [root])
    assert (contractions([root]), contractions(found)) == (4, 2)


def test_a_product_with_a_difference_is_not_multiplied_out() -> None:
    graph = Graph()
    X, w = graph.input("X", ["m", "n"]), graph.input("w", ["n"])
    y = graph.input("y", ["m"])
    residual = difference(graph, graph.einsum("ij,j->i", X, w), y)
    root = graph.einsum("ij,i->j", X, residual)
    assert factor_pairs(Context(graph), [root]) == [root]


def test_a_difference_of_products_is_taken_of_what_they_multiply() -> None:
    graph = Graph()
    A = graph.input("A", ["m", "n"])
    x, y = (graph.input(name, ["n"]) for name in "xy")
    terms = [graph.einsum("ij,j->i", A, v) for v in (x, y)]
    root = graph.sum([0], [(1, terms[0], (0,)), (-1, terms[1], (0,))])
    apart = graph.sum([0], [(1, x, (0,)), (-1, y, (0,))])
    assert factor_pairs(Context(graph), [root]) == [graph.einsum("ij,j->i", A, apart)]


def test_a_formula_of_single_entries_stays_as_it_is() -> None:
    graph = Graph()
    p, x, q = (graph.input(name, ["n"]) for name in "pxq")
    terms = [graph.einsum("i,i->i", graph.einsum("i,i->i", p, v), q) for v in (x, p)]
    root = difference(graph, *terms)
    assert factor_pairs(Context(graph), [root]) == [root]
