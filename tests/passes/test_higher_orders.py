"""Derivatives of order three: what their plans cost and hold, whatever is hinted at."""

from functools import cache

import pytest

from tensorgen.calculus.differentiate import Differentiate
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Product, topological
from tensorgen.lang import elaborate
from tensorgen.operators.stable import StableForms
from tensorgen.passes.context import Plan
from tensorgen.passes.cost import CostModel
from tensorgen.plans.planner import Planner
from tensorgen.spec.read import read_spec

pytestmark = pytest.mark.thorough

SIZES = {"b": 10, "n": 20}
HINTS = ["", "b: 1000", "b: 10, n: 200"]

NETWORK = """
tensorgen: 1
module: network
dims: {{{dims}}}
inputs:
  X: [b, n]
  P1: [n, n]
  P2: [n, n]
  P3: [n, n]
functions:
  f:
    expr: sum(softmax(relu(relu(X @ P1) @ P2) @ P3, axis=1)**2)
    wrt: {wrt}
    emit: [3]
"""
LAYERS = ["X", "P1"]


@cache
def plan_of(wrt: str, dims: str) -> Plan:
    spec = read_spec(Source("network.yaml", NETWORK.format(wrt=wrt, dims=dims)))
    graph = Graph(StableForms())
    program = elaborate(spec, graph, Differentiate(graph))
    (function,) = program.functions
    (planned,) = Planner(graph, spec, program, function, "cross-country").plans()
    return planned.plan


def products(plan: Plan) -> list[Product]:
    return [n for n in topological(plan.roots) if isinstance(n, Product)]


def held(plan: Plan) -> float:
    cost = CostModel(SIZES)
    return sum(cost.size(node.dims) for node in dict.fromkeys(plan.roots))


@pytest.mark.parametrize("wrt", LAYERS)
def test_no_hint_makes_an_order_much_dearer(wrt: str) -> None:
    cost = CostModel(SIZES)
    costs = [cost.total(plan_of(wrt, dims).roots) for dims in HINTS]
    assert max(costs) < 3 * min(costs)


@pytest.mark.parametrize("wrt", LAYERS)
@pytest.mark.parametrize("dims", HINTS)
def test_no_array_is_larger_than_what_is_held(wrt: str, dims: str) -> None:
    # Not even by an order: elements of the inner layers have b * n**3 entries before
    # they are packed.
    plan = plan_of(wrt, dims)
    cost = CostModel(SIZES)
    largest = max(cost.size(n.dims) for n in topological(plan.roots))
    assert largest <= max(held(plan), SIZES["b"] * SIZES["n"] ** 3)


@pytest.mark.parametrize("wrt", LAYERS)
@pytest.mark.parametrize("dims", HINTS)
def test_no_contraction_is_dearer_than_the_cubes_of_a_layer(
    wrt: str, dims: str
) -> None:
    # sum_r c[q, r] * M[q, r, j] * M[q, r, l] * M[q, r, p] takes b * n**4 steps.
    cost = CostModel(SIZES)
    every = SIZES["b"] * SIZES["n"] ** 4
    assert max(cost.span(n).terms for n in products(plan_of(wrt, dims))) <= every


@pytest.mark.parametrize("wrt", LAYERS)
def test_weights_of_two_layers_do_not_meet_where_rows_are_few(wrt: str) -> None:
    # P1[i, j] * P2[j, s] has n**3 entries, more than X @ P1 takes steps.
    layers = {"P1", "P2", "P3"}
    for node in products(plan_of(wrt, "b: 10, n: 200")):
        found = {f.name for f, _ in node.factors if isinstance(f, Input)}
        assert not (len(found) > 1 and found <= layers)
