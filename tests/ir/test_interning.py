"""Equal values written differently are one node, and nothing grows exponentially."""

from __future__ import annotations

import gc
import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, topological
from tests.counting import calls
from tests.ir.literal import value

n = Dim.of("n")


def matrices(graph: Graph, names: str) -> list[Node]:
    return [graph.input(name, (n, n)) for name in names]


@pytest.mark.parametrize("names", ["abcd", "wxyz", "dcba", "zkiq"])
def test_a_renamed_copy_of_a_product_is_the_same_node(names: str) -> None:
    graph = Graph()
    a, b, x = *matrices(graph, "AB"), graph.input("x", (n,))
    i, j, k, p = list(names)
    copy = graph.product(i, [(a, i + j), (b, j + k), (x, k), (a, p + p)])
    assert copy is graph.product("i", [(a, "ij"), (b, "jk"), (x, "k"), (a, "ll")])


def test_the_order_of_factors_does_not_matter() -> None:
    graph = Graph()
    a, b, x = *matrices(graph, "AB"), graph.input("x", (n,))
    factors = [(a, "ij"), (b, "jk"), (a, "kl"), (x, "l")]
    nodes = {graph.product("i", order) for order in permutations(factors)}
    assert len(nodes) == 1


def test_a_repeated_factor_gives_one_node_in_either_order() -> None:
    graph = Graph()
    (a,) = matrices(graph, "A")
    assert graph.einsum("ij,jk->ik", a, a) is graph.einsum("jk,ij->ik", a, a)
    assert graph.einsum("ij,jk,ki->", a, a, a) is graph.einsum("ki,ij,jk->", a, a, a)
    assert graph.einsum("ij,jk->", a, a) is graph.einsum("xi,yx->", a, a)
    assert graph.einsum("ij,kj->", a, a) is not graph.einsum("ij,jk->", a, a)


PATTERNS = st.lists(
    st.tuples(st.sampled_from("ABx"), st.lists(st.sampled_from("ijklp"), min_size=2)),
    min_size=1,
    max_size=5,
)


@given(PATTERNS, st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_renaming_and_shuffling_never_changes_the_node(
    pattern: list[tuple[str, list[str]]], rng: random.Random
) -> None:
    graph = Graph()
    a, b, x = *matrices(graph, "AB"), graph.input("x", (n,))
    nodes = {"A": a, "B": b, "x": x}
    factors = [(nodes[f], labels[: nodes[f].order]) for f, labels in pattern]
    first = graph.product("i", factors, sizes={"i": n})
    names = dict(zip("jklp", rng.sample("jklpqrst", 4), strict=True)) | {"i": "i"}
    copy = [(node, [names[label] for label in labels]) for node, labels in factors]
    rng.shuffle(copy)
    again = graph.product("i", copy, sizes={"i": n})
    if again is not first:
        # Where refinement cannot tell labels apart a share may be missed; the value
        # may not.
        rng_array = np.random.default_rng(0)
        arguments = {name: rng_array.integers(-2, 3, (3, 3)) for name in "AB"}
        arguments["x"] = rng_array.integers(-2, 3, 3)
        np.testing.assert_array_equal(value(first, arguments), value(again, arguments))
        assert isinstance(first, Product)
        assert len(first.inner) > 3, "small products must be shared"


def test_inputs_and_constants_are_interned_by_all_that_they_are() -> None:
    graph = Graph()
    assert graph.input("x", (n,)) is graph.input("x", ("n",))
    assert graph.constant(1) is graph.constant(True)
    assert graph.constant(1) is not graph.constant(1, (n,))
    assert graph.size(Dim.of(3)) is graph.constant(3)
    assert graph.iota(n) is not graph.iota(n - 1)


def squared(graph: Graph, x: Node, times: int) -> Node:
    for _ in range(times):
        x = graph.einsum("i,i->i", x, x)
    return x


def test_squaring_twenty_times_makes_twenty_nodes() -> None:
    graph = Graph()
    x = graph.input("x", (n,))
    assert len(topological([squared(graph, x, 20)])) == 21


def test_doubling_a_sum_of_sums_stays_linear() -> None:
    graph = Graph()
    node: Node = graph.input("x", (n,))
    for _ in range(20):
        node = graph.add(node, graph.map("sin", "i", [(node, "i")]))
    assert len(topological([node])) == 41


def test_a_deep_chain_of_contractions_takes_linear_work() -> None:
    def chain(depth: int) -> None:
        graph = Graph()
        a, x = graph.input("A", (n, n)), graph.input("x", (n,))
        for _ in range(depth):
            x = graph.map("tanh", "i", [(graph.einsum("ij,j->i", a, x), "i")])

    assert calls(lambda: chain(200)) < 2.1 * calls(lambda: chain(100))


def test_a_diagonal_is_told_from_labels_that_are_alike() -> None:
    pieces = [("j", "l"), ("k", "k"), ("l", "j")]
    graph = Graph()
    (b,) = matrices(graph, "B")
    made = {
        graph.product("", [(b, pieces[at]) for at in order])
        for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0))
    }
    assert len(made) == 1


def test_what_a_graph_forgets_is_gone_at_once() -> None:
    def nodes() -> int:
        return sum(isinstance(one, Product) for one in gc.get_objects())

    graph = Graph()
    a, x = *matrices(graph, "A"), graph.input("x", (n,))
    before = nodes()
    for _ in range(5):
        x = graph.einsum("ij,j->i", a, x)
        assert topological([x])[-1] is x  # which a node remembers of itself
    assert nodes() == before + 5
    gc.disable()
    try:
        graph.forget()
        del x
        assert nodes() == before
    finally:
        gc.enable()
