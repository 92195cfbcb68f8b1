"""Pairs of factors that several products have are multiplied once."""

from __future__ import annotations

import numpy as np

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.passes.sharing.share_factors import share_factors
from tensorgen.verify.interpret import evaluate


def products_of(roots: list[Node], a: Node, b: Node) -> int:
    return sum(
        isinstance(node, Product) and {a, b} <= {ref.node for ref in node.factors}
        for node in topological(roots)
    )


def test_an_elementwise_product_of_several_contractions_is_made_once() -> None:
    graph = Graph()
    K, D = (graph.input(name, ["n", "n"]) for name in "KD")
    x = graph.input("x", ["n"])
    roots = [
        graph.einsum("ij,ij->i", K, D),
        graph.einsum("ij,ij,j->i", K, D, x),
        graph.scale(graph.einsum("ij,ij->ji", K, D), 3),
        graph.einsum("ji,ij->i", K, D),  # another pair: a transpose
        graph.einsum("ij,ij,ij,j->i", K, D, D, x),  # with one of them once more
    ]
    shared = share_factors(Context(graph), roots)
    assert (products_of(roots, K, D), products_of(shared, K, D)) == (5, 2)
    rng = np.random.default_rng(0)
    arguments = {"K": rng.random((3, 3)), "D": rng.random((3, 3)), "x": rng.random(3)}
    before = evaluate(roots, arguments, FUNCTIONS, OPERATORS)
    after = evaluate(shared, arguments, FUNCTIONS, OPERATORS)
    for got, expected in zip(after, before, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)
    assert share_factors(Context(graph, CostModel({"n": 2})), roots) == roots


def test_three_factors_of_several_contractions_are_one_array() -> None:
    graph = Graph()
    K, D, L = (graph.input(name, ["n", "n"]) for name in "KDL")
    x, y = (graph.input(name, ["n"]) for name in "xy")
    roots = [graph.einsum("ij,ij,ij,j->i", K, D, L, v) for v in (x, y)]
    shared = share_factors(Context(graph), roots)
    whole = graph.einsum("ij,ij->ij", graph.einsum("ij,ij->ij", K, D), L)
    assert shared == [graph.einsum("ij,j->i", whole, v) for v in (x, y)]


def test_diagonals_are_no_pairs() -> None:
    graph = Graph()
    K, D = (graph.input(name, ["n", "n"]) for name in "KD")
    for first, second in ((K, D), (D, K)):
        roots = [graph.einsum(f"ii,ij->{out}", first, second) for out in "ij"]
        assert share_factors(Context(graph), roots) == roots
