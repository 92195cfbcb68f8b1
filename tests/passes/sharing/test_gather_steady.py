"""What changes less often comes first: when that fires, and that values stay."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Sum, children, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.passes.rates import Rate, Rates
from tensorgen.passes.sharing.gather_steady import gather_steady
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify
from tests.passes.order.test_order_contractions import build, random_product


class Quadratic:
    """X' diag(s) X d in sizes m and n, with data X and s."""

    def __init__(self, m: int, n: int) -> None:
        self.graph = Graph()
        self.X = self.graph.input("X", ["m", "n"])
        self.s = self.graph.input("s", ["m"])
        self.d = self.graph.input("d", ["n"])
        self.cost = CostModel({"m": m, "n": n})
        self.rates = Rates([], [self.d])
        self.product = self.graph.einsum("ki,k,kj,j->i", self.X, self.s, self.X, self.d)

    def gathered(self, *others: Node) -> Node:
        """The product, gathered beside other roots."""
        roots = [self.product, *others]
        return gather_steady(Context(self.graph, self.cost, self.rates), roots)[0]


def factors(node: Node) -> set[Node]:
    return set(children(node))


def test_rates_are_the_highest_below() -> None:
    graph = Graph()
    a, x, d = (graph.input(name, ["n"]) for name in "axd")
    rates = Rates([x], [d], sizes=["n"])
    both = graph.einsum("i,i->i", a, x)
    assert rates.of(graph.einsum("i,i->", a, a)) == Rate.DATA
    assert rates.of(both) == Rate.POINT
    assert rates.of(graph.einsum("i,i->i", both, d)) == Rate.DIRECTION


def test_what_has_a_size_that_only_a_point_gives_is_no_matter_of_the_data() -> None:
    graph = Graph()
    x = graph.input("x", ["n"])
    ones = graph.constant(1, x.dims)
    assert Rates([x], sizes=["m"]).of(ones) == Rate.POINT
    assert Rates([x], sizes=["n"]).of(ones) == Rate.DATA


def test_small_products_of_the_data_are_gathered() -> None:
    case = Quadratic(2000, 10)
    gram = case.graph.einsum("ki,k,kj->ij", case.X, case.s, case.X)
    assert factors(case.gathered()) == {gram, case.d}


def test_large_products_of_the_data_are_not() -> None:
    case = Quadratic(2000, 1000)
    assert case.gathered() is case.product


def test_what_is_computed_in_any_case_costs_nothing_more() -> None:
    case = Quadratic(2000, 1000)
    twice = case.graph.einsum(
        "ki,k,kj->ij", case.X, case.s, case.X, coefficient=2
    )  # as a Hessian has it
    gram = case.graph.einsum("ki,k,kj->ij", case.X, case.s, case.X)
    assert factors(case.gathered(twice)) == {gram, case.d}


def test_nothing_larger_than_its_parts_is_held() -> None:
    graph = Graph()
    a, b = graph.input("a", ["n"]), graph.input("b", ["n"])
    Z = graph.input("Z", ["n", "n"])
    node = graph.einsum("i,j,ij->ij", a, b, Z)
    found = gather_steady(Context(graph, CostModel({"n": 100}), Rates([Z])), [node])
    assert found == [node]


def test_at_a_point_only_elementwise_products_are_gathered() -> None:
    graph = Graph()
    A, d = graph.input("A", ["m", "n"]), graph.input("d", ["n"])
    s, t = graph.input("s", ["m"]), graph.input("t", ["m"])
    rates = Rates([A, s, t], [d])
    node = graph.einsum("ki,k,k,kj,j->i", A, s, t, A, d)
    (found,) = gather_steady(
        Context(graph, CostModel({"m": 2000, "n": 2}), rates), [node]
    )
    assert factors(found) == {A, d, graph.einsum("k,k->k", s, t)}


def test_terms_of_the_data_are_added_first() -> None:
    graph = Graph()
    a, b, x = (graph.input(name, ["n"]) for name in "abx")
    node = graph.add(a, x, b)
    (found,) = gather_steady(Context(graph, CostModel({}), Rates([x])), [node])
    assert isinstance(found, Sum)
    assert factors(found) == {x, graph.add(a, b)}


@pytest.mark.parametrize("seed", range(60))
def test_gathering_keeps_the_value_and_never_costs_more(seed: int) -> None:
    subscripts, sizes = random_product(seed)
    sizes = {x: min(n, 4) for x, n in sizes.items()}
    graph = Graph()
    node = build(graph, subscripts, sizes)
    left, _ = subscripts.split("->")
    inputs = {n.name: n for n in topological([node]) if hasattr(n, "name")}
    names = sorted(inputs)
    rates = Rates([inputs[names[seed % len(names)]]], [inputs[names[-1]]])
    (found,) = gather_steady(Context(graph, CostModel({}), rates), [node])
    verify([found])
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=[sizes[i] for i in x]) for x in left.split(",")]
    arguments = {f"x{k}": a for k, a in enumerate(arrays)}
    got, want = evaluate([found, node], arguments, FUNCTIONS, OPERATORS)
    assert np.allclose(got, want)
    if found is not node and isinstance(node, Product):
        assert any(rates.of(f) < rates.of(node) for f in children(found))


def test_what_never_changes_costs_a_call_a_share() -> None:
    case = Quadratic(2000, 10)
    gram = case.graph.einsum("ki,kj->ij", case.X, case.X)
    share = Context(case.graph, case.cost, case.rates).price([gram])
    assert share == pytest.approx(case.cost.total([gram]) / 20)
    # And what changes, all of what it costs.
    applied = case.graph.einsum("ki,i->k", case.X, case.d)
    each = Context(case.graph, case.cost, case.rates).price([applied])
    assert each == pytest.approx(case.cost.total([applied]))
