"""Where values are computed: the stage of each, and what a stage holds."""

from __future__ import annotations

from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.ir.rebuild import substituted
from tensorgen.passes.rates import Rates
from tensorgen.plans.cut_stages import Stages, cut_stages


class Case:
    """Data A and y, a point x and a direction d, and what is made of them."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.A = self.graph.input("A", ["n", "n"])
        self.y, self.x, self.d = (self.graph.input(k, ["n"]) for k in "yxd")
        self.rates = Rates([self.x], [self.d])

    def exp(self, node: Node) -> Node:
        return self.graph.map("exp", "i", [(node, "i")])

    def total(self, *nodes: Node) -> Node:
        """The inner product of two vectors, or the sum of one."""
        labels = ",".join("i" * len(nodes))
        return self.graph.einsum(f"{labels}->", *nodes)

    def cut(self, **roots: Node) -> Stages:
        ends = {k: [v] for k, v in roots.items()}
        return cut_stages(ends, self.rates, self.graph.names, ["hvp"])


def test_what_two_methods_need_is_held_by_the_first() -> None:
    case = Case()
    e = case.exp(case.x)
    stages = case.cut(value=case.total(e), gradient=case.graph.add(e, case.x))
    assert stages.held["value"] == (e,)
    assert not any(held for stage, held in stages.held.items() if stage != "value")


def test_what_one_method_needs_is_not_held() -> None:
    case = Case()
    value, gradient = case.total(case.exp(case.x)), case.exp(case.y)
    stages = case.cut(value=value, gradient=gradient)
    assert not stages.held["value"] and not stages.held["gradient"]


def test_data_are_held_as_far_up_as_they_go() -> None:
    case = Case()
    root = case.total(case.exp(case.exp(case.y)), case.x)
    assert case.cut(value=root).data["y",] == (case.exp(case.exp(case.y)),)


def test_data_are_held_by_the_inputs_that_they_follow_from() -> None:
    case = Case()
    e, product = case.exp(case.y), case.graph.einsum(
        "ij,j->i", case.A, case.exp(case.y)
    )
    root = case.total(case.exp(product), case.x)
    stages = case.cut(value=root)
    # Another A leaves the exponentials as they are.
    assert stages.data == {("y",): (e,), ("A", "y"): (case.exp(product),)}


def test_of_what_is_returned_and_never_changes_nothing_but_that_is_held() -> None:
    case = Case()
    root = case.exp(case.exp(case.y))
    stages = case.cut(value=case.total(case.exp(case.x)), hessian=root)
    assert stages.data["y",] == (root,)


def test_what_costs_nothing_is_not_held() -> None:
    case = Case()
    turned = case.graph.einsum("ij->ji", case.A)
    scaled = case.graph.scale(case.exp(case.y), 3)
    root = case.graph.einsum("ij,j->i", turned, case.x)
    stages = case.cut(value=case.total(root, scaled))
    assert stages.data["y",] == (case.exp(case.y),)


def test_products_with_directions_hold_what_does_not_depend_on_them() -> None:
    case = Case()
    e = case.exp(case.x)
    stages = case.cut(hvp=case.graph.einsum("i,i->i", e, case.d))
    assert stages.held["hvp"] == (e,)


def test_of_a_value_and_its_negation_the_one_with_a_name_is_held() -> None:
    case = Case()
    product = case.graph.einsum("i,i->i", case.y, case.x)
    t = case.graph.name(case.graph.scale(product, -1), "t")
    stages = case.cut(value=case.total(case.exp(t)), gradient=case.exp(product))
    assert stages.held["value"] == (t,)
    assert stages.multiples == {product: (t, Fraction(-1))}


def test_of_multiples_the_one_that_is_returned_is_held() -> None:
    case = Case()
    gram = case.graph.einsum("ki,kj->ij", case.A, case.A)
    twice = case.graph.scale(gram, 2)
    product = case.graph.einsum("ij,j->i", gram, case.d)
    stages = case.cut(hessian=twice, hvp=product)
    assert stages.data["A",] == (twice,)
    assert stages.multiples[gram] == (twice, Fraction(1, 2))


def test_an_inverse_that_is_applied_stays_a_system_to_solve() -> None:
    case = Case()
    scaled = case.graph.einsum("ij,i->ij", case.A, case.x)
    inverse = case.graph.call("inv", [scaled], scaled.dims)
    solved = case.graph.einsum("ij,j->i", inverse, case.y)
    value = case.total(case.y, solved)
    stages = case.cut(
        value=value,
        gradient=solved,
        hvp=case.graph.einsum("ij,j->i", inverse, case.d),
    )
    assert stages.held["value"] == (scaled, solved)
    assert stages.held["hvp"] == (inverse,)


def test_values_are_replaced_where_they_are_met_first() -> None:
    case = Case()
    inner = case.exp(case.x)
    outer = case.exp(inner)
    held = case.graph.input("held", outer.dims)
    root = case.graph.add(outer, inner)
    (found,) = substituted(case.graph, [root], {outer: held})
    assert found is case.graph.add(held, inner)
    assert substituted(case.graph, [outer], {outer: held}) == [held]
