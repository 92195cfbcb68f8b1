"""Arrays of one pattern are one another's transposes, and multiples if products."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Sum, indicator
from tensorgen.ir.patterns import pattern_of, product_pattern
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.verify.interpret import evaluate

RNG = np.random.default_rng(0)
ARGUMENTS = {
    "A": RNG.random((3, 3)),
    "X": RNG.random((3, 3)),
    "T": RNG.random((3, 3, 3)),
    "v": RNG.random(3),
}


def inputs(graph: Graph) -> tuple[Node, Node, Node, Node]:
    A, X = (graph.input(name, ["n", "n"]) for name in "AX")
    return A, X, graph.input("T", ["n"] * 3), graph.input("v", ["n"])


def made(graph: Graph, what: str, out: str) -> Node:
    """An array of three axes, in an order."""
    A, X, T, v = inputs(graph)
    n = A.dims[0]
    match what:
        case "product":
            return graph.product(out, [(A, "ij"), (X, "jl"), (T, "lik")])
        case "two of one":
            return graph.product(out, [(A, "ij"), (A, "jk"), (v, "i")])
        case "of one sum":
            return graph.product(out, [(A, "il"), (A, "jl"), (A, "kl")])
        case "constraints":
            limits = [indicator({"l": 1, "i": -1})]
            factors = [(A, "il"), (A, "lk"), (v, "j")]
            return graph.product(out, factors, constraints=limits)
        case "spread":
            return graph.product(out, [(A, "ij")], sizes={"k": n})
        case "sum":
            return graph.sum(out, [(1, T, "ikj"), (-2, A, "ij"), (3, A, "jk")])
        case _:
            return graph.map("pow", out, [(T, "ikj"), (A, "jk")])


KINDS = (
    *("product", "two of one", "of one sum", "constraints", "spread", "sum"),
    "map",
)


@pytest.mark.parametrize("what", KINDS)
def test_a_transpose_has_the_pattern_and_is_read_as_the_other(what: str) -> None:
    graph = Graph()
    for first, second in permutations(["ijk", "jik", "kij", "kji"], 2):
        one, other = made(graph, what, first), made(graph, what, second)
        assert isinstance(one, Product | Sum | Map)
        assert isinstance(other, Product | Sum | Map)
        mine, own = pattern_of(one), pattern_of(other)
        assert mine.key == own.key
        read = graph.product(range(3), [(other, mine.axes_of(own, 3))])
        got, want = evaluate([read, one], ARGUMENTS, FUNCTIONS, OPERATORS)
        np.testing.assert_allclose(got, want, rtol=1e-13)


def test_what_is_summed_or_read_in_another_order_is_another_pattern() -> None:
    graph = Graph()
    A, X, _, v = inputs(graph)
    alike = [
        graph.einsum("ij,j->i", A, v),
        graph.einsum("ij,i->j", A, v),
        graph.einsum("ij,j->ij", A, v),
        graph.einsum("ij,j,j->i", A, v, v),
        graph.einsum("ij,j->i", X, v),
        graph.product(
            "ij", [(A, "ij"), (v, "j")], constraints=[indicator({"i": 1, "j": -1})]
        ),
    ]
    keys = [pattern_of(node).key for node in alike if isinstance(node, Product)]
    assert len({*keys}) == len(alike)
    powers = [
        graph.map("pow", "ij", [(x, "ij"), (y, "ij")]) for x, y in ((A, X), (X, A))
    ]
    assert len({pattern_of(x).key for x in powers if isinstance(x, Map)}) == 2


def test_multiples_have_one_pattern_and_names_are_no_matter() -> None:
    graph = Graph()
    A, X, _, _ = inputs(graph)
    once = graph.product("ik", [(A, "ij"), (X, "jk")])
    twice = graph.product("ik", [(A, "ij"), (X, "jk")], coefficient=2)
    assert isinstance(once, Product) and isinstance(twice, Product)
    assert pattern_of(once) == pattern_of(twice)
    view = product_pattern([(X, ("b", "c")), (A, ("a", "b"))], ("c", "a"))
    assert view.key == pattern_of(once).key
    assert view.axes_of(pattern_of(once), 2) == ("a", "c")
