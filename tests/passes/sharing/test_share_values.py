"""One value is computed once, however its factors are grouped and its axes turned."""

from __future__ import annotations

import numpy as np

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, delta, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.passes.sharing.share_values import share_values
from tensorgen.verify.interpret import evaluate


def shared(graph: Graph, *roots: Node) -> list[Node]:
    """What the pass makes of roots, which have the values that they had."""
    found = [*share_values(Context(graph, CostModel({"n": 100, "m": 50})), roots)]
    rng = np.random.default_rng(0)
    sides = {"n": 4, "m": 3}
    arguments = {
        node.name: rng.random([sides.get(str(d), 2) for d in node.dims])
        for node in topological(roots)
        if hasattr(node, "name")
    }
    before = evaluate([*roots], arguments, FUNCTIONS, OPERATORS)
    after = evaluate(found, arguments, FUNCTIONS, OPERATORS)
    for got, expected in zip(after, before, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)
    return found


def only_factor(node: Node) -> Node:
    assert isinstance(node, Product)
    ((factor, _),) = node.factors
    return factor


def test_groups_of_factors_and_the_order_of_axes_do_not_matter() -> None:
    graph = Graph()
    A, B, C = (graph.input(name, ["n", "n"]) for name in "ABC")
    left = graph.product("ik", [(A, "ij"), (B, "jk")])
    one = graph.map(
        "exp", "il", [(graph.product("il", [(left, "ik"), (C, "kl")]), "il")]
    )
    right = graph.product("jl", [(B, "jk"), (C, "kl")])
    two = graph.product("li", [(A, "ij"), (right, "jl")], coefficient=-3)
    first, second = shared(graph, one, two)
    assert first is one
    assert only_factor(second) is one.args[0].node  # type: ignore[union-attr]
    assert right not in topological([second])


def test_sums_of_sums_are_the_sum() -> None:
    graph = Graph()
    a, b, c = (graph.input(name, ["n"]) for name in "abc")
    with graph.without_rewrites():
        inner = graph.sum("i", [(1, a, "i"), (1, b, "i")])
        one = graph.map(
            "exp", "i", [(graph.sum("i", [(1, inner, "i"), (1, c, "i")]), "i")]
        )
        other = graph.sum("i", [(1, b, "i"), (1, c, "i")])
        two = graph.map(
            "sin", "i", [(graph.sum("i", [(1, a, "i"), (1, other, "i")]), "i")]
        )
    first, second = shared(graph, one, two)
    assert first.args == second.args  # type: ignore[union-attr]


def test_entries_are_read_of_the_array_that_is_there() -> None:
    graph = Graph()
    x, B = graph.input("x", ["n", "m", 2]), graph.input("B", ["n", "m", 2])
    F = graph.product("eij", [(x, "eai"), (B, "eaj")])
    entries = graph.product(
        "e",
        [(x, "eai"), (B, "eaj")],
        constraints=[delta({"i": 1}), delta({"j": 1}, -1)],
        coefficient=2,
    )
    row = graph.product("ei", [(x, "eai"), (B, "eaj")], constraints=[delta({"j": 1})])
    whole, one, some = shared(
        graph, graph.map("exp", "eij", [(F, "eij")]), entries, row
    )
    assert only_factor(one) is F
    assert only_factor(some) is F
    assert F in topological([whole])


def test_what_has_a_name_stays_and_what_came_first_contains_nothing_of_it() -> None:
    graph = Graph()
    a, b, c = (graph.input(name, ["n"]) for name in "abc")
    with graph.without_rewrites():
        ab = graph.product("i", [(a, "i"), (b, "i")])
        one = graph.product("i", [(ab, "i"), (c, "i")])
        bc = graph.product("i", [(b, "i"), (c, "i")])
        two = graph.product("i", [(a, "i"), (bc, "i")])
    graph.names[two] = "dose"
    assert shared(graph, one, two) == [one, two]


def test_numbers_are_not_told_in_terms_of_others() -> None:
    graph = Graph()
    a = graph.input("a", ["n"])
    two, zero = graph.constant(2), graph.constant(0)
    roots = [graph.map("power_slope", "i", [(a, "i"), (x, "")]) for x in (two, zero)]
    numbers = [graph.product("", [], coefficient=x) for x in (2, 0, -1)]
    assert shared(graph, *roots, *numbers) == [*roots, *numbers]
