"""What permutes what is computed once, and values stay what they are."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Sum, delta, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.sharing.pair_transposes import pair_transposes
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify

RNG = np.random.default_rng(0)
ARGUMENTS = {
    "a": RNG.normal(size=3),
    "b": RNG.normal(size=3),
    "s": np.array(0.7),
    "A": RNG.normal(size=(3, 3)),
    "B": RNG.normal(size=(3, 3)),
}


@pytest.fixture
def graph() -> Graph:
    return Graph()


def operands(graph: Graph) -> tuple[Node, Node, Node, Node, Node]:
    a, b = graph.input("a", ["n"]), graph.input("b", ["n"])
    square = ["n", "n"]
    A, B = graph.input("A", square), graph.input("B", square)
    return a, b, graph.input("s", []), A, B


def paired(graph: Graph, node: Node) -> Node:
    """The node after the pass, whose value has not changed."""
    (found,) = pair_transposes(Context(graph), [node])
    verify([found])
    old, new = evaluate([node, found], ARGUMENTS, FUNCTIONS, OPERATORS)
    np.testing.assert_allclose(new, old, rtol=1e-13)
    (again,) = pair_transposes(Context(graph), [found])
    assert again is found
    return found


def products(node: Node) -> int:
    return sum(isinstance(n, Product) for n in topological([node]))


def test_an_outer_product_and_its_transpose_are_one(graph: Graph) -> None:
    a, b, s, A, _ = operands(graph)
    node = graph.add(
        graph.einsum("i,j->ij", a, b),
        graph.einsum(",ij->ij", s, A),
        graph.einsum("i,j->ij", b, a),
        graph.einsum(",ji->ij", s, A),
        graph.einsum("i,j->ij", a, a),
    )
    assert products(node) == 5
    found = paired(graph, node)
    assert products(found) == 3
    # The two pairs are added up before they are transposed.
    assert isinstance(found, Sum)
    assert sorted(len(term.labels) for term in found.terms) == [2, 2, 2]


@pytest.mark.parametrize("order", [3, 4])
def test_all_permutations_of_a_term_are_one(graph: Graph, order: int) -> None:
    a, _, _, A, B = operands(graph)
    S = graph.add(A, graph.permute(A, (1, 0)))
    letters = "ijkl"[:order]
    other = (a, "k") if order == 3 else (B, "kl")
    node = graph.add(
        *(
            graph.product(letters, [(S, (i, j)), (other[0], rest)])
            for i, j, *rest in permutations(letters)
        )
    )
    found = paired(graph, node)
    assert isinstance(node, Sum)
    assert products(found) < products(node)
    wide = [n for n in topological([found]) if n.order == order]
    assert sum(isinstance(n, Product) for n in wide) < len(node.terms) / 2 + 1


def test_what_is_equal_seen_through_a_transpose_counts_twice(graph: Graph) -> None:
    a, b, _, A, _ = operands(graph)
    heavy = graph.einsum("ik,k,j->ij", A, a, b)
    node = graph.sum(
        "ij", [(1, heavy, "ij"), (1, graph.einsum("ki,i,j->jk", A, a, b), "ji")]
    )
    found = paired(graph, node)
    assert isinstance(found, Product)
    assert found.coefficient == 2


def test_blocks_of_axes_are_exchanged(graph: Graph) -> None:
    a, b, _, A, _ = operands(graph)
    node = graph.add(
        graph.einsum("ij,k,l->ijkl", A, a, b), graph.einsum("kl,i,j->ijkl", A, a, b)
    )
    found = paired(graph, node)
    assert isinstance(found, Sum)
    assert {term.labels for term in found.terms} == {(0, 1, 2, 3), (2, 3, 0, 1)}


def test_sparse_terms_and_unlike_numbers_stay(graph: Graph) -> None:
    a, _, _, A, _ = operands(graph)
    band = [delta({"i": 1, "j": -1}, 1)]
    mirror = [delta({"i": -1, "j": 1}, 1)]
    sparse = graph.add(
        graph.product("ij", [(a, "i")], constraints=band, sizes={"j": a.dims[0]}),
        graph.product("ij", [(a, "j")], constraints=mirror, sizes={"i": a.dims[0]}),
    )
    assert paired(graph, sparse) is sparse
    unlike = graph.sum("ij", [(1, A, "ij"), (2, A, "ji")])
    assert paired(graph, unlike) is unlike
