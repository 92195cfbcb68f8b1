"""Arrays that are transposes of one another are made once."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.sharing.share_transposes import share_transposes
from tensorgen.verify.interpret import evaluate

PERMUTATIONS = [(0, 1, 2), (1, 0, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)]


def centred(graph: Graph, to: tuple[int, ...]) -> Node:
    """`exp(A[i, j, k] - 2 * v[j])` with its axes in some order."""
    A, v = graph.input("A", ["m", "n", "p"]), graph.input("v", ["n"])
    root = graph.sum(to, [(1, A, (0, 1, 2)), (-2, v, (1,))])
    return graph.map("exp", range(3), [(root, range(3))])


@pytest.mark.parametrize("to", PERMUTATIONS)
def test_a_transpose_is_no_second_array(to: tuple[int, ...]) -> None:
    graph = Graph()
    roots = [centred(graph, (0, 2, 1)), centred(graph, to)]
    found = share_transposes(Context(graph), roots)
    turned = graph.product(to, [(found[0], (0, 2, 1))])
    assert found == [roots[0], turned]
    rng = np.random.default_rng(0)
    arguments = {"A": rng.random((2, 3, 4)), "v": rng.random(3)}
    before = evaluate(roots, arguments, FUNCTIONS, OPERATORS)
    after = evaluate(found, arguments, FUNCTIONS, OPERATORS)
    for got, expected in zip(after, before, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_other_terms_or_axes_are_another_array() -> None:
    graph = Graph()
    A, v = graph.input("A", ["n", "n"]), graph.input("v", ["n"])
    roots = [
        graph.sum([0, 1], [(1, A, (0, 1)), (scale, v, (axis,))])
        for scale, axis in ((-1, 0), (1, 0), (-1, 1))
    ]
    assert share_transposes(Context(graph), roots) == roots
    assert len(topological(roots)) == 5
