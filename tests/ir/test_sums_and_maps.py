"""Sums and maps keep their normal form and their values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Sum, constant_value, is_zero
from tests.ir.literal import value

n, m = Dim.of("n"), Dim.of("m")
X, A = np.array([1.0, -2.0, 4.0]), np.arange(6.0).reshape(3, 2)
ARGUMENTS = {"x": X, "y": X[::-1], "A": A, "b": A[0], "s": 2.0}


def inputs(graph: Graph) -> dict[str, Node]:
    shapes = {"x": (n,), "y": (n,), "A": (n, m), "b": (m,), "s": ()}
    return {name: graph.input(name, shape) for name, shape in shapes.items()}


LABELS = {"x": "i", "y": "i", "A": "ij", "b": "j", "s": ""}
terms = st.lists(
    st.tuples(st.sampled_from((1, 1, -1, 2, Fraction(1, 2))), st.sampled_from("xyAbs")),
    max_size=6,
)


@given(terms, terms)
@settings(max_examples=150)
def test_a_sum_of_sums_is_what_numpy_adds(
    first: list[tuple[Fraction | int, str]], second: list[tuple[Fraction | int, str]]
) -> None:
    graph = Graph()
    nodes = inputs(graph)
    sizes = {"i": n, "j": m}

    def built(said: list[tuple[Fraction | int, str]]) -> Node:
        return graph.sum("ij", [(c, nodes[k], LABELS[k]) for c, k in said], sizes)

    node = graph.sum("ij", [(1, built(first), "ij"), (-1, built(second), "ij")], sizes)
    columns = {"x": X[:, None], "y": X[::-1, None], "A": A, "b": A[0], "s": 2.0}
    expected = np.zeros((3, 2))
    for sign, said in ((1, first), (-1, second)):
        for c, k in said:
            expected = expected + sign * float(c) * columns[k]
    np.testing.assert_allclose(value(node, ARGUMENTS), expected, atol=1e-12)


def test_like_terms_merge_and_opposite_ones_vanish() -> None:
    graph = Graph()
    x = inputs(graph)["x"]
    assert graph.add(x, x) is graph.scale(x, 2)
    assert is_zero(graph.add(x, graph.scale(x, -1)))


def test_the_order_of_terms_does_not_matter() -> None:
    graph = Graph()
    nodes = inputs(graph)
    x, y = nodes["x"], nodes["y"]
    assert graph.add(x, y) is graph.add(y, x)


def test_a_sum_that_broadcasts_along_an_axis_is_summed_before() -> None:
    graph = Graph()
    nodes = inputs(graph)
    short = graph.add(nodes["x"], nodes["y"])
    terms = [(1, nodes["x"], "i"), (1, nodes["y"], "i")]
    wide = graph.sum("ij", terms, {"j": m})
    assert graph.einsum("ij,ij->i", wide, nodes["A"]) is graph.einsum(
        "i,ij->i", short, nodes["A"]
    )


def test_a_sum_takes_scaled_terms_apart() -> None:
    graph = Graph()
    nodes = inputs(graph)
    node = graph.add(graph.scale(nodes["x"], 3), nodes["y"])
    assert isinstance(node, Sum)
    assert [term.coefficient for term in node.terms] == [3, 1]


def test_a_sum_of_transposes_refers_to_the_matrix_itself() -> None:
    graph = Graph()
    a = graph.input("B", (n, n))
    node = graph.add(a, graph.permute(a, (1, 0)))
    assert isinstance(node, Sum)
    assert {term.node for term in node.terms} == {a}


def test_a_map_of_a_broadcast_is_the_broadcast_of_a_map() -> None:
    graph = Graph()
    x = inputs(graph)["x"]
    wide = graph.product("ij", [(x, "i")], sizes={"j": m})
    node = graph.map("exp", "ij", [(wide, "ij")])
    narrow = graph.map("exp", "i", [(x, "i")])
    assert node is graph.product("ij", [(narrow, "i")], sizes={"j": m})


def test_a_map_of_a_constant_array_is_that_of_a_number() -> None:
    graph = Graph()
    x = inputs(graph)["x"]
    node = graph.map("pow", "i", [(x, "i"), (graph.constant(3, (n,)), "i")])
    assert isinstance(node, Map)
    assert constant_value(node.args[1].node) == 3
    np.testing.assert_allclose(value(node, ARGUMENTS), X**3)


def test_a_diagonal_may_stand_in_a_sum_or_a_map() -> None:
    graph = Graph()
    a, x = graph.input("B", (n, n)), graph.input("x", (n,))
    square = np.arange(9.0).reshape(3, 3)
    arguments = {"B": square, "x": X}
    total = graph.sum("i", [(1, a, "ii"), (1, x, "i")])
    np.testing.assert_allclose(value(total, arguments), np.diag(square) + X)
    node = graph.map("sin", "i", [(a, "ii")])
    np.testing.assert_allclose(value(node, arguments), np.sin(np.diag(square)))
